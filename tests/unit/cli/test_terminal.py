"""The screen of a command knows the words it was called with, and the store they name."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from fabricdoc.cli import terminal
from fabricdoc.model.verdict import Verdict

pytestmark = pytest.mark.unit

FIELDS: dict[str, Any] = {
    "run": "r",
    "objective": "mix",
    "profile": "p",
    "backend": "gloo",
    "choice": "base",
    "reason": "Keep base.",
    "conclusive": True,
    "blocks": 6,
    "floor": 0.0,
    "smallest_effect": 0.0,
}


@pytest.mark.parametrize(
    ("words", "store"),
    [
        (["recommend"], ""),
        (["recommend", "--store", "a b.sqlite"], "a b.sqlite"),
        (["recommend", "--store=x.sqlite", "--json"], "x.sqlite"),
        (["recommend", "--store="], ""),
        (["recommend", "--store"], ""),
        (["run", "--", "server", "--store", "its-own"], ""),
        (["run", "--store", "mine", "--", "server", "--store", "its-own"], "mine"),
    ],
)
def test_the_store_that_the_words_name(capsys: pytest.CaptureFixture[str], words: list[str], store: str) -> None:
    terminal.begin(words)
    try:
        assert terminal.typed() == tuple(words)
        terminal.screen(as_json=False).document(Verdict.model_validate(FIELDS))
    finally:
        terminal.begin()
    (said,) = [row.strip() for row in capsys.readouterr().err.splitlines() if "export-env" in row]
    assert shlex.split(said) == ["fabricdoc", "export-env", "-o", ".", *(["--store", store] if store else [])]


def test_a_new_command_knows_nothing_of_the_one_before() -> None:
    terminal.begin(["recommend", "--store", "x"])
    terminal.begin(["recommend"])
    assert terminal.typed() == ("recommend",)
    terminal.begin()
    assert terminal.typed() == ()
