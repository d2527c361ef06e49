"""For a notebook without tags: where its steps could begin and end, what they do, and what to call them.

Each module is a stage: `parts` (cells to parameters, shared code and work), `roles` (what a cell's calls are for),
`cuts` (where work is cut into steps), `names` (headings to names), `propose` (all of it, held to the compiler), and
`copy` (the tags written into a copy of the file).
"""

from flowc.notebook.suggest.copy import write_copy
from flowc.notebook.suggest.propose import CellProposal, StepProposal, Suggestion, Taken, suggest_tags

__all__ = ["CellProposal", "StepProposal", "Suggestion", "Taken", "suggest_tags", "write_copy"]
