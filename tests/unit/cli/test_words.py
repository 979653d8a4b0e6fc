"""The words of a command line: whose they are, and options without their value."""

from __future__ import annotations

import pytest
from typer.main import get_command

from fabricdoc.cli import main
from fabricdoc.cli.app import MODULES, build_app
from fabricdoc.cli.words import command_of, refuse_valueless
from fabricdoc.errors import UsageError

pytestmark = pytest.mark.unit


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(list(words))
    return status, " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["scan", "--nodes"], "--nodes"),
        (["cables", "--nodes"], "--nodes"),
        (["init", "--nodes"], "--nodes"),
        (["run", "--preset"], "--preset"),
        (["bench", "-n"], "-n"),
        (["lint", "a.env", "--scan"], "--scan"),
    ],
)
def test_an_option_at_the_end_leads_to_the_commands_own_help(
    words: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, told = said(capsys, *words)
    assert status == 2 and option in told
    assert told.endswith(f"fix: fabricdoc {words[0]} --help")


def test_a_command_of_a_group_has_its_own_help_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "runs", "show", "--store")[1].endswith("fix: fabricdoc runs show --help")
    assert said(capsys, "profile", "nope")[1].endswith("fix: fabricdoc profile --help")
    assert said(capsys, "nope")[1].endswith("fix: fabricdoc --help")


@pytest.mark.parametrize(
    ("words", "option", "following"),
    [
        (["bench", "--nodes", "--python", "X"], "--nodes", "--python"),
        (["scan", "--nodes", "--json"], "--nodes", "--json"),
        (["scan", "-n", "--save=x"], "-n", "--save=x"),
        (["run", "--preset", "--", "vllm", "serve"], "--preset", "--"),
        (["scan", "--save", "here", "--nodes", "--pyhton", "X"], "--nodes", "--pyhton"),
        (["runs", "list", "--store", "--json"], "--store", "--json"),
    ],
)
def test_an_option_whose_value_is_empty_is_named(
    words: list[str], option: str, following: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, told = said(capsys, *words)
    assert status == 2
    assert f"{option} got no value: the word behind it is {following}" in told
    assert "--help" in told


@pytest.mark.parametrize(
    "words",
    [
        ["profile", "derive", "--ep", "--tp", "2"],
        ["run", "--preset", "p.toml", "--", "vllm", "--nodes", "--json"],
        ["run", "--preset", "p.toml", "vllm", "--preset", "--json"],
        ["scan", "--nodes=--x"],
        ["scan", "--nodes", "-", "--json"],
        ["scan", "--nodes", "a -- b"],
        ["scan", "--json", "--nodes", "a"],
    ],
)
def test_what_has_its_value_or_needs_none_passes(words: list[str]) -> None:
    path, command, rest = command_of(get_command(build_app(words[0])), words)
    refuse_valueless(path, command, rest)


def test_every_command_is_found_by_its_words() -> None:
    for name in (name for names in MODULES.values() for name in names):
        path, command, rest = command_of(get_command(build_app(name)), [name, "x", "--json"])
        assert (path, rest) == (f"fabricdoc {name}", ("x", "--json"))
        with pytest.raises(UsageError, match="--fake got no value"):
            refuse_valueless(path, _with_fake(command), ["--fake", "--json"])


class _Fake:
    param_type_name, is_flag, count, opts = "option", False, False, ("--fake",)


def _with_fake(command: object) -> object:
    return type("Command", (), {"params": [*getattr(command, "params", []), _Fake()], "context_settings": {}})()
