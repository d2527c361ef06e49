"""From a notebook's file to the IR."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import CompileError
from flowc.ir import (
    Binding,
    Cell,
    Component,
    FromParameter,
    FromTask,
    NotebookCode,
    Output,
    Pipeline,
    Port,
    Task,
)
from flowc.notebook.analysis import Analysis, TaggedCell, analyse
from flowc.notebook.budget import OutOfBudgetError, gives_up
from flowc.notebook.lines import PlainCell, plain_cell
from flowc.notebook.model import Notebook, diagnose
from flowc.notebook.outlets import Outlet
from flowc.notebook.parameters import read_parameters
from flowc.notebook.reader import read_notebook
from flowc.notebook.reports import circles, report
from flowc.notebook.splitting import split_parameters
from flowc.notebook.steps import Edge, StepFlow, Steps, resolve_steps
from flowc.notebook.tags import StepTags, Tagged, gather_steps, read_tags
from flowc.notebook.versions import Place, Version

_NO_STEPS = "tag cells with 'step:NAME' (or begin them with the line '#| flowc: step:NAME')"


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled notebook: the pipeline, what is to be said of it, and why each edge is there."""

    pipeline: Pipeline
    diagnostics: list[Diagnostic]
    edges: tuple[Edge, ...]
    requirements: tuple[str, ...]


def compile_notebook(path: Path, root: Path) -> tuple[Pipeline, list[Diagnostic]]:
    """Compile a notebook; return the pipeline with warnings and notes.

    Raises CompileError with all that was found where anything of it is an error.
    """
    compiled = explain_notebook(path, root)
    return compiled.pipeline, compiled.diagnostics


def explain_notebook(path: Path, root: Path, *, keep_all: bool = False) -> Compiled:
    """Compile a notebook and keep for each edge why it is there. Raises CompileError as `compile_notebook` does.

    With `keep_all` each step keeps all that its names hold at the notebook's end, not only what is a result.
    """
    return compile_cells(read_notebook(path, root), keep_all=keep_all)


def compile_cells(notebook: Notebook, *, keep_all: bool = False) -> Compiled:
    """Compile a notebook that was read. Raises CompileError as `compile_notebook` does."""
    try:
        return _compiled(notebook, keep_all)
    except (OutOfBudgetError, RecursionError) as error:
        raise CompileError([gives_up(error, Source(file=notebook.file))]) from error


def _compiled(notebook: Notebook, keep_all: bool) -> Compiled:
    tagged, problems = read_tags(notebook)
    steps, conflicts = gather_steps(notebook, tagged)
    cells, wrong = _plain_cells(notebook, tagged)
    problems += [*conflicts, *wrong]
    if not steps:
        message = "no cell is tagged as a step" if notebook.cells else "the notebook has no cells"
        problems.append(diagnose("FC022", message, Source(file=notebook.file), hint=_NO_STEPS))
    wanted = frozenset(cell.index for cell in cells if cell.tagged.part == "parameters")
    module = module_name(notebook)
    plain = split_parameters([cell.plain for cell in cells], wanted, module)
    cells = [replace(cell, plain=one) for cell, one in zip(cells, plain, strict=True)]
    parameters, wrong = read_parameters(notebook, plain, wanted, module)
    problems += wrong
    _refuse(problems)
    analysis = analyse(notebook, cells, parameters)
    flow = resolve_steps(notebook, analysis, keep_all=keep_all)
    problems += report(notebook, cells, analysis, flow)
    lowering = _Lowering(notebook, cells, steps, analysis, flow)
    pipeline = lowering.pipeline()
    edges = (*flow.edges, *lowering.ordering())
    problems += circles(notebook, edges)
    _refuse(problems)
    requirements = tuple(dict.fromkeys(item for cell in cells for item in cell.plain.requirements))
    return Compiled(pipeline, problems, edges, requirements)


def module_name(notebook: Notebook) -> str:
    """Return the name of the module that a notebook's definitions live in when its steps run."""
    return definitions_module(notebook.file)


def definitions_module(file: str) -> str:
    """Return the name of the definitions' module for a notebook's file, relative to the project's root."""
    stem = re.sub(r"\W", "_", Path(file).stem)
    return f"flowc_notebook_{stem}_{hashlib.sha256(file.encode()).hexdigest()[:8]}"


