"""The page of a diagnostic code as Markdown: what `flowc explain` prints, and what docs/diagnostics/ holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from flowc.check.codes import CodePage, code_pages

_FAMILIES: Final = {
    "FC0": "Reading files, tags and settings",
    "FC1": "The graph",
    "FC2": "Names and hidden state in notebooks",
    "FC3": "Types",
    "FC4": "Resources and runners",
    "FC5": "State that can't cross a step",
    "FC6": "Other forms",
}
_LANGUAGES: Final = {".py": "python", ".json": "json", ".ipynb": "json", ".toml": "toml"}
_HEAD = "<!-- Written by `make docs` from the pages beside the rules (flowc/*/pages); change those. -->\n\n"


def page_text(page: CodePage) -> str:
    """Return a code's page as Markdown."""
    return "\n\n".join(_parts(page)) + "\n"


def _parts(page: CodePage) -> Iterator[str]:
    yield f"# {page.code}: {page.title}"
    yield f"*{' or '.join((page.severity, *page.also))}*"
    yield page.why.strip()
    yield f"**What to do.** {page.fix.strip()}"
    if page.unshown:
        yield f"There is no example of it here: {page.unshown}."
        return
    command, *options = page.command.split(" ", 1)
    said = " ".join(("flowc", command, list(page.bad)[-1], *options))
    yield f"`{said}` says it of this:"
    yield from _files(page.bad)
    yield "and not of this:"
    yield from _files(page.good)


def _files(texts: Mapping[str, str]) -> Iterator[str]:
    for name, text in texts.items():
        if len(texts) > 1:
            yield f"`{name}`"
        yield f"```{_LANGUAGES[Path(name).suffix]}\n{text.strip()}\n```"


def index_text() -> str:
    """Return the list of all codes by family as Markdown, with links to their pages."""
    lines = [
        "# Diagnostics",
        "",
        "What flowc says of a pipeline. `flowc explain FC203` prints a code's page.",
    ]
    family = ""
    for code, page in code_pages().items():
        if code[:3] != family:
            family = code[:3]
            lines += [
                "",
                f"## {family}xx: {_FAMILIES[family]}",
                "",
                "| code | | says that |",
                "|---|---|---|",
            ]
        lines.append(f"| [{code}]({code}.md) | {'/'.join((page.severity, *page.also))} | {page.title} |")
    return "\n".join(lines) + "\n"


def documents() -> dict[str, str]:
    """Return the files of docs/diagnostics/ by name."""
    pages = {f"{code}.md": _HEAD + page_text(page) for code, page in code_pages().items()}
    return {"README.md": _HEAD + index_text(), **pages}


def write_documents(folder: Path) -> None:
    """Write docs/diagnostics/ anew."""
    texts = documents()  # before anything is removed: a page may be wrong
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
