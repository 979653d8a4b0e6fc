from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.transport import NodeSpec, ask
from fabricdoc.transport.channel import Channel
from fabricdoc.transport.poll import step

pytestmark = pytest.mark.unit

# the room's root names the function like the module
MODULE = sys.modules[ask.__module__]


def locals_(count: int) -> list[NodeSpec]:
    return [NodeSpec(f"n{number}", "local") for number in range(count)]


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.long
def test_answers_come_in_the_nodes_order_whatever_fails(payload: bytes) -> None:
    before = children()
    nodes = [NodeSpec("a", "local"), NodeSpec("b", "local", python="/no/python"), NodeSpec("c", "local")]
    answers = ask(nodes, "echo", {"do": "echo", "value": 7}, deadline_s=20, payload=payload)
    assert [answer.node for answer in answers] == nodes
    assert [answer.message for answer in answers] == [
        {"event": "echo", "value": 7},
        None,
        {"event": "echo", "value": 7},
    ]
    assert [answer.error and answer.error.id for answer in answers] == [None, "python-missing", None]
    assert all(answer.seconds < 20 for answer in answers)
    assert children() == before


@pytest.mark.long
def test_answers_say_when_their_question_was_put(payload: bytes) -> None:
    before = time.time()
    (answer,) = ask([NodeSpec("a", "local")], "echo", {"do": "echo", "value": 7}, deadline_s=20, payload=payload)
    assert before - 0.1 <= answer.asked_at <= time.time() - answer.seconds + 0.1


@pytest.mark.long
def test_a_probe_runs_inside_what_it_is_put_into(payload: bytes, tmp_path: Path) -> None:
    """The command of a container stands in the python's place, and gets the python's arguments."""
    box = tmp_path / "box"
    box.write_text(f'#!/bin/sh\nshift\nINSIDE=yes exec {sys.executable} "$@"\n')
    box.chmod(0o755)
    (answer,) = ask(
        [NodeSpec("a", "local")],
        "echo",
        {"do": "echo", "value": 7},
        deadline_s=20,
        payload=payload,
        inside=(str(box), "image"),
    )
    assert answer.message == {"event": "echo", "value": 7}


@pytest.mark.long
def test_a_late_node_is_killed_and_the_others_stand(payload: bytes, tmp_path: Path) -> None:
    before = children()
    nodes = [NodeSpec("late", "local", env={"NOTE": str(tmp_path / "pid")}), NodeSpec("fine", "local")]
    late, fine = ask(nodes, "echo", {"do": "stop-if-noted"}, deadline_s=1.5, payload=payload)
    assert late.message is None and late.error is not None
    assert (late.error.id, fine.message) == ("node-timeout", {"event": "fine"})
    assert "started but did not answer within 1.5 s" in late.error.message
    assert 1.5 <= late.seconds < 4
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
    assert children() == before


@pytest.mark.long
def test_a_probe_that_answers_and_does_not_end_costs_no_answer(payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "GRACE_S", 0.2)
    raw = 'PREFIX{"event":"one"}\nPREFIX{"event":"two"}\nPREFIX{nope\n'
    (answer,) = ask(locals_(1), "echo", {"do": "raw", "text": raw}, deadline_s=20, payload=payload)
    assert (answer.message, answer.error) == ({"event": "one"}, None)


@pytest.mark.long
def test_an_answer_without_one_is_explained(payload: bytes) -> None:
    died, broke = (
        ask(locals_(1), "echo", request, deadline_s=20, payload=payload)[0]
        for request in ({"do": "die", "status": 3}, {"do": "raw", "text": "PREFIX{nope\n"})
    )
    assert died.error is not None and died.error.id == "probe-failed"
    assert broke.error is not None and broke.error.id == "garbage"


@pytest.mark.long
def test_more_nodes_than_run_at_once_all_answer(payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "AT_ONCE", 2)
    answers = ask(locals_(5), "echo", {"do": "echo", "value": 1}, deadline_s=30, payload=payload)
    assert [answer.message for answer in answers] == [{"event": "echo", "value": 1}] * 5


@pytest.mark.long
def test_never_more_than_the_limit_run_at_once(payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "AT_ONCE", 2)
    real = step
    most = 0

    def counting(channels: list[Channel], timeout_s: float) -> None:
        nonlocal most
        most = max(most, len(children()))
        real(channels, timeout_s)

    monkeypatch.setattr(MODULE, "step", counting)
    before = len(children())
    ask(locals_(4), "echo", {"do": "echo", "value": 1}, deadline_s=30, payload=payload)
    assert most - before == 2


def test_names_used_twice_are_refused_before_anything_starts(payload: bytes) -> None:
    with pytest.raises(UsageError, match="two nodes"):
        ask([NodeSpec("a", "local"), NodeSpec("a", "local")], "echo", {}, deadline_s=1, payload=payload)


def test_a_node_that_can_not_be_used_ends_what_was_started(payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    before = children()
    for name in ("SLURM_JOB_ID", "SLURM_JOBID"):
        monkeypatch.delenv(name, raising=False)
    nodes = [NodeSpec("a", "local"), NodeSpec("b", "slurm:node01")]
    with pytest.raises(UsageError, match="no Slurm allocation"):
        ask(nodes, "echo", {}, deadline_s=10, payload=payload)
    assert children() == before


@pytest.mark.long
def test_an_interrupt_ends_what_was_started(payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    before = children()
    real = step
    steps = 0

    def interrupting(channels: object, timeout_s: float) -> None:
        nonlocal steps
        steps += 1
        real(channels, timeout_s)  # type: ignore[arg-type]
        if steps == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(MODULE, "step", interrupting)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ask(locals_(2), "echo", {"do": "stop"}, deadline_s=30, payload=payload)
    assert children() == before
    assert time.monotonic() - begun < 10


def test_the_real_probes_travel_by_default() -> None:
    (answer,) = ask(locals_(1), "no-such-probe", {}, deadline_s=20)
    assert answer.error is not None
    assert "not a probe: no-such-probe" in answer.error.message


def test_what_is_loaded_later_is_found_by_its_name() -> None:
    import fabricdoc.transport as room

    assert all(getattr(room, name) for name in room.__all__)
    with pytest.raises(AttributeError):
        room.nothing  # noqa: B018


def test_the_room_loads_nothing_heavy() -> None:
    heavy = "{'asyncio', 'pydantic', 'torch', 'zipfile', 'numpy'}"
    later = "{'fabricdoc.transport.' + name for name in fabricdoc.transport.LATER}"
    code = f"import sys, fabricdoc.transport; print(sorted(({heavy} | {later}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "[]\n"
