"""Diagnostics: the rules that a pipeline is held to, and how what they find is shown."""

from flowc.check.checked import CheckedPipeline, check_pipeline

__all__ = ["CheckedPipeline", "check_pipeline"]
