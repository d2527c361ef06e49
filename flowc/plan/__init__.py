"""From a checked pipeline and its arguments to a plan."""

from flowc.plan.make import make_plan
from flowc.plan.model import Plan, PlannedInput, PlannedTask

__all__ = ["Plan", "PlannedInput", "PlannedTask", "make_plan"]
