"""What is known of IPython's magics by their names alone: which do nothing in a step, and what to do about others."""

from __future__ import annotations

NO_OPS = frozenset(
    (
        "matplotlib",
        "load_ext",
        "reload_ext",
        "unload_ext",
        "autoreload",
        "aimport",
        "colors",
        "xmode",
        "pdb",
        "autosave",
        "autocall",
        "automagic",
    )
)
# What these show is for who sits before the kernel, and nothing that a later cell can see; but what they give could.
SHOWING = frozenset(
    ("tensorboard", "lsmagic", "magic", "quickref", "who", "whos", "watermark", "psource", "pdoc", "pfile")
)
# How numbers and pictures look is for whoever reads the outputs.
LOOKS = frozenset(("config", "precision"))
# IPython's names for the classes of what these cells display, and the types of it.
DISPLAY_CELLS = {
    "html": ("HTML", "text/html"),
    "HTML": ("HTML", "text/html"),
    "javascript": ("Javascript", "application/javascript"),
    "js": ("Javascript", "application/javascript"),
    "latex": ("Latex", "text/latex"),
    "markdown": ("Markdown", "text/markdown"),
    "svg": ("SVG", "image/svg+xml"),
    "SVG": ("SVG", "image/svg+xml"),
}
SCRIPTS = frozenset(("bash", "sh", "script", "python", "python3", "perl", "ruby"))
# Magics that are a shell's commands.
COMMANDS = frozenset(("ls", "cat", "cp", "mv", "rm", "mkdir", "rmdir"))
HINTS = {
    **dict.fromkeys(
        ("lprun", "memit", "mprun"),
        "measuring is not part of a pipeline: remove it, or tag its cell 'skip'",
    ),
    **dict.fromkeys(
        (
            "who_ls",
            "history",
            "hist",
            "debug",
            "load",
            "recall",
            "rerun",
            "edit",
            "notebook",
            "macro",
        ),
        "it is for an interactive session: remove it, or tag its cell 'skip'",
    ),
    **dict.fromkeys(
        ("reset", "reset_selective", "xdel", "clear"),
        "each run begins without names of the last one: remove it",
    ),
    "pylab": "import what is used: 'import numpy as np', 'import matplotlib.pyplot as plt'",
    "run": "import what it defines: 'from other import name', with other.py beside the notebook",
    "store": "give the value a name: steps keep what later ones read",
    "alias_magic": "use the magic's own name",
    "logstart": "write what is to be kept to a file of its own",
    "sql": "write the query in Python, as with pandas.read_sql",
}
# How Python's own messages about code of Python 2 begin, and what that code has.
PYTHON_2 = {
    "Missing parentheses in call to 'print'": "print without parentheses",
    "Missing parentheses in call to 'exec'": "exec without parentheses",
    "multiple exception types must be parenthesized": "'except' with a comma",
    "leading zeros in decimal integer literals": "an octal number with a leading zero",
}
