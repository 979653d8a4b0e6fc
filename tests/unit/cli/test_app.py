"""The command table: it names every command once, and one command built alone is the same as among all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from fabricdoc.cli import app, main

pytestmark = pytest.mark.unit

NAMES = [name for names in app.MODULES.values() for name in names]


def commands(word: str = "") -> dict[str, Any]:
    return dict(typer.main.get_command(app.build_app(word)).commands)  # type: ignore[attr-defined]


def test_the_table_names_every_command_and_every_module() -> None:
    assert sorted(commands()) == sorted(NAMES) and len(set(NAMES)) == len(NAMES)
    folder = Path(app.__file__).parent / "commands"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(app.MODULES)


@pytest.mark.parametrize("name", NAMES)
def test_one_command_alone_is_what_it_is_among_all(name: str) -> None:
    alone = commands(name)
    assert name in alone and len(alone) <= 2
    parameters = [[one.name for one in found[name].params] for found in (alone, commands())]
    assert parameters[0] == parameters[1]


@pytest.mark.parametrize("word", ["", "--help", "--json", "nothing", "-h"])
def test_any_other_word_builds_all(word: str) -> None:
    assert sorted(commands(word)) == sorted(NAMES)


def test_a_word_that_is_no_command_names_those_that_are_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lnit"]) == 2
    assert "No such command" in capsys.readouterr().err
