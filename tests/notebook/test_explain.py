"""`flowc check --explain` names for each edge of a notebook the variable and both lines."""

from __future__ import annotations

from pathlib import Path

from flowc.notebook.explain import edge_notes

CELLS = """# %% tags=["step:make"]
items = []

# %% tags=["step:fill"]
if True:
    items.append(1)

# %% tags=["functions"]
def size():
    return len(items)

# %% tags=["step:show", "after:make"]
print(size())
"""


def test_an_edge_names_the_variable_the_change_and_the_use(tmp_path: Path) -> None:
    path = tmp_path / "fill.py"
    path.write_text(CELLS)
    notes = {note.message: note for note in edge_notes(path, tmp_path)}
    assert list(notes) == [
        "step 'fill' needs 'make': it reads 'items'",
        "step 'show' needs 'fill': it reads 'items' (through 'size')",
        "step 'show' needs 'make': it comes after it",
    ]
    changed = notes["step 'show' needs 'fill': it reads 'items' (through 'size')"]
    assert changed.source is not None
    assert (changed.source.cell, changed.source.line) == (3, 1)
    (made,) = changed.related
    assert made.message == "'items' is changed by 'append' here"
    assert (made.source.cell, made.source.line) == (1, 2)
