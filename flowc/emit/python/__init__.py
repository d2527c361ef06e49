"""A notebook's pipeline as a Python module that a person would have written.

`layout` decides what stands at the top and what in each step's function; `steps` and `calls` write the functions.
What would certainly mean the same is written, all else refused (FC601), before there is a file.
"""

from flowc.emit.python.formatting import formatted
from flowc.emit.python.module import Home, to_python

__all__ = ["Home", "formatted", "to_python"]
