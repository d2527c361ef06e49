"""Parameters as options, where their names or values are awkward."""

from __future__ import annotations

import click
import pytest

from flowc.cli.options import given_texts, parameter_help, parameter_options
from flowc.errors import UsageError
from flowc.ir import Parameter
from flowc.types.model import ScalarType

TAKEN = frozenset(("--runner", "--no-cache"))


def parsed(parameters: list[Parameter], *args: str) -> dict[str, str]:
    """Return the texts that click makes of the arguments."""
    command = click.Command("run", params=list(parameter_options(parameters, TAKEN)))
    return given_texts(command.make_context("run", list(args)).params, ())


def parameter(name: str, kind: str = "str") -> Parameter:
    return Parameter(name=name, type=ScalarType.model_validate({"name": kind}), required=False, default=None)


@pytest.mark.parametrize(
    ("args", "texts"),
    [
        (["--min-auc", "x"], {"min_auc": "x"}),
        (["--min_auc=x"], {"min_auc": "x"}),
        (["--min-auc", ""], {"min_auc": ""}),
        (["--min-auc", "-1"], {"min_auc": "-1"}),
        (["--target", "t", "--help_", "h"], {"target": "t", "help_": "h"}),
    ],
)
def test_spellings(args: list[str], texts: dict[str, str]) -> None:
    assert parsed([parameter("min_auc"), parameter("target"), parameter("help_")], *args) == texts


def test_a_flag_is_not_denied_by_what_another_parameter_or_option_is_called() -> None:
    parameters = [parameter("shuffle", "bool"), parameter("no_shuffle", "bool"), parameter("cache", "bool")]
    assert parsed(parameters, "--no-shuffle", "--cache") == {"no_shuffle": "true", "cache": "true"}
    assert parsed(parameters, "--no-no-shuffle", "--shuffle=no") == {"no_shuffle": "false", "shuffle": "no"}
    with pytest.raises(click.NoSuchOption):
        parsed(parameters, "--no-cache")
    shown = [usage for usage, _ in parameter_help(parameters, TAKEN)]
    assert shown == ["--shuffle bool", "--no-shuffle / --no-no-shuffle", "--cache bool"]


def test_what_has_no_option_is_given_as_a_pair() -> None:
    parameters = [parameter("runner"), parameter("a b"), parameter("x\x1b[2J")]
    assert list(parameter_options(parameters, TAKEN)) == []
    shown = [usage for usage, _ in parameter_help(parameters, TAKEN)]
    assert shown == ["-p runner=str", "-p a b=str", "-p x\\x1b[2J=str"]
    assert given_texts({}, ["runner=a=b", "a b="]) == {"runner": "a=b", "a b": ""}
    with pytest.raises(UsageError, match="'runner' is given twice"):
        given_texts({}, ["runner=a", "runner=a"])
