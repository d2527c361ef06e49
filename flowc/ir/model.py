"""The typed IR: a pipeline as frozen data. Its JSON form is versioned and holds all that a run needs but code.

A pipeline has components (typed functions, each once) and tasks (a component with its inputs bound). Where the
code comes from a notebook, the cells are in the IR too; Python code is named by module and found by `modules`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from flowc.diagnostics import Source
from flowc.frozen import Frozen, Variant
from flowc.types.model import AnyType, Type

IR_VERSION: Final = 1

Role = Literal["ingest", "validate", "transform", "train", "evaluate", "serve"]


class Resources(Frozen):
    """What a task holds while it runs. Memory in bytes; `processes` above 1 asks for a gang."""

    cpus: float = Field(default=1, ge=0, allow_inf_nan=False)
    memory: int | None = Field(default=None, gt=0)
    gpus: int = Field(default=0, ge=0)
    processes: int = Field(default=1, ge=1)


class Policy(Frozen):
    """How a task is to be treated: attempts after the first, time limit in seconds, whether results are reused.

    `cache_for` is the number of seconds that results hold, also those which depend on the network or the clock;
    `cache_version` is part of what a task's results stand on.
    """

    retries: int = Field(default=0, ge=0)
    timeout: float | None = Field(default=None, gt=0)
    cache: bool = True
    cache_for: float | None = Field(default=None, gt=0)
    cache_version: str = ""


class Port(Frozen):
    """A typed input or output. `default` counts where `required` is false; it is the value's JSON form.

    A default that has no JSON form (a function, an object) is the function's own business: `opaque` says so.
    """

    name: str
    type: Type = AnyType()
    required: bool = True
    default: Any = None
    opaque: bool = False
    source: Source | None = None


class PythonCode(Variant):
    """A function that is imported: from a file of `Pipeline.modules`, or an installed module."""

    kind: Literal["python"] = "python"
    module: str
    qualname: str


class NotebookCode(Variant):
    """Cells that run in order in one namespace. Indices are those of `Pipeline.cells`.

    `cells` are the step's own; `shared` are other cells of which it needs imports, definitions or constants, all
    or the statements in `parts` (positions in the cell's body). All run in the notebook's order. An input is set
    before the cell that `enters` says, else before the first of `cells`. An output is taken as it is after the cell
    that `leaves` says, else at the end; what leaves by those in `apart` must share no memory. A port is a name, or
    several that travel in one pickle because they share objects, joined by "+"; where a step takes or gives a name
    as it is at several times, "@" and a cell tell them apart (see `port_names`).
    """

    kind: Literal["notebook"] = "notebook"
    shared: tuple[int, ...] = ()
    cells: tuple[int, ...]
    parts: dict[int, tuple[int, ...]] = {}
    enters: dict[str, int] = {}
    leaves: dict[str, int] = {}
    apart: tuple[str, ...] = ()


def port_names(port: str) -> list[str]:
    """Return the names of a notebook that a port of one of its steps carries."""
    return port.partition("@")[0].split("+")


Code = Annotated[PythonCode | NotebookCode, Field(discriminator="kind")]


class Cell(Frozen):
    """A notebook's code cell: its index among all of the notebook's cells, its id, its source as plain Python."""

    index: int
    id: str | None = None
    source: str


class Component(Frozen):
    """A typed function. `outputs` has one port named "output" where the function returns a single value."""

    name: str
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    code: Code
    role: Role | None = None
    description: str = ""
    resources: Resources = Resources()
    policy: Policy = Policy()
    source: Source | None = None


class Parameter(Frozen):
    """A pipeline's argument. A relative `Path` default is relative to the file that the parameter stands in."""

    name: str
    type: Type = AnyType()
    required: bool = True
    default: Any = None
    description: str = ""
    source: Source | None = None


class Constant(Variant):
    """A value written in the pipeline, in its JSON form. A relative path is relative to the pipeline's file."""

    kind: Literal["constant"] = "constant"
    value: Any


class FunctionRef(Variant):
    """A function or class handed to a component, as "module:qualname"."""

    kind: Literal["function"] = "function"
    ref: str


class FromParameter(Variant):
    kind: Literal["parameter"] = "parameter"
    parameter: str


class FromTask(Variant):
    kind: Literal["task"] = "task"
    task: str
    output: str = "output"


Binding = Annotated[Constant | FunctionRef | FromParameter | FromTask, Field(discriminator="kind")]


class Task(Frozen):
    """A component in a pipeline, with its inputs bound. Nested pipelines' tasks are named "outer/inner"."""

    name: str
    component: str
    inputs: dict[str, Binding] = {}
    after: tuple[str, ...] = ()
    resources: Resources = Resources()
    policy: Policy = Policy()
    source: Source | None = None

    def upstream(self) -> tuple[str, ...]:
        """Return the tasks that must end before this one starts, each once, in order of mention."""
        data = (binding.task for binding in self.inputs.values() if isinstance(binding, FromTask))
        return tuple(dict.fromkeys((*data, *self.after)))


class Output(Frozen):
    """What the pipeline as a whole gives, by name."""

    name: str
    value: FromTask


class Pipeline(Frozen):
    """A compiled pipeline. `modules` maps a module's name to its file, relative to the project's root."""

    ir_version: Literal[1] = IR_VERSION
    name: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    components: dict[str, Component] = {}
    tasks: tuple[Task, ...] = ()
    outputs: tuple[Output, ...] = ()
    modules: dict[str, str] = {}
    cells: tuple[Cell, ...] = ()
    source: Source | None = None

    @cached_property
    def tasks_by_name(self) -> dict[str, Task]:
        """The tasks by name."""
        return {task.name: task for task in self.tasks}

    def task(self, name: str) -> Task:
        """Return the task of this name; KeyError where there is none."""
        return self.tasks_by_name[name]

    def component_of(self, task: Task) -> Component:
        """Return the component that a task runs."""
        return self.components[task.component]
