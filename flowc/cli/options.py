"""A pipeline's parameters as options of `flowc run`. They only carry texts: what these mean is `flowc.api`'s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import click

from flowc.emit.text import printable, shown_value
from flowc.errors import UsageError
from flowc.ir import Parameter
from flowc.types.model import ScalarType, Type, UnionType

# Of destinations, so that a parameter `target` is not the argument TARGET.
_GIVEN = "parameter_"
_NEGATED = "no_parameter_"


def parameter_options(parameters: Sequence[Parameter], taken: Set[str]) -> Iterator[click.Option]:
    """Return the parameters' options. What has a name that is `taken` gets none, and is given by `-p NAME=VALUE`."""
    for parameter in parameters:
        if not _has_option(parameter, taken):
            continue
        # A flag takes a value or stands by itself: --shuffle, --shuffle true, --no-shuffle.
        flag: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if _is_flag(parameter.type) else {}
        names = [_GIVEN + parameter.name, *_spellings(parameter.name)]
        yield click.Option(names, type=str, hidden=True, **flag)
        if negations := _negations(parameter, parameters, taken):
            yield click.Option([_NEGATED + parameter.name, *negations], is_flag=True, hidden=True)


def parameter_help(parameters: Sequence[Parameter], taken: Set[str]) -> list[tuple[str, str]]:
    """Return for each parameter how it is given, and its description with its default."""
    usages = [_usage(parameter, parameters, taken) for parameter in parameters]
    descriptions = [f"{each.description}  [{_default(each)}]".strip() for each in parameters]
    return list(zip(map(printable, usages), map(printable, descriptions), strict=True))


def given_texts(values: Mapping[str, Any], pairs: Iterable[str]) -> dict[str, str]:
    """Return the texts by parameter, from options and from `-p NAME=VALUE`; UsageError where one is given twice."""
    texts: dict[str, str] = {}
    for name, text in (*_from_options(values), *map(_pair, pairs)):
        if name in texts:
            raise UsageError(f"parameter '{name}' is given twice")
        texts[name] = text
    return texts


def _from_options(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if key.startswith(_GIVEN) and value is not None:
            yield key.removeprefix(_GIVEN), value
        elif key.startswith(_NEGATED) and value:
            yield key.removeprefix(_NEGATED), "false"


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"-p {text} has no value", hint=f"write -p {text}=VALUE")
    return name, value


def _spellings(name: str) -> list[str]:
    return sorted({f"--{name}", f"--{name.replace('_', '-')}"})


def _has_option(parameter: Parameter, taken: Set[str]) -> bool:
    return parameter.name.isidentifier() and taken.isdisjoint(_spellings(parameter.name))


def _is_flag(type_: Type) -> bool:
    match type_:
        case ScalarType(name=name):
            return name == "bool"
        case UnionType(options=options):
            return {getattr(option, "name", "") for option in options} == {"bool", "none"}
    return False


def _negations(parameter: Parameter, parameters: Sequence[Parameter], taken: Set[str]) -> list[str]:
    """Return what denies a flag, unless it is the name of something else."""
    if not _is_flag(parameter.type) or any(other.name == f"no_{parameter.name}" for other in parameters):
        return []
    negations = _spellings(f"no_{parameter.name}")
    return negations if taken.isdisjoint(negations) else []


def _usage(parameter: Parameter, parameters: Sequence[Parameter], taken: Set[str]) -> str:
    if not _has_option(parameter, taken):
        return f"-p {parameter.name}={parameter.type}"
    name = f"--{parameter.name.replace('_', '-')}"
    if negations := _negations(parameter, parameters, taken):
        return f"{name} / {negations[0]}"
    return f"{name} {parameter.type}"


def _default(parameter: Parameter) -> str:
    return "required" if parameter.required else f"default: {shown_value(parameter.type, parameter.default)}"
