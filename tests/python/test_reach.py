"""Edits of small projects, and whether they change what a function reaches: each case says why by its name."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowc.python.reach import CodeReach, Reached

HELPERS = """
def clean(x):
    return x + 1

def other(x):
    return x - 1
"""
TASK = """
from helpers import clean

def run(x):
    return clean(x)
"""


@dataclass(frozen=True)
class Edit:
    """A project as files, the one that is edited, and what is put in the place of what in it."""

    name: str
    files: dict[str, str]
    file: str
    old: str
    new: str
    changes: bool


def edit(name: str, changes: bool, old: str, new: str, file: str = "main.py", **files: str) -> Edit:
    """Return an edit; `files` are named without their suffix, folders by two underscores, INIT for a package's own."""
    paths = {key: key.replace("__", "/").replace("INIT", "__init__") + ".py" for key in files}
    named = {paths[key]: textwrap.dedent(text) for key, text in files.items()}
    return Edit(name, named, file, old, new, changes)


def one(name: str, changes: bool, old: str, new: str, main: str) -> Edit:
    """Return an edit of a project of one module."""
    return edit(name, changes, old, new, main=main)


EDITS = [
    edit("helper changed", True, "x + 1", "x + 2", "helpers.py", main=TASK, helpers=HELPERS),
    edit(
        "unrelated function in the helper's module",
        False,
        "x - 1",
        "x - 2",
        "helpers.py",
        main=TASK,
        helpers=HELPERS,
    ),
    edit(
        "helper's helper in another module",
        True,
        "* 2",
        "* 3",
        "deep.py",
        main=TASK,
        helpers="import deep\ndef clean(x):\n    return deep.twice(x)\n",
        deep="def twice(x):\n    return x * 2\n",
    ),
    edit("comment", False, "x + 1", "x + 1  # one more", "helpers.py", main=TASK, helpers=HELPERS),
    edit(
        "blank lines",
        False,
        "    return x + 1",
        "\n\n    return x + 1",
        "helpers.py",
        main=TASK,
        helpers=HELPERS,
    ),
    edit(
        "reformatted",
        False,
        "x + 1",
        "(\n        x\n        + 1\n    )",
        "helpers.py",
        main=TASK,
        helpers=HELPERS,
    ),
    edit("unrelated module", False, "1", "2", "stranger.py", main=TASK, helpers=HELPERS, stranger="X = 1\n"),
    one("docstring", False, '"Do it."', '"Do it well."', 'def run(x):\n    "Do it."\n    return x\n'),
    one(
        "docstring added",
        False,
        "    return x\n",
        '    "Do it."\n    return x\n',
        "def run(x):\n    return x\n",
    ),
    one("quotes", False, "'a'", '"a"', "def run():\n    return 'a'\n"),
    one("constant", True, "= 1", "= 2", "LIMIT = 1\ndef run(x):\n    return x < LIMIT\n"),
    one(
        "unrelated constant",
        False,
        "OTHER = 1",
        "OTHER = 2",
        "LIMIT = 1\nOTHER = 1\ndef run(x):\n    return x < LIMIT\n",
    ),
    edit(
        "constant in another module",
        True,
        "= 1",
        "= 2",
        "settings.py",
        main="import settings\ndef run(x):\n    return x < settings.LIMIT\n",
        settings="LIMIT = 1\nOTHER = 3\n",
    ),
    edit(
        "other constant of a module used by attribute",
        False,
        "= 3",
        "= 4",
        "settings.py",
        main="import settings\ndef run(x):\n    return x < settings.LIMIT\n",
        settings="LIMIT = 1\nOTHER = 3\n",
    ),
    edit(
        "constant of a module that is passed on",
        True,
        "= 3",
        "= 4",
        "settings.py",
        main="import settings\ndef run(x):\n    return getattr(settings, x)\n",
        settings="LIMIT = 1\nOTHER = 3\n",
    ),
    one("integer to float", True, "= 1\n", "= 1.0\n", "LIMIT = 1\ndef run(x):\n    return LIMIT\n"),
    one("True to 1", True, "= True", "= 1", "LIMIT = True\ndef run(x):\n    return LIMIT\n"),
    one("0.0 to -0.0", True, "= 0.0", "= -0.0", "LIMIT = 0.0\ndef run(x):\n    return LIMIT\n"),
    one("text to bytes", True, "'a'", "b'a'", "def run():\n    return 'a'\n"),
    one("default argument", True, "x=1", "x=2", "def run(x=1):\n    return x\n"),
    one("default from a constant", True, "D = 1", "D = 2", "D = 1\ndef run(x=D):\n    return x\n"),
    one("keyword default", True, "y=1", "y=2", "def run(x, *, y=1):\n    return y\n"),
    one(
        "decorator's code",
        True,
        "+ 1",
        "+ 2",
        """
        def plus(f):
            def inner(x):
                return f(x) + 1
            return inner

        @plus
        def run(x):
            return x
        """,
    ),
    one(
        "decorator of an unrelated function",
        False,
        "x - 1",
        "x - 2",
        """
        def plus(f):
            def inner(x):
                return f(x) + 1
            return inner

        @plus
        def run(x):
            return x

        @plus
        def other(x):
            return x - 1
        """,
    ),
    one(
        "docstring of a decorated function",
        True,
        "Do it.",
        "Do it well.",
        'import tools\n@tools.tool\ndef run(x):\n    "Do it."\n    return x\n',
    ),
    one(
        "closure factory",
        True,
        "x * n",
        "x + n",
        """
        def times(n):
            def inner(x):
                return x * n
            return inner

        double = times(2)

        def run(x):
            return double(x)
        """,
    ),
    one(
        "closure factory's argument",
        True,
        "times(2)",
        "times(3)",
        """
        def times(n):
            return lambda x: x * n

        double = times(2)

        def run(x):
            return double(x)
        """,
    ),
    one(
        "class method",
        True,
        "self.n + 1",
        "self.n + 2",
        """
        class Counter:
            n = 0
            def next(self):
                return self.n + 1

        def run(x):
            return Counter().next()
        """,
    ),
    one(
        "unrelated class",
        False,
        "n = 0",
        "n = 1",
        """
        class Counter:
            n = 0

        def run(x):
            return x
        """,
    ),
    edit(
        "base class in another module",
        True,
        "return 1",
        "return 2",
        "bases.py",
        main="""
        import bases
        class Model(bases.Base):
            pass
        def run(x):
            return Model().fit()
        """,
        bases="class Base:\n    def fit(self):\n        return 1\n",
    ),
    edit(
        "base's base",
        True,
        "return 1",
        "return 2",
        "bases.py",
        main="""
        from bases import Base
        class Model(Base):
            pass
        def run(x):
            return Model().fit()
        """,
        bases="class Root:\n    def fit(self):\n        return 1\nclass Base(Root): ...\n",
    ),
    one(
        "dataclass field",
        True,
        "n: int = 1",
        "n: int = 2",
        """
        from dataclasses import dataclass
        @dataclass
        class Pair:
            n: int = 1
        def run(x):
            return Pair().n
        """,
    ),
    one(
        "property",
        True,
        "return 1",
        "return 2",
        """
        class A:
            @property
            def n(self):
                return 1
        def run(x):
            return A().n
        """,
    ),
    one(
        "class docstring",
        True,
        "Ask.",
        "Ask well.",
        """
        class A:
            "Ask."
        def run(x):
            return A()
        """,
    ),
    one(
        "lambda in a dict",
        True,
        "x + 1",
        "x + 2",
        "WAYS = {'a': lambda x: x + 1}\ndef run(x):\n    return WAYS['a'](x)\n",
    ),
    one(
        "function in a list",
        True,
        "x + 1",
        "x + 2",
        "def one(x):\n    return x + 1\nSTEPS = [one]\ndef run(x):\n    return [s(x) for s in STEPS]\n",
    ),
    edit(
        "re-export",
        True,
        "x + 1",
        "x + 2",
        "pack/inner.py",
        main="from pack import clean\ndef run(x):\n    return clean(x)\n",
        pack__INIT="from pack.inner import clean\n",
        pack__inner=HELPERS,
    ),
    edit(
        "not re-exported",
        False,
        "x - 1",
        "x - 2",
        "pack/inner.py",
        main="import pack\ndef run(x):\n    return pack.clean(x)\n",
        pack__INIT="from .inner import clean, other\n",
        pack__inner=HELPERS,
    ),
    edit(
        "star import",
        True,
        "x + 1",
        "x + 2",
        "helpers.py",
        main="from helpers import *\ndef run(x):\n    return clean(x)\n",
        helpers=HELPERS,
    ),
    edit(
        "unused name of a star import",
        False,
        "x - 1",
        "x - 2",
        "helpers.py",
        main="from helpers import *\ndef run(x):\n    return clean(x)\n",
        helpers=HELPERS,
    ),
    edit(
        "star import comes to hide a builtin",
        True,
        "X = 1\n",
        "X = 1\ndef sum(x):\n    return 0\n",
        "helpers.py",
        main="from helpers import *\ndef run(x):\n    return sum(x)\n",
        helpers="X = 1\n",
    ),
    edit(
        "order of two star imports",
        True,
        "from a import *\nfrom b import *\n",
        "from b import *\nfrom a import *\n",
        main="from a import *\nfrom b import *\ndef run(x):\n    return f(x)\n",
        a="def f(x):\n    return 1\n",
        b="def f(x):\n    return 2\n",
    ),
    edit(
        "names that a star import gives",
        True,
        "__all__ = ['f']",
        "__all__ = []",
        "a.py",
        main="def f(x):\n    return 0\nfrom a import *\ndef run(x):\n    return f(x)\n",
        a="__all__ = ['f']\ndef f(x):\n    return 1\n",
    ),
    edit(
        "conditional import",
        True,
        "return 2",
        "return 3",
        "slow.py",
        main="""
        try:
            from fast import f
        except ImportError:
            from slow import f
        def run(x):
            return f(x)
        """,
        slow="def f(x):\n    return 2\n",
    ),
    edit(
        "relative import",
        True,
        "x + 1",
        "x + 2",
        "pack/helpers.py",
        main="from pack.steps import go\ndef run(x):\n    return go(x)\n",
        pack__INIT="",
        pack__steps="from .helpers import clean\ndef go(x):\n    return clean(x)\n",
        pack__helpers=HELPERS,
    ),
    edit(
        "relative import from above",
        True,
        "x + 1",
        "x + 2",
        "pack/helpers.py",
        main="from pack.sub.steps import go as run\n",
        pack__INIT="",
        pack__sub__INIT="",
        pack__sub__steps="from .. import helpers\ndef go(x):\n    return helpers.clean(x)\n",
        pack__helpers=HELPERS,
    ),
    edit(
        "action of a package's init",
        True,
        "seed(0)",
        "seed(1)",
        "pack/__init__.py",
        main="from pack.steps import go\ndef run(x):\n    return go(x)\n",
        pack__INIT="import random\nrandom.seed(0)\n",
        pack__steps="def go(x):\n    return x\n",
    ),
    edit(
        "unrelated function of a package's init",
        False,
        "return 1",
        "return 2",
        "pack/__init__.py",
        main="from pack.steps import go\ndef run(x):\n    return go(x)\n",
        pack__INIT="def f():\n    return 1\n",
        pack__steps="def go(x):\n    return x\n",
    ),
    edit(
        "namespace package",
        True,
        "x + 1",
        "x + 2",
        "space/helpers.py",
        main="import space.helpers\ndef run(x):\n    return space.helpers.clean(x)\n",
        space__helpers=HELPERS,
    ),
    edit(
        "import under another name",
        True,
        "clean as f",
        "other as f",
        main="from helpers import clean as f\ndef run(x):\n    return f(x)\n",
        helpers=HELPERS,
    ),
    edit(
        "two imports change names",
        True,
        "clean as f, other as g",
        "other as f, clean as g",
        main="from helpers import clean as f, other as g\ndef run(x):\n    return f(x) - g(x)\n",
        helpers=HELPERS,
    ),
    edit(
        "import in a function",
        True,
        "x + 1",
        "x + 2",
        "helpers.py",
        main="def run(x):\n    from helpers import clean\n    return clean(x)\n",
        helpers=HELPERS,
    ),
    edit(
        "rest of a module imported in a function",
        False,
        "x - 1",
        "x - 2",
        "helpers.py",
        main="def run(x):\n    import helpers as h\n    return [h.clean(y) for y in x]\n",
        helpers=HELPERS,
    ),
    edit(
        "import by a text",
        True,
        "x - 1",
        "x - 2",
        "helpers.py",
        main="import importlib\ndef run(x, name):\n    return getattr(importlib.import_module('helpers'), name)(x)\n",
        helpers=HELPERS,
    ),
    edit(
        "import by a text that can't be told",
        True,
        "x - 1",
        "x - 2",
        "helpers.py",
        main="from importlib import import_module\ndef run(x, name):\n    return import_module(name).f(x)\n",
        helpers=HELPERS,
    ),
    one(
        "globals()",
        True,
        "return 1",
        "return 2",
        "def f():\n    return 1\ndef run(name):\n    return globals()[name]()\n",
    ),
    one(
        "eval",
        True,
        "return 1",
        "return 2",
        "def f():\n    return 1\ndef run(text):\n    return eval(text)\n",
    ),
    one(
        "order of two functions",
        False,
        "def f(x):\n    return 1\ndef g(x):\n    return 2\n",
        "def g(x):\n    return 2\ndef f(x):\n    return 1\n",
        "def f(x):\n    return 1\ndef g(x):\n    return 2\ndef run(x):\n    return f(g(x))\n",
    ),
    one(
        "order of a value and what it is made of",
        True,
        "B = A\nA = 2\n",
        "A = 2\nB = A\n",
        "A = 1\nB = A\nA = 2\ndef run(x):\n    return B\n",
    ),
    one(
        "what is printed as a script",
        False,
        "print(1)",
        "print(2)",
        "def run(x):\n    return x\nif __name__ == '__main__':\n    print(1)\n",
    ),
    edit(
        "monkey patch",
        True,
        "helpers.clean = helpers.other",
        "pass",
        main="import helpers\nhelpers.clean = helpers.other\ndef run(x):\n    return helpers.clean(x)\n",
        helpers=HELPERS,
    ),
    edit(
        "monkey patch in a module imported for it",
        True,
        "helpers.clean = len",
        "helpers.clean = max",
        "patches.py",
        main="import helpers, patches\ndef run(x):\n    return helpers.clean(x)\n",
        helpers=HELPERS,
        patches="import helpers\nhelpers.clean = len\n",
    ),
    one(
        "registry",
        True,
        "x + 1",
        "x + 2",
        """
        WAYS = {}
        def register(f):
            WAYS[f.__name__] = f
            return f
        @register
        def plus(x):
            return x + 1
        def run(x, way):
            return WAYS[way](x)
        """,
    ),
    edit(
        "registry in another module",
        True,
        "x + 1",
        "x + 2",
        "ways.py",
        main="import ways\nfrom registry import WAYS\ndef run(x, way):\n    return WAYS[way](x)\n",
        registry="""
        WAYS = {}
        def register(name):
            def take(f):
                WAYS[name] = f
                return f
            return take
        """,
        ways="from registry import register\n@register('plus')\ndef plus(x):\n    return x + 1\n",
    ),
    one(
        "registry by subclasses",
        True,
        "return 1",
        "return 2",
        """
        class Way:
            ways = []
            def __init_subclass__(cls):
                Way.ways.append(cls)
        class Plus(Way):
            def go(self):
                return 1
        def run(x):
            return [way().go() for way in Way.ways]
        """,
    ),
    one(
        "subclasses asked of Python",
        True,
        "return 1",
        "return 2",
        """
        class Way: ...
        class Plus(Way):
            def go(self):
                return 1
        def run(x):
            return [way().go() for way in Way.__subclasses__()]
        """,
    ),
    one(
        "registry filled by hand",
        True,
        "x + 1",
        "x + 2",
        """
        WAYS = {}
        def plus(x):
            return x + 1
        WAYS['plus'] = plus
        def run(x, way):
            return WAYS[way](x)
        """,
    ),
    one(
        "unrelated registry filled by hand",
        False,
        "x + 1",
        "x + 2",
        "WAYS = {}\ndef plus(x):\n    return x + 1\nWAYS['plus'] = plus\ndef run(x, way):\n    return x\n",
    ),
    one(
        "object changed under another name",
        True,
        "['a'] = 1",
        "['a'] = 2",
        "A = {}\nB = A\nB['a'] = 1\ndef run(x):\n    return A\n",
    ),
    one(
        "object changed inside another",
        True,
        "append(1)",
        "append(2)",
        "A = []\nB = {'a': A}\nB['a'].append(1)\ndef run(x):\n    return A\n",
    ),
    one(
        "object bound inside another",
        True,
        "append(1)",
        "append(2)",
        "A = [B := []]\nB.append(1)\ndef run(x):\n    return A\n",
    ),
    edit(
        "import by a relative text",
        True,
        "x - 1",
        "x - 2",
        "pack/helpers.py",
        main="import importlib as i\ndef run(x):\n    return i.import_module('.helpers', 'pack').other(x)\n",
        pack__INIT="",
        pack__helpers=HELPERS,
    ),
    edit(
        "what a circular import sees",
        True,
        "B = 3\nimport other\n",
        "import other\nB = 3\n",
        main="B = 3\nimport other\ndef run(x):\n    return other.B\n",
        other="B = 1\nfrom main import *\n",
    ),
    edit(
        "order of imports of one package",
        False,
        "import pack.a\nimport pack.b\n",
        "import pack.b\nimport pack.a\n",
        main="import pack.a\nimport pack.b\ndef run(x):\n    return pack.a.N + pack.b.N\n",
        pack__INIT="",
        pack__a="N = 1\n",
        pack__b="N = 2\n",
    ),
    one(
        "single dispatch",
        True,
        "x + 1",
        "x + 2",
        """
        from functools import singledispatch
        @singledispatch
        def go(x):
            return 0
        @go.register
        def _(x: int):
            return x + 1
        def run(x):
            return go(x)
        """,
    ),
    edit(
        "side effect of an import",
        True,
        "rate(1)",
        "rate(2)",
        "setup_all.py",
        main="import setup_all\ndef run(x):\n    return x\n",
        setup_all="import lib\nlib.set_rate(1)\n",
    ),
    edit(
        "side effect of an import's import",
        True,
        "rate(1)",
        "rate(2)",
        "setup_all.py",
        main="import middle\ndef run(x):\n    return x\n",
        middle="import setup_all\n",
        setup_all="import lib\nlib.set_rate(1)\n",
    ),
    one(
        "setting in an assignment",
        True,
        "seterr('ignore')",
        "seterr('raise')",
        "import lib\nOLD = lib.seterr('ignore')\ndef run(x):\n    return x\n",
    ),
    one(
        "annotation's class",
        True,
        "n: int",
        "n: float",
        "class Trip:\n    n: int\ndef run(x: Trip):\n    return x\n",
    ),
    one(
        "annotation as a text",
        True,
        "n: int",
        "n: float",
        "class Trip:\n    n: int\ndef run(x: 'list[Trip]'):\n    return x\n",
    ),
    one(
        "annotation in a text in an annotation",
        True,
        "n: int",
        "n: float",
        "class Trip:\n    n: int\ndef run(x: list['Trip']):\n    return x\n",
    ),
    edit(
        "import for type checkers",
        True,
        "n: int",
        "n: float",
        "kinds.py",
        main="""
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from kinds import Other, Trip
        def run(x: Trip):
            return x
        """,
        kinds="class Trip:\n    n: int\nclass Other:\n    m = 0\n",
    ),
    edit(
        "other import for type checkers",
        False,
        "    from kinds import Other\n",
        "",
        main="""
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from kinds import Other
            from kinds import Trip
        def run(x: "Trip"):
            return x
        """,
        kinds="class Trip:\n    n: int\nclass Other:\n    m = 0\n",
    ),
    one(
        "future import",
        True,
        "from __future__ import annotations\n",
        "",
        "from __future__ import annotations\ndef run(x: int):\n    return x\n",
    ),
    one("global augmented", True, "+= 1", "+= 2", "N = 1\nN += 1\ndef run(x):\n    return N\n"),
    one(
        "global set by a function",
        True,
        "N = 2",
        "N = 3",
        "N = 1\ndef bump():\n    global N\n    N = 2\ndef run(x):\n    bump()\n    return N\n",
    ),
    one(
        "match statement",
        True,
        "case 1",
        "case 2",
        "def run(x):\n    match x:\n        case 1:\n            return 0\n    return 1\n",
    ),
    one(
        "class in a pattern",
        True,
        "n = 1",
        "n = 2",
        "class A:\n    n = 1\ndef run(x):\n    match x:\n        case A(n=1):\n            return 0\n",
    ),
    one("f-string", True, "{x:>5}", "{x:>6}", "def run(x):\n    return f'{x:>5}'\n"),
    one("name in an f-string", True, "N = 1", "N = 2", "N = 1\ndef run(x):\n    return f'{N}'\n"),
    one("walrus", True, "y := 1", "y := 2", "def run(x):\n    return (y := 1) + x\n"),
    one("walrus at the top", True, "N := 1", "N := 2", "[N := 1]\ndef run(x):\n    return N\n"),
    one("assignment of several", True, "1, 2", "1, 3", "A, B = 1, 2\ndef run(x):\n    return B\n"),
    one("type alias", True, "list[int]", "list[str]", "Rows = list[int]\ndef run(x: Rows):\n    return x\n"),
    one(
        "async function",
        True,
        "x + 1",
        "x + 2",
        "async def f(x):\n    return x + 1\nasync def run(x):\n    return await f(x)\n",
    ),
    one("async to plain", True, "async def", "def", "async def run(x):\n    return x\n"),
    one(
        "nested function",
        True,
        "y + 1",
        "y + 2",
        "def run(x):\n    def f(y):\n        return y + 1\n    return f(x)\n",
    ),
    one(
        "global read by a nested function",
        True,
        "N = 1",
        "N = 2",
        "N = 1\ndef run(x):\n    def f():\n        return N\n    return f()\n",
    ),
    one("local of a global's name", False, "N = 1", "N = 2", "N = 1\ndef run(x):\n    N = x\n    return N\n"),
    one(
        "parameter of a global's name",
        False,
        "N = 1",
        "N = 2",
        "N = 1\ndef run(N):\n    return [N for _ in N]\n",
    ),
    one("comprehension's name", False, "n = 1", "n = 2", "n = 1\ndef run(x):\n    return [n for n in x]\n"),
    one("generator", True, "yield x", "yield 2 * x", "def run(x):\n    yield x\n"),
    one("return to yield", True, "return x", "yield x", "def run(x):\n    return x\n"),
    one(
        "if at the top",
        True,
        "N = 1",
        "N = 3",
        "import sys\nif sys.platform == 'linux':\n    N = 1\nelse:\n    N = 2\ndef run(x):\n    return N\n",
    ),
    one(
        "loop at the top",
        True,
        "range(3)",
        "range(4)",
        "T = []\nfor i in range(3):\n    T.append(i)\ndef run(x):\n    return T\n",
    ),
    one(
        "deleted name",
        True,
        "del sum\n",
        "",
        "def sum(x):\n    return 0\ndel sum\ndef run(x):\n    return sum(x)\n",
    ),
    one(
        "attribute of a function",
        True,
        "f.n = 1",
        "f.n = 2",
        "def f(): ...\nf.n = 1\ndef run(x):\n    return f.n\n",
    ),
    one(
        "defined twice",
        True,
        "return 1",
        "return 3",
        "def f():\n    return 1\ndef f():\n    return 2\ndef run(x):\n    return f()\n",
    ),
    one(
        "docstring that is read",
        True,
        "Do it.",
        "Do it well.",
        'def f():\n    "Do it."\ndef run(x):\n    return f.__doc__\n',
    ),
    one(
        "docstring of a function that is passed on",
        True,
        "Do it.",
        "Do it well.",
        'def f():\n    "Do it."\ndef run(x):\n    return x.agent(tools=[f])\n',
    ),
    one(
        "component's resources",
        False,
        "cpus=1, memory='1GiB', gpus=0, retries=0, timeout=9, cache=True, processes=1",
        "cpus=N",
        """
        from flowc import component
        N = 2
        @component(cpus=1, memory='1GiB', gpus=0, retries=0, timeout=9, cache=True, processes=1)
        def run(x: int) -> int:
            return x
        """,
    ),
    one(
        "constant in resources and elsewhere",
        True,
        "N = 2",
        "N = 3",
        "from flowc import component\nN = 2\n@component(cpus=N, name=N)\ndef run(x: int) -> int:\n    return x\n",
    ),
    edit(
        "condition of a star import",
        True,
        "F = 1",
        "F = 0",
        main="F = 1\nif F:\n    from a import *\nelse:\n    from b import *\ndef run(x):\n    return f(x)\n",
        a="def f(x):\n    return 1\n",
        b="def f(x):\n    return 2\n",
    ),
    edit(
        "order of two imports that act",
        True,
        "import a\nimport b\n",
        "import b\nimport a\n",
        main="import a\nimport b\ndef run(x):\n    return x\n",
        a="import lib\nlib.rate = 1\n",
        b="import lib\nlib.rate = 2\n",
    ),
    edit(
        "order of two imports that only bind",
        False,
        "import a\nimport b\n",
        "import b\nimport a\n",
        main="import a\nimport b\ndef run(x):\n    return a.X + b.X\n",
        a="X = 1\n",
        b="X = 2\n",
    ),
    edit(
        "object that a singleton shares",
        True,
        "rate = 1",
        "rate = 2",
        "other.py",
        main="from conf import Conf\nimport other\ndef run(x):\n    return Conf().rate\n",
        conf="class Conf:\n    made = None\n    def __new__(cls):\n        cls.made = cls.made or object.__new__(cls)\n"
        "        return cls.made\n",
        other="from conf import Conf\nCONF = Conf()\nCONF.rate = 1\n",
    ),
    one(
        "constant in a component's resources",
        False,
        "N = 2",
        "N = 3",
        "from flowc import component\nN = 2\n@component(cpus=N)\ndef run(x: int) -> int:\n    return x\n",
    ),
    one(
        "component's docstring",
        False,
        "Do it.",
        "Do it well.",
        'from flowc import component\n@component\ndef run(x: int) -> int:\n    "Do it."\n    return x\n',
    ),
    one(
        "pipeline's function",
        False,
        "run(1)",
        "run(2)",
        """
        import flowc
        @flowc.component
        def run(x: int) -> int:
            return x
        @flowc.pipeline
        def main():
            run(1)
        """,
    ),
    one(
        "another component",
        False,
        "x - 1",
        "x - 2",
        """
        import flowc
        @flowc.component
        def run(x: int) -> int:
            return x
        @flowc.component(cpus=2)
        def other(x):
            return x - 1
        """,
    ),
    one(
        "unrelated record of fields",
        False,
        "Feature(1)",
        "Feature(2)",
        """
        from dataclasses import dataclass
        @dataclass
        class Feature:
            n: int
        FEATURES = {'a': Feature(1)}
        def run(x):
            return x
        """,
    ),
    one(
        "unrelated value from a library",
        False,
        "getLogger('a')",
        "getLogger('b')",
        "import logging\nLOG = logging.getLogger('a')\ndef run(x):\n    return x\n",
    ),
    one(
        "unrelated value that the project's code makes",
        True,
        "make(1)",
        "make(2)",
        """
        def make(n):
            SEEN.append(n)
            return n
        SEEN = []
        V = make(1)
        def run(x):
            return SEEN
        """,
    ),
]


def _project(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _reached(folder: Path, ref: str = "main:run") -> Reached:
    return CodeReach([str(folder)]).of(ref)


@pytest.mark.parametrize("case", EDITS, ids=lambda case: case.name.replace(" ", "-"))
def test_an_edit_counts_where_it_could_change_the_result(case: Edit, tmp_path: Path) -> None:
    _project(tmp_path, case.files)
    before = _reached(tmp_path)
    text = case.files[case.file]
    assert case.old in text
    (tmp_path / case.file).write_text(text.replace(case.old, case.new, 1), encoding="utf-8")
    assert (_reached(tmp_path).digest != before.digest) == case.changes
