"""Diagnostics as text: the lines that they speak of, with what is meant underlined, whatever is written there."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from flowc.check.excerpt import Mark, excerpt
from flowc.check.render import render_json, render_text
from flowc.check.sources import Sources, Span
from flowc.diagnostics import Diagnostic, Related, Severity, Source


def place(
    line: int, column: int, end: int | None = None, file: str = "steps.py", end_line: int = 0
) -> Source:
    return Source(file=file, line=line, column=column, end_line=end_line or line, end_column=end)


def said(source: Source | None, *related: Related, hint: str | None = None, message: str = "m") -> Diagnostic:
    return Diagnostic(code="FC301", message=message, source=source, related=related, hint=hint)


def shown(folder: Path, text: str, *diagnostics: Diagnostic, color: bool = False) -> list[str]:
    """Return what is said of the text as steps.py, without the summary."""
    (folder / "steps.py").write_text(text, encoding="utf-8")
    rendered = render_text(diagnostics, Sources(folder), color=color)
    return rendered.rpartition("\n\n")[0].split("\n")


def test_both_places_of_one_file_stand_in_one_excerpt(tmp_path: Path) -> None:
    text = "def f(number):\n    ...\n\n\n\nf('x')\n"
    declared = Related(message="the input is declared here", source=place(1, 7, 13))
    assert shown(tmp_path, text, said(place(6, 1, 7), declared, hint="convert it")) == [
        "error[FC301] m",
        " --> steps.py:6:1",
        "  |",
        "1 | def f(number):",
        "  |       ------ the input is declared here",
        "...",
        "6 | f('x')",
        "  | ^^^^^^",
        "  = hint: convert it",
    ]


def test_one_line_has_room_for_several_labels(tmp_path: Path) -> None:
    first = Related(message="this one", source=place(1, 1, 2))
    second = Related(message="and this", source=place(1, 9, 10))
    assert shown(tmp_path, "a + b + c\n", said(place(1, 5, 6), first, second))[2:] == [
        "  |",
        "1 | a + b + c",
        "  | -   ^   - and this",
        "  | |",
        "  | this one",
    ]


def test_places_of_other_files_and_cells_have_excerpts_of_their_own(tmp_path: Path) -> None:
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    cell = {"cell_type": "code", "id": "f2", "metadata": {}, "source": ["x = 1\n", "y = 2"]}
    (tmp_path / "n.ipynb").write_text(json.dumps(notebook | {"cells": [cell]}))
    other = Related(
        message="made here", source=Source(file="n.ipynb", cell=0, cell_id="f2", line=2, column=1)
    )
    assert shown(tmp_path, "call(y)\n", said(place(1, 6, 7), other)) == [
        "error[FC301] m",
        " --> steps.py:1:6",
        "  |",
        "1 | call(y)",
        "  |      ^",
        " ::: n.ipynb cell 0 (id f2) line 2:1",
        "  |",
        "2 | y = 2",
        "  | - made here",
    ]


def test_a_percent_notebook_is_shown_by_the_lines_of_its_file(tmp_path: Path) -> None:
    text = "# %%\nx = 1\n\n# %%\n\nprint(y)\n"
    found = said(Source(file="steps.py", cell=1, cell_id="0ab", line=2, column=7))
    assert shown(tmp_path, text, found)[1:] == [
        " --> steps.py:6:7 (cell 1)",
        "  |",
        "6 | print(y)",
        "  |       ^",
    ]


def test_a_span_of_many_lines_shows_where_it_begins_and_ends(tmp_path: Path) -> None:
    text = "x = call(\n    1,\n    2,\n    3,\n    4,\n)\n"
    assert shown(tmp_path, text, said(place(1, 5, 2, end_line=6)))[2:] == [
        "  |",
        "1 | x = call(",
        "  |     ^^^^^",
        "2 |     1,",
        "  |     ^^",
        "...",
        "6 | )",
        "  | ^",
    ]


def test_tabs_and_wide_letters_move_the_caret(tmp_path: Path) -> None:
    assert shown(tmp_path, "\tx = '猫🐈' + y\n", said(place(1, 13, 14)))[3:] == [
        "1 |     x = '猫🐈' + y",
        "  |                  ^",
    ]


def test_lines_are_counted_as_python_counts_them(tmp_path: Path) -> None:
    text = "a = 1\x0c\nb = '\u2028'\nc\n"
    assert shown(tmp_path, text, said(place(3, 1, 2)))[3:] == ["3 | c", "  | ^"]


def test_what_a_terminal_would_obey_is_written_out(tmp_path: Path) -> None:
    text = "x = '\x1b[31m\u202e' + y\n"
    found = said(place(1, 16, 17), hint="\x1b[2J", message="'\x1b]0;title\x07'")
    assert shown(tmp_path, text, found) == [
        "error[FC301] '\\x1b]0;title\\x07'",
        " --> steps.py:1:16",
        "  |",
        "1 | x = '\\x1b[31m\\u202e' + y",
        "  |                        ^",
        "  = hint: \\x1b[2J",
    ]


def test_a_long_line_is_cut_around_what_is_meant(tmp_path: Path) -> None:
    text = "x = '" + "a" * 1000 + "' + y + '" + "b" * 1000 + "'\n"
    lines = shown(tmp_path, text, said(place(1, 1010, 1011)))
    assert len(lines[3]) < 130
    assert lines[3].startswith("1 | ...aaa")
    assert lines[3].endswith("bbb...")
    assert lines[3][lines[4].index("^")] == "y"


def test_a_part_of_a_json_file_is_found_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"tasks": [\n  {"name": "a"},\n  {"name": 3}\n]}\n')
    assert shown(tmp_path, "", said(Source(file="p.json", path="$.tasks[1].name")))[1:] == [
        " --> p.json:3:12 at $.tasks[1].name",
        "  |",
        '3 |   {"name": 3}',
        "  |            ^",
    ]


def test_without_the_file_the_place_is_still_named(tmp_path: Path) -> None:
    gone = Related(message="made here", source=place(3, 1, file="gone.py"))
    assert shown(tmp_path, "", said(place(9, 1, file="away.py"), gone), said(None)) == [
        "error[FC301] m",
        " --> away.py:9:1",
        "  = note: made here: gone.py:3:1",
        "",
        "error[FC301] m",
    ]


def test_the_end_counts_and_names_the_codes(tmp_path: Path) -> None:
    def of(code: str, severity: Severity) -> Diagnostic:
        return Diagnostic(code=code, severity=severity, message="m")

    mixed = [of("FC301", "error"), of("FC301", "error"), of("FC208", "warning"), of("FC026", "note")]
    assert render_text(mixed, Sources(tmp_path)).splitlines()[-2:] == [
        "2 errors, 1 warning, 1 note",
        "'flowc explain FC026' says more; so do the pages of FC208, FC301",
    ]
    assert render_text(mixed[:1], Sources(tmp_path)).splitlines()[-2:] == [
        "1 error",
        "'flowc explain FC301' says more",
    ]


def test_colours_change_no_letter(tmp_path: Path) -> None:
    import click

    found = said(place(1, 1, 2), Related(message="there", source=place(1, 3, 4)), hint="do it")
    plain, colored = (shown(tmp_path, "a b\n", found, color=color) for color in (False, True))
    assert [click.unstyle(line) for line in colored] == plain
    assert colored[0].startswith("\x1b[1;31merror[FC301]\x1b[0m")


def test_json_holds_all_that_is_known() -> None:
    assert json.loads(render_json([said(place(1, 2, 3), hint="h")])) == [
        {
            "code": "FC301",
            "severity": "error",
            "message": "m",
            "source": {"file": "steps.py", "line": 1, "column": 2, "end_line": 1, "end_column": 3},
            "hint": "h",
            "related": [],
        }
    ]


@st.composite
def marked(draw: st.DrawFn) -> tuple[list[str], list[Mark]]:
    """Lines of any letters, with marks of any length on them."""
    texts = st.text(st.characters(exclude_characters="\n"), max_size=300)
    lines = draw(st.lists(texts, min_size=1, max_size=9))

    def mark(primary: bool) -> Mark:
        first = draw(st.integers(1, len(lines)))
        last = draw(st.integers(first, len(lines)))
        column = draw(st.integers(1, len(lines[first - 1]) + 1))
        end = draw(st.integers(column if first == last else 1, len(lines[last - 1]) + 1))
        return Mark(Span(first, column, last, end), draw(st.text(max_size=9)), primary)

    return lines, [mark(True), *(mark(False) for _ in range(draw(st.integers(0, 3))))]


@given(marked())
def test_whatever_is_written_comes_out_harmless_and_underlined(case: tuple[list[str], list[Mark]]) -> None:
    lines, marks = case
    shown = list(excerpt(lines, marks, 2, lambda text, _: text))
    assert all(line.isprintable() for line in shown)
    assert any("^" in line for line in shown)
    assert max(map(cell_len, shown)) < 140 + 40 * len(marks)
