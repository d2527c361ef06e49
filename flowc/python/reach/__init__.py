"""Which project code a function reaches, found from files alone: nothing is imported, nothing executed.

It is the code part of a task's fingerprint. Its digest changes on any edit that could change what the function
gives, and as far as can be told on no other; in doubt an edit counts.

What counts:

- the top-level statements that bind or change a name which the function mentions, and so on from these, across all
  modules of the project: functions, classes, constants, annotations (texts too), defaults, decorators. A module that
  is used as an object counts whole, and so does what `globals()`, `eval` or an import by a computed name could find;
- the actions of every module that is imported on the way, packages' `__init__` included: statements that do more than
  bind names, registering decorators and base classes, values that the project's own code computes (`actions`), and
  the order in which values are made where names are bound or changed more than once;
- of installed packages that reached code imports, the distribution's version; Python's major and minor version;
- docstrings of classes and of functions that are decorated or passed on, since libraries read them.

What doesn't: comments, layout, places of files, other docstrings, code under `if __name__ == "__main__":`, what a
`@component` says of resources and policy, the order of definitions.

What can't be seen: objects that come in as inputs are instances of classes that the code need not mention (whoever
makes the fingerprint adds those), code that is written at run time, extension modules that change others.

Read `code` first, then `closure`. `module` and `project` are what it walks over, `uses` and `bindings` find names in
code, `actions` (with `changes`, `classes`, `decorators`) tells actions from definitions, `normal` and `digests` count.
"""

from flowc.python.reach.closure import Reading
from flowc.python.reach.code import CodeReach, Reached

__all__ = ["CodeReach", "Reached", "Reading"]
