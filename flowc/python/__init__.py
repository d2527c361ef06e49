"""Front end 1: decorated Python functions, traced into the IR."""

from flowc.python.component import ComponentFunction, component
from flowc.python.pipeline import PipelineFunction, pipeline

__all__ = ["ComponentFunction", "PipelineFunction", "component", "pipeline"]
