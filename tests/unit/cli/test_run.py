"""`run`: the gate's words reach the gate, its answer is the end unless it is go, and what follows is the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricdoc import workflow
from fabricdoc.cli import main
from fabricdoc.cli.app import build_app
from fabricdoc.model.gate import Gate
from fabricdoc.tuning import preset_to_toml
from tests.unit.export.presets_made import pair

pytestmark = pytest.mark.unit


class Gated:
    """Stands for the gate and for exec: keeps what each was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
        self.asked: Any = None
        self.started: Any = None
        self.answer = answer
        monkeypatch.setattr(workflow, "check_gate", self.check, raising=False)
        monkeypatch.setattr(workflow, "take_place", self.take, raising=False)

    def check(self, asked: Any, _progress: Any) -> Gate:
        self.asked = asked
        return Gate.model_validate({"preset": "pair", "answer": self.answer, "reason": "because"})

    def take(self, start: Any, _files: Any) -> int:
        self.started = start
        return 0


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(preset_to_toml(pair()))
    return "p.toml"


def run(file: str, *words: str) -> int:
    return main(["run", "--preset", file, "--node", "spark2", *words])


def test_a_go_starts_the_command_with_its_words_and_says_what_it_set(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gated = Gated(monkeypatch, "go")
    monkeypatch.setenv("NCCL_NET", "Socket")
    assert run(file, "--", "true", "--level", "x", "--json") == 0
    start = gated.started
    assert (start.node, start.command) == ("spark2", ("true", "--level", "x", "--json"))
    assert start.environment["NCCL_NET"] == "IB"
    said = capsys.readouterr()
    assert said.out == "", "stdout is the command's"
    assert "go: because" in said.err and "replaced NCCL_NET: was Socket, is IB" in said.err


def test_without_two_dashes_the_first_word_ends_the_options(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = Gated(monkeypatch, "go")
    assert run(file, "true", "--node", "x") == 0
    assert gated.started.command == ("true", "--node", "x")


@pytest.mark.parametrize(("answer", "status"), [("no-go", 1), ("could-not-tell", 3), ("node-failed", 4)])
def test_anything_but_a_go_is_the_end_with_the_gates_status_and_document(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, status: int
) -> None:
    gated = Gated(monkeypatch, answer)
    assert run(file, "--json", "--", "true") == status
    assert gated.started is None
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["answer"]) == ("fabricdoc/gate/1", answer)


def test_the_gates_own_words_reach_it(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = Gated(monkeypatch, "go")
    words = ["--level", "full", "--waive", "memory=tested by hand", "--drift", "report", "--port", "4711"]
    assert run(file, *words, "--deadline", "33", "--", "true", "serve") == 0
    asked = gated.asked
    assert (asked.level, asked.drift, asked.ports, asked.deadline_s) == ("full", "report", (4711,), 33.0)
    assert dict(asked.waived) == {"memory": "tested by hand"}
    assert (asked.launch, asked.local) == (("true", "serve"), "")
    assert asked.preset == pair()


def test_local_is_about_the_node_that_is_started(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = Gated(monkeypatch, "go")
    assert run(file, "--local", "--hardware", "memory", "--", "true") == 0
    assert (gated.asked.local, gated.asked.hardware) == ("spark2", ("memory",))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "no-such-program"], "no such program"),
        (["--level", "deep", "--", "true"], "--level"),
        (["--waive", "no-such=x", "--", "true"], "no such check"),
        (["--hardware", "memory", "--", "true"], "--local"),
        ([], "COMMAND"),
    ],
)
def test_wrong_words_ask_no_node(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    gated = Gated(monkeypatch, "go")
    assert run(file, *words) == 2
    assert gated.asked is None
    assert said in " ".join(capsys.readouterr().err.split())


def test_without_a_preset_there_is_nothing_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gated = Gated(monkeypatch, "go")
    assert main(["run", "--preset", "none", "--", "true"]) == 2
    assert gated.asked is None and "--preset none" in capsys.readouterr().err


def test_there_is_no_way_around_the_gate() -> None:
    import typer.main

    one = typer.main.get_command(build_app()).commands["run"]  # type: ignore[attr-defined]
    names = {name for option in one.params for name in option.opts}
    assert not {name for name in names if "no-gate" in name or "force" in name or "skip" in name}
    assert {"--waive", "--keep-env", "--level", "--local"} <= names
