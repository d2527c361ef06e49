"""A pipeline's parameters as options of `flowc run`. They only carry texts: what these mean is `flowc.api`'s."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import click

from flowc.emit.text import printable, shown_value
from flowc.errors import UsageError
from flowc.ir import Parameter
from flowc.types.model import ScalarType, Type, UnionType

# Of destinations, so that a parameter `target` is not the argument TARGET.
_GIVEN = "parameter_"
_NEGATED = "no_parameter_"


def parameter_options(parameters: Iterable[Parameter], taken: Collection[str]) -> Iterator[click.Option]:
    """Return the parameters' options. What has a name that is `taken` gets none, and is given by `-p NAME=VALUE`."""
    named = [parameter for parameter in parameters if _has_option(parameter, taken)]
    used = {*taken, *(name for parameter in named for name in _spellings(parameter.name))}
    for parameter in named:
        # A flag takes a value or stands by itself: --shuffle, --shuffle true, --no-shuffle.
        flag: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if _is_flag(parameter.type) else {}
        yield click.Option(
            [_GIVEN + parameter.name, *_spellings(parameter.name)], type=str, hidden=True, **flag
        )
        negated = [name for name in _spellings(f"no_{parameter.name}") if name not in used]
        if flag and negated:
            yield click.Option([_NEGATED + parameter.name, *negated], is_flag=True, hidden=True)


def parameter_help(parameters: Iterable[Parameter], taken: Collection[str]) -> list[tuple[str, str]]:
    """Return for each parameter how it is given, and its description with its default."""
    return [
        (
            printable(_usage(parameter, taken)),
            printable(f"{parameter.description}  [{_default(parameter)}]".strip()),
        )
        for parameter in parameters
    ]


def given_texts(values: Mapping[str, Any], pairs: Iterable[str]) -> dict[str, str]:
    """Return the texts by parameter, from options and from `-p NAME=VALUE`; UsageError where one is given twice."""
    given = [
        (key.removeprefix(_GIVEN), text) for key, text in values.items() if key.startswith(_GIVEN) and text
    ]
    given += [
        (key.removeprefix(_NEGATED), "false") for key, no in values.items() if key.startswith(_NEGATED) and no
    ]
    given += map(_pair, pairs)
    texts = dict(given)
    for name in texts:
        if sum(name == other for other, _ in given) > 1:
            raise UsageError(f"parameter '{name}' is given twice")
    return texts


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"-p {text} has no value", hint=f"write -p {text}=VALUE")
    return name, value


def _spellings(name: str) -> list[str]:
    return sorted({f"--{name}", f"--{name.replace('_', '-')}"})


def _has_option(parameter: Parameter, taken: Collection[str]) -> bool:
    return parameter.name.isidentifier() and not any(name in taken for name in _spellings(parameter.name))


def _is_flag(type_: Type) -> bool:
    match type_:
        case ScalarType(name=name):
            return name == "bool"
        case UnionType(options=options):
            return {getattr(option, "name", "") for option in options} == {"bool", "none"}
    return False


def _usage(parameter: Parameter, taken: Collection[str]) -> str:
    if not _has_option(parameter, taken):
        return f"-p {parameter.name}={parameter.type}"
    name = parameter.name.replace("_", "-")
    return f"--{name} / --no-{name}" if _is_flag(parameter.type) else f"--{name} {parameter.type}"


def _default(parameter: Parameter) -> str:
    return "required" if parameter.required else f"default: {shown_value(parameter.type, parameter.default)}"
