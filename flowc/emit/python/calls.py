"""The `@pipeline` function: the steps called in order, each result under the name that it has in the notebook."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping, Sequence

from flowc.emit.python.imports import Imports
from flowc.emit.python.steps import Step
from flowc.emit.python.text import INDENT, INNER_WIDTH, call, docstring, indented, quoted, without_heading
from flowc.ir import FromParameter, FromTask, Pipeline

_Key = tuple[str, str]  # a task and its output, or "" and a parameter
_ALL = "*"  # a task's outputs together, or what stands for a task without any


class Calls:
    """Writes the pipeline's function. A variable is given anew, as a person would do it, only when nothing later reads
    what it held."""

    def __init__(self, pipeline: Pipeline, steps: Sequence[Step], functions: Iterable[str]) -> None:
        self._pipeline = pipeline
        self._steps = {step.task.name: step for step in steps}
        self._order = list(_in_order(steps))
        self._functions = set(functions)
        self._holders: dict[str, _Key] = {each.name: ("", each.name) for each in pipeline.parameters}
        self._variables: dict[_Key, str] = {key: name for name, key in self._holders.items()}
        self._last_use = self._last_uses()

    def text(self, name: str, imports: Imports, parameters: Mapping[str, str]) -> str:
        """Return the function; `parameters` are written out, with annotation and default, each with its comment."""
        own = self._pipeline.name
        decorator = imports.member("flowc", "pipeline") + ("" if own == name else f"(name={quoted(own)})")
        returned = self._outputs()
        tail = f" -> dict[str, {imports.member('typing', 'Any')}]:" if returned else " -> None:"
        parts = (
            [docstring(without_heading(self._pipeline.description), INDENT)]
            if self._pipeline.description
            else []
        )
        parts += [self._call(number, step) for number, step in enumerate(self._order)]
        if returned:
            # Only now do the variables' names stand fast.
            pairs = [f"{quoted(name)}: {self._value(key)}" for name, key in returned.items()]
            one_line = "return {" + ", ".join(pairs) + "}"
            wrapped = "\n".join(("return {", *(f"{INDENT}{pair}," for pair in pairs), "}"))
            parts.append(one_line if len(one_line) <= INNER_WIDTH else wrapped)
        head = call(f"def {name}", list(parameters), tail, comments=list(parameters.values()))
        return f"@{decorator}\n{head}\n" + indented("\n".join(parts))

    def _outputs(self) -> dict[str, _Key]:
        return {
            output.name: (output.value.task, output.value.output)
            for output in self._pipeline.outputs
            if output.value.output in self._steps[output.value.task].fields
        }

    def _last_uses(self) -> dict[_Key, int]:
        uses: dict[_Key, int] = {}
        for number, step in enumerate(self._order):
            for binding in step.task.inputs.values():
                if isinstance(binding, FromTask):
                    uses[self._held(binding.task)] = number
                elif isinstance(binding, FromParameter):
                    uses["", binding.parameter] = number
            uses.update((self._held(before), number) for before in step.task.after)
        uses.update((self._held(key[0]), len(self._order)) for key in self._outputs().values())
        return uses

    def _held(self, task: str) -> _Key:
        """Return what a variable holds of a task: its only output, or all of them."""
        fields = self._steps[task].fields
        return (task, next(iter(fields)) if len(fields) == 1 else _ALL)

    def _call(self, number: int, step: Step) -> str:
        arguments = []
        for port, argument in step.arguments.items():
            binding = step.task.inputs[port]
            if isinstance(binding, FromTask):
                arguments.append(f"{argument}={self._value((binding.task, binding.output))}")
            elif isinstance(binding, FromParameter):
                arguments.append(f"{argument}={self._variables['', binding.parameter]}")
        if step.task.after:
            befores = [self._variables[self._held(before)] for before in step.task.after]
            arguments.append(f"after=[{', '.join(befores)}]")
        key = self._held(step.task.name)
        if key not in self._last_use:
            return call(step.function, arguments, width=INNER_WIDTH)
        return call(f"{self._assign(number, step, key)} = {step.function}", arguments, width=INNER_WIDTH)

    def _assign(self, number: int, step: Step, key: _Key) -> str:
        """Return the variable for what a task gives, free or no longer needed."""
        if len(step.fields) == 1:
            wanted = next(iter(step.fields.values()))
        else:
            wanted = f"{step.function}_outputs" if step.fields else f"{step.function}_done"
        for name in (
            wanted,
            f"{wanted}_of_{step.function}",
            *(f"{wanted}_{count}" for count in range(2, 1000)),
        ):
            holder = self._holders.get(name)
            if name in self._functions or (holder and self._last_use.get(holder, -1) > number):
                continue
            self._holders[name] = key
            self._variables[key] = name
            return name
        raise AssertionError("a thousand variables of one name")

    def _value(self, key: _Key) -> str:
        task, output = key
        variable = self._variables[self._held(task)]
        fields = self._steps[task].fields
        return variable if len(fields) == 1 else f"{variable}.{fields[output]}"


def _in_order(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps so that each comes after those that it needs, else in the notebook's order."""
    waiting, done = list(steps), set[str]()
    while waiting:
        step = next(each for each in waiting if done.issuperset(each.task.upstream()))
        waiting.remove(step)
        done.add(step.task.name)
        yield step


def identifier(text: str, taken: Iterable[str], other: str) -> str:
    """Return a function's name for a step's, or with `other` behind it where it means something else already."""
    name = "".join(char if char.isalnum() or char == "_" else "_" for char in text) or "step"
    if name[0].isdigit():
        name = f"step_{name}"
    used = set(taken)
    while name in used or keyword.iskeyword(name):
        name += other
    return name