def _failed(problems: Iterable[Diagnostic]) -> bool:
    return any(problem.severity == "error" for problem in problems)


def _refuse(problems: list[Diagnostic]) -> None:
    if _failed(problems):
        raise CompileError(problems)


def _plain_cells(notebook: Notebook, tagged: dict[int, Tagged]) -> tuple[list[TaggedCell], list[Diagnostic]]:
    cells, problems = [], []
    for cell in notebook.cells:
        if cell.index not in tagged or tagged[cell.index].part == "skip":
            continue
        plain, wrong = plain_cell(notebook, cell)
        problems += wrong
        if plain is not None:
            cells.append(TaggedCell(plain, tagged[cell.index]))
    return cells, problems


class _Lowering:
    def __init__(
        self,
        notebook: Notebook,
        cells: list[TaggedCell],
        tags: dict[str, StepTags],
        analysis: Analysis,
        steps: Steps,
    ) -> None:
        self._notebook = notebook
        self._cells: dict[int, PlainCell] = {cell.index: cell.plain for cell in cells}
        self._tags = tags
        self._analysis = analysis
        self._steps = steps
        self._control: dict[str, list[str]] = {}
        for edge in steps.edges:
            if edge.name is None:
                self._control.setdefault(edge.consumer, []).append(edge.producer)

    def pipeline(self) -> Pipeline:
        tasks = [self._task(flow) for flow in self._flows()]
        used = {index for flow in self._flows() for index in (*flow.cells, *flow.shared)}
        used |= {assigned.cell for assigned in self._analysis.parameters.values()}
        return Pipeline(
            name=Path(self._notebook.file).stem,
            description=self._description_before(min(self._cells, default=0)),
            parameters=tuple(assigned.parameter for assigned in self._analysis.parameters.values()),
            components={flow.name: self._component(flow) for flow in self._flows()},
            tasks=tuple(tasks),
            outputs=self._outputs(),
            cells=tuple(
                Cell(index=index, id=self._cells[index].cell.id, source=self._cells[index].source)
                for index in sorted(used)
            ),
            source=Source(file=self._notebook.file),
        )

    def _flows(self) -> list[StepFlow]:
        return [self._steps.flows[name] for name in self._tags if name in self._steps.flows]

    def ordering(self) -> list[Edge]:
        """Return the edges that `after:` tags ask for."""
        edges = []
        for flow in self._flows():
            here = Place(flow.cells[0])
            edges += [
                Edge(earlier, flow.name, None, "an 'after:' tag", here, here)
                for earlier in self._tags[flow.name].after
            ]
        return edges

    def _component(self, flow: StepFlow) -> Component:
        tags = self._tags[flow.name]
        entering = self._inputs(flow)
        return Component(
            name=flow.name,
            inputs=(
                *(
                    Port(
                        name=name,
                        type=self._analysis.parameters[name].parameter.type,
                        source=self._analysis.parameters[name].parameter.source,
                    )
                    for name in flow.parameters
                ),
                *(
                    Port(name=port, source=self._source(flow.inputs[versions[0]].place))
                    for port, versions in entering.items()
                ),
            ),
            outputs=(
                *(
                    Port(name=outlet.port, source=self._source(outlet.versions[0].place))
                    for outlet in flow.outputs
                ),
                *(
                    Port(name=name, required=False, source=self._source(version.place))
                    for name, version in flow.results.items()
                ),
            ),
            code=self._code(flow, entering),
            role=tags.role,
            description=self._description(flow),
            resources=tags.resources,
            policy=tags.policy,
            source=tags.source,
        )

    def _code(self, flow: StepFlow, entering: dict[str, list[Version]]) -> NotebookCode:
        enters = {name: self._analysis.parameters[name].cell for name in flow.parameters}
        enters.update({port: self._entry(flow, versions) for port, versions in entering.items()})
        parts = {
            cell: tuple(sorted(positions))
            for cell, positions in sorted(flow.shared.items())
            if len(positions) < len(self._cells[cell].tree.body)
        }
        parts.update(self._without_parameters(flow))
        first = flow.cells[0]
        return NotebookCode(
            shared=tuple(sorted(flow.shared)),
            cells=flow.cells,
            parts=parts,
            enters={name: cell for name, cell in enters.items() if cell != first},
            leaves={outlet.port: outlet.after for outlet in flow.outputs if outlet.after is not None},
            apart=tuple(outlet.port for outlet in flow.outputs if self._may_share(flow, outlet)),
        )

    def _may_share(self, flow: StepFlow, outlet: Outlet) -> bool:
        """Say whether what leaves together may be views of one memory, which another step changes later."""
        heap, walker = self._analysis.heap, self._analysis.walker
        tops: frozenset[int] = frozenset().union(*(version.value.top for version in outlet.versions))
        inside = heap.reach(tops) & self._analysis.apart
        made = min(version.place.cell for version in outlet.versions)
        return any(
            cell > made and unit != flow.name and not inside.isdisjoint(changed)
            for cell, unit, changed in (walker.marks.changes if inside else ())
        )

    def _entry(self, flow: StepFlow, versions: list[Version]) -> int:
        """Return the cell of a step's before which versions of another's come in."""
        program = sorted({*flow.cells, *flow.shared})
        producer = self._steps.flows[versions[0].unit]
        made = max(version.place.cell for version in versions)
        return next((cell for cell in program if cell > made and cell not in producer.cells), program[-1])

    def _without_parameters(self, flow: StepFlow) -> dict[int, tuple[int, ...]]:
        """Return the parts of the step's own cells that assign parameters too: those come from outside."""
        taken: dict[int, set[int]] = {}
        for assigned in self._analysis.parameters.values():
            taken.setdefault(assigned.cell, set()).add(assigned.position)
        return {
            cell: tuple(set(range(len(self._cells[cell].tree.body))) - taken[cell])
            for cell in flow.cells
            if cell in taken
        }

    def _task(self, flow: StepFlow) -> Task:
        tags = self._tags[flow.name]
        inputs: dict[str, Binding] = {name: FromParameter(parameter=name) for name in flow.parameters}
        for port, versions in self._inputs(flow).items():
            outlet = self._steps.outlets[versions[0]]
            inputs[port] = FromTask(task=versions[0].unit, output=outlet.port)
        control = self._control.get(flow.name, [])
        data = {binding.task for binding in inputs.values() if isinstance(binding, FromTask)}
        after = tuple(name for name in dict.fromkeys((*tags.after, *control)) if name not in data)
        return Task(
            name=flow.name,
            component=flow.name,
            inputs=inputs,
            after=after,
            resources=tags.resources,
            policy=tags.policy,
            source=tags.source,
        )

    def _inputs(self, flow: StepFlow) -> dict[str, list[Version]]:
        """Return the ports for what comes from other steps, each with its names' versions."""
        taken: dict[Outlet, list[Version]] = {}
        for version in sorted(flow.inputs, key=lambda version: (version.name, version.atom)):
            taken.setdefault(self._steps.outlets[version], []).append(version)
        labels = ["+".join(version.name for version in versions) for versions in taken.values()]
        ports: dict[str, list[Version]] = {}
        for label, versions in zip(labels, taken.values(), strict=True):
            alone = labels.count(label) == 1 and label not in flow.parameters
            ports[label if alone else f"{label}@{self._entry(flow, versions)}"] = versions
        return ports

    def _outputs(self) -> tuple[Output, ...]:
        """Return the pipeline's results: the names that are left at the end, in steps that nobody reads from."""
        return tuple(
            Output(name=name, value=FromTask(task=flow.name, output=port))
            for flow in self._flows()
            for name, port in (
                *((name, name) for name in flow.results),
                *((version.name, self._steps.outlets[version].port) for version in flow.lasting),
            )
        )

    def _source(self, place: Place) -> Source:
        return self._notebook.place(place.cell, place.line, place.column)

    def _description(self, flow: StepFlow) -> str:
        texts = [self._description_before(index) for index in flow.cells]
        return "\n\n".join(text for text in texts if text)

    def _description_before(self, index: int) -> str:
        """Return the markdown that stands right above a cell."""
        texts: list[str] = []
        for cell in reversed(self._notebook.cells[:index]):
            if cell.kind != "markdown":
                break
            texts.insert(0, cell.source.strip())
        return "\n\n".join(texts)
