"""A gate put together: what is judged, how deep it goes, that it is kept, and that the history can't break it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fabricdoc import store
from fabricdoc.errors import StoreError, UsageError
from fabricdoc.gate import Looked
from fabricdoc.model.fabric import Fabric, FailedNode
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import Gate, GateCheck
from fabricdoc.model.preset import NodePreset, Preset
from fabricdoc.store import last_gate, list_gates
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow import checking, gate_looking
from fabricdoc.workflow.checking import Added, Asked, check_drift, check_gate, check_level

pytestmark = pytest.mark.unit

NODES = (NodeSpec("alpha", "local"),)


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fabric], list[Any]]:
    """The nodes look like this; what was asked is listed."""

    def put(fabric: Fabric) -> list[Any]:
        asked: list[Any] = []

        def look(one: Asked, floors: Any, meanwhile: Callable[[], Gate | None], _progress: Any) -> Looked:
            asked.append((one, floors, meanwhile()))
            return Looked(fabric=fabric, preset=one.preset, now=datetime.now(UTC))

        monkeypatch.setattr(gate_looking, "look_quickly", look)
        return asked

    return put


def failing() -> Fabric:
    return Fabric(failed=(FailedNode(name="alpha", target="local", id="ssh", message="no route", fix="mend it"),))


def preset() -> Preset:
    words = dict.fromkeys(("run", "objective", "choice", "reason", "exercised"), "")
    nodes = (NodePreset(name="alpha", target="local"),)
    return Preset.model_validate({**words, "name": "pair", "profile": "tiny", "backend": "nccl", "nodes": nodes})


def test_a_level_that_is_none_is_refused_with_those_there_are() -> None:
    assert check_level("quick") == "quick"
    with pytest.raises(UsageError) as caught:
        check_level("deep")
    assert "quick" in caught.value.fix


def test_drift_is_reported_or_fails() -> None:
    assert (check_drift("report"), check_drift("fail")) == ("report", "fail")
    with pytest.raises(UsageError) as caught:
        check_drift("ignore")
    assert "--drift report" in caught.value.fix


def test_every_level_there_is_has_its_modules() -> None:
    for steps in checking.LEVELS.values():
        for step in steps:
            assert callable(__import__(f"fabricdoc.workflow.{step}", fromlist=["deepen"]).deepen)


def test_a_gate_is_kept_with_an_id_and_its_time(looking: Any, tmp_path: Path) -> None:
    looking(Fabric())
    store = tmp_path / "s.sqlite"
    gate = check_gate(Asked(None, NODES, store=store, deadline_s=7.0))
    assert (gate.answer, gate.level, gate.deadline_s, gate.preset) == ("go", "quick", 7.0, "")
    assert 0 <= gate.seconds < 5
    assert [one.id for one in list_gates(store)] == [gate.id]


def test_a_gate_that_shall_not_be_kept_leaves_no_file(looking: Any, tmp_path: Path) -> None:
    looking(Fabric())
    check_gate(Asked(None, NODES, store=tmp_path / "s.sqlite", keep=False))
    assert list(tmp_path.iterdir()) == []


def test_a_gate_that_is_kept_says_nothing_of_it(looking: Any, tmp_path: Path) -> None:
    looking(Fabric())
    gate = check_gate(Asked(None, NODES, store=tmp_path / "s.sqlite"))
    assert "history" not in {one.id for one in gate.checks}


def test_a_store_that_fails_is_told_and_refuses_nothing(
    looking: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    looking(Fabric())

    def full(*_: Any) -> None:
        raise StoreError("no space left")

    monkeypatch.setattr(store, "keep_gate", full)
    monkeypatch.setattr(store, "last_gate", full)
    gate = check_gate(Asked(None, NODES, store=tmp_path / "s.sqlite"))
    assert gate.answer == "go"
    (told,) = [one for one in gate.checks if one.id == "history"]
    assert (told.outcome, told.found, told.who) == ("noted", "not kept: no space left", "launcher")
    assert "--store FILE" in told.fix[0]


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + bytes(300), b"\xff" * 5000])
def test_a_store_that_is_none_is_told_and_stays_as_it_is(looking: Any, tmp_path: Path, content: bytes) -> None:
    """It may be somebody's file; an empty one is a store that was not begun."""
    looking(Fabric())
    place = tmp_path / "s.sqlite"
    place.write_bytes(content)
    gate = check_gate(Asked(None, NODES, store=place))
    assert gate.answer == "go"
    assert ("history" in {one.id for one in gate.checks}) is bool(content)
    assert (place.read_bytes() == content) is bool(content)


