"""The notebook front end's diagnostic codes: one line on each, so that no code ever means two things."""

from __future__ import annotations

from typing import Final

CODES: Final[dict[str, str]] = {
    "FC010": "the file is not a notebook: not UTF-8, not JSON, or without cells",
    "FC011": "a part of the notebook file is malformed; the JSON path says which",
    "FC012": "the notebook is written in another language than Python",
    "FC013": "a package that reads this kind of notebook is not installed",
    "FC014": "a cell is not valid Python",
    "FC015": "a line or cell magic that can't be kept in a step",
    "FC016": "IPython's history or help, which only an interactive session has",
    "FC017": "a requirement that is not pinned to a version",
    "FC018": "a tag that is not known",
    "FC019": "two tags that contradict each other",
    "FC020": "a tag whose value can't be read",
    "FC021": "`after:` names a step that is not there, or the step itself",
    "FC022": "no cell of the notebook is tagged as a step",
    "FC023": "notebook metadata that is ignored",
    "FC024": "a statement of the parameters cell that is not a parameter",
    "FC025": "a parameter's annotation or value can't be understood without running the notebook",
    "FC026": "an untagged cell that can't be shared code and so joins a step",
    "FC200": "a name that nothing defines before it is read",
    "FC201": "a name that is read after it was deleted",
    "FC202": "a name would leave its step before another name is given to its object",
    "FC203": "steps need each other in a circle",
    "FC204": "names that analysis can't see: exec, eval, globals()",
    "FC205": "a star import that can't be resolved",
    "FC207": "a view and its base change apart in different steps",
    "FC208": "process-wide state set in a step, which later steps won't see",
    "FC209": "two steps draw from one global random generator",
    "FC210": "code that waits for a person",
    "FC500": "a generator or iterator would have to cross a step",
    "FC501": "a resource of the process (lock, file, connection) would have to cross a step",
    "FC502": "a function made inside a step from that step's data would have to cross it",
    "FC503": "a change to a function or class would have to cross a step",
}
