"""Which project code a function reaches, found from files alone: nothing is imported, nothing executed."""

from flowc.python.reach.closure import Reading
from flowc.python.reach.code import CodeReach, Reached

__all__ = ["CodeReach", "Reached", "Reading"]