def test_a_gate_in_the_store_that_can_not_be_read_is_as_none(looking: Any, tmp_path: Path) -> None:
    asked = looking(Fabric(nodes=(), failed=()))
    place = tmp_path / "s.sqlite"
    for _ in range(2):
        check_gate(Asked(None, (), store=place))
    assert asked[-1][2] is not None
    with closing(sqlite3.connect(place)) as connection:
        for document in ("{", "[" * 3000, "\udcff".encode("utf-8", "surrogatepass"), "{}", 5, None):
            connection.execute("UPDATE gates SET document = ?", ("" if document is None else document,))
            connection.commit()
            gate = check_gate(Asked(None, (), store=place, keep=False))
            assert (gate.answer, asked[-1][2]) == ("go", None)


def test_the_last_gate_of_the_same_nodes_is_handed_on(looking: Any, tmp_path: Path) -> None:
    asked = looking(Fabric(failed=failing().failed))
    store = tmp_path / "s.sqlite"
    first = check_gate(Asked(None, NODES, store=store))
    check_gate(Asked(None, NODES, store=store))
    check_gate(Asked(None, (NodeSpec("beta", "local"),), store=store))
    assert [before and before.id for _one, _floors, before in asked] == [None, first.id, None]


def test_a_failed_node_is_4_with_a_preset_and_1_without(looking: Any, tmp_path: Path) -> None:
    looking(failing())
    assert check_gate(Asked(None, NODES, keep=False)).answer == "no-go"
    assert check_gate(Asked(preset(), NODES, keep=False)).answer == "could-not-tell"  # no fingerprint


class Deeper:
    """A level of two steps, of which the first answers as it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, added: Added) -> None:
        self.ran: list[str] = []
        for name, answer in (("gate_first", added), ("gate_second", Added())):
            module = ModuleType(f"fabricdoc.workflow.{name}")
            module.deepen = self._step(name, answer)
            monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(checking, "LEVELS", {"quick": (), "full": ("gate_first", "gate_second")})

    def _step(self, name: str, answer: Added) -> Callable[..., Added]:
        def deepen(_asked: Asked, _fabric: Fabric, _progress: Any) -> Added:
            self.ran.append(name)
            return answer

        return deepen


def test_a_deeper_level_adds_its_checks(looking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looking(Fabric())
    check = GateCheck(id="latency", node="alpha", outcome="ok", expected="20 us", found="19 us")
    deeper = Deeper(monkeypatch, Added((check,)))
    gate = check_gate(Asked(None, NODES, level="full", keep=False))
    assert deeper.ran == ["gate_first", "gate_second"]
    assert gate.checks[-1].id == "latency"
    assert (gate.answer, gate.level) == ("go", "full")


def test_the_next_step_is_not_taken_after_a_no(looking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looking(Fabric())
    check = GateCheck(id="latency", node="alpha", outcome="differs", expected="20 us", found="90 us", fix=("mend it",))
    why = Finding(id="smoke-slow", severity="error", subject="alpha", cause="alpha is slow", fix=("mend it",))
    deeper = Deeper(monkeypatch, Added((check,), (why,)))
    gate = check_gate(Asked(None, NODES, level="full", keep=False))
    assert deeper.ran == ["gate_first"]
    assert (gate.answer, gate.findings) == ("no-go", (why,))
    assert gate.reason.startswith("alpha is slow")


def test_nothing_deeper_is_tried_where_the_quick_one_refuses(looking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looking(failing())
    deeper = Deeper(monkeypatch, Added())
    assert check_gate(Asked(None, NODES, level="full", keep=False)).answer == "no-go"
    assert deeper.ran == []


def test_the_time_runs_from_the_beginning() -> None:
    asked = Asked(None, NODES, deadline_s=5.0)
    assert 4.0 < asked.left() <= 5.0
    assert Asked(None, NODES, deadline_s=5.0, begun=asked.begun - 9).left() == 0.0


def test_last_gate_of_a_store_without_gates(tmp_path: Path) -> None:
    assert last_gate(["alpha"], tmp_path / "none.sqlite") is None


LOADED = """
import json, sys
from fabricdoc.workflow import checking, gate_looking, gate_words
first = [name for name in sys.modules if name.startswith("fabricdoc.")]
checking._meanwhile(checking.Asked(None))
print(json.dumps([first, [name for name in sys.modules if name.startswith("fabricdoc.")]]))
"""


def test_a_quick_gate_loads_what_it_needs_when_it_needs_it(tmp_path: Path) -> None:
    """A launcher's first second: nodes are asked before what judges is loaded, and launches, models of servers and
    files of variables are other gates' matter."""
    root, env = Path(__file__).resolve().parents[3], {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=root, env=env, capture_output=True, text=True, timeout=60, check=True
    )
    first, then = json.loads(done.stdout)
    later = [f"fabricdoc.{name}" for name in checking.LATER]
    assert "fabricdoc.workflow.gate_looking" in first
    assert [name for name in later if name in first or name not in then] == []
    rooms = ("bench", "tuning", "serving", "nccl.lint", "workflow.delivering", "workflow.recommending", "demo")
    assert [name for name in then if name.removeprefix("fabricdoc.").startswith(rooms)] == []
