"""A gateway's share of an ask, by real relays: this machine stands for gateways and for the nodes behind them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.transport import Asking, NodeSpec, ask
from fabricdoc.transport import branch as module
from fabricdoc.transport.answer import Question
from fabricdoc.transport.branch import Branch, branches_for

pytestmark = pytest.mark.unit

ECHO = {"do": "echo", "value": 7}
SAID = {"event": "echo", "value": 7}
# a gateway's python that says what a test wants in place of a relay: its last word is the nonce of this start
SPEAKING = """#!{python} -IS
import os, sys
nonce = sys.argv[-1]
def say(text):
    os.write(1, ("\\n\\x1e" + nonce + " " + text + "\\n").encode())
say('{{"event":"started","pid":%d,"start":1}}' % os.getpid())
{code}
while os.read(0, 65536):
    pass
"""


def gateway(name: str = "gw1", **changes: Any) -> NodeSpec:
    return NodeSpec(name, "local", **changes)


def leaves(count: int, *levels: Sequence[NodeSpec]) -> list[NodeSpec]:
    via = tuple(tuple(level) for level in levels)
    return [NodeSpec(f"n{number}", "local", via=via) for number in range(count)]


def speaking(folder: Path, code: str, name: str = "liar") -> NodeSpec:
    program = folder / name
    program.write_text(SPEAKING.format(python=sys.executable, code=code))
    program.chmod(0o755)
    return gateway(name, python=str(program))


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.long
def test_nodes_behind_gateways_answer_in_their_order_beside_direct_ones(payload: bytes) -> None:
    before = children()
    behind = leaves(3, [gateway("gw1"), gateway("gw2")])
    nodes = [behind[0], NodeSpec("direct", "local"), *behind[1:]]
    answers = ask(nodes, "echo", ECHO, deadline_s=30, payload=payload)
    assert [answer.node for answer in answers] == nodes
    assert [answer.message for answer in answers] == [SAID] * 4
    assert all(0 < answer.seconds < 30 for answer in answers)
    assert children() == before


@pytest.mark.long
def test_they_run_below_the_gateway_and_not_here(payload: bytes) -> None:
    nodes = [*leaves(1, [gateway(env={"WHERE": "on the gateway"})]), NodeSpec("direct", "local")]
    behind, direct = ask(nodes, "echo", {"do": "facts"}, deadline_s=30, payload=payload)
    assert behind.message is not None and direct.message is not None
    assert behind.message["env"]["WHERE"] == "on the gateway"
    assert "WHERE" not in direct.message["env"]


@pytest.mark.long
def test_the_probes_of_the_project_go_there_too() -> None:
    request = {"do": "scan", "deadline_s": 20, "cuda": False, "hash": False}
    (answer,) = ask(leaves(1, [gateway()]), "scan", request, deadline_s=60)
    assert answer.error is None and answer.message is not None and answer.message["event"] == "result"


@pytest.mark.long
def test_two_levels_of_gateways(payload: bytes) -> None:
    (answer,) = ask(leaves(1, [gateway()], [gateway("sub1")]), "echo", ECHO, deadline_s=30, payload=payload)
    assert (answer.message, answer.error) == (SAID, None)


@pytest.mark.long
def test_what_one_node_lacks_is_told_and_the_others_stand(payload: bytes) -> None:
    first, second = leaves(2, [gateway()])
    broken = replace(first, python="/no/python")
    failed, fine = ask([broken, second], "echo", ECHO, deadline_s=30, payload=payload)
    assert failed.error is not None and failed.error.id == "python-missing"
    assert failed.error.message.startswith("n0: through gw1: /no/python can't be run")
    assert fine.message == SAID


@pytest.mark.long
def test_a_late_node_is_ended_there_and_the_others_stand(payload: bytes, tmp_path: Path) -> None:
    first, second = leaves(2, [gateway()])
    late = replace(first, env={"NOTE": str(tmp_path / "pid")})
    stopped, fine = ask([late, second], "echo", {"do": "stop-if-noted"}, deadline_s=4, payload=payload)
    assert stopped.error is not None and stopped.error.id == "node-timeout"
    assert fine.message == {"event": "fine"}
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()


@pytest.mark.long
def test_another_gateway_takes_over_from_one_that_fails(payload: bytes) -> None:
    nodes = leaves(2, [gateway("gw1", python="/no/python"), gateway("gw2")])
    assert [each.message for each in ask(nodes, "echo", ECHO, deadline_s=30, payload=payload)] == [SAID] * 2


@pytest.mark.long
def test_without_another_one_every_node_says_why(payload: bytes) -> None:
    nodes = leaves(2, [gateway("gw1", python="/no/one"), gateway("gw2", python="/no/two")])
    answers = ask(nodes, "echo", ECHO, deadline_s=30, payload=payload)
    assert [answer.error and answer.error.id for answer in answers] == ["gateway-failed"] * 2
    error = answers[1].error
    assert error is not None
    assert error.message.startswith("n1: no gateway leads to it: gw1: /no/one can't be run")
    assert error.message.endswith("; and 1 more") and "python" in error.fix


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('say(\'{"event":"answer","name":"n7"}\')', "an answer of no node that it was asked for"),
        ('say(\'{"event":"answer","name":["n0"]}\')', "an answer of no node that it was asked for"),
        ('say(\'{"event":"answer","name":"n0"}\')', "a time that is none"),
        ('say(\'{"event":"hello","name":"n0"}\')', "an answer of no node"),
        ("say('[1]')", "not an object"),
        ("say('{\"a\":NaN}')", "no JSON"),
        ("sys.exit(3)", "the relay probe ended with status 3"),
        ("os.kill(os.getpid(), 9)", "the relay probe was ended by signal 9"),
    ],
)
def test_a_gateway_that_lies_or_dies_is_given_up(code: str, words: str, payload: bytes, tmp_path: Path) -> None:
    (answer,) = ask(leaves(1, [speaking(tmp_path, code)]), "echo", ECHO, deadline_s=30, payload=payload)
    assert answer.message is None and answer.error is not None
    assert answer.error.id == "gateway-failed" and words in answer.error.message


def test_nobody_answers_twice(payload: bytes, tmp_path: Path) -> None:
    line = '{"event":"answer","name":"n0","message":"{}","error":null,"stderr":"","seconds":1,"ago":1}'
    twice = speaking(tmp_path, f"say('{line}')\nsay('{line}')")
    first, second = ask(leaves(2, [twice]), "echo", ECHO, deadline_s=30, payload=payload)
    assert (first.message, first.error) == ({}, None)
    assert second.error is not None and "no node that it was asked for" in second.error.message


@pytest.mark.long
def test_what_a_gateway_answered_before_it_fell_stands(payload: bytes, tmp_path: Path) -> None:
    line = '{"event":"answer","name":"n0","message":"{}","error":null,"stderr":"","seconds":1,"ago":1}'
    falls = speaking(tmp_path, f"say('{line}')\nsys.exit(1)")
    first, second = ask(leaves(2, [falls, gateway("gw2")]), "echo", ECHO, deadline_s=30, payload=payload)
    assert (first.message, second.message) == ({}, SAID)


@pytest.mark.long
def test_a_silent_gateway_is_given_up(payload: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAD_S", 0.2)
    monkeypatch.setattr(Branch, "grace_s", 0.2)
    begun = time.monotonic()
    (answer,) = ask(leaves(1, [speaking(tmp_path, "")]), "echo", ECHO, deadline_s=0.2, payload=payload)
    assert answer.error is not None and "did not answer within 0.4 s" in answer.error.message
    assert time.monotonic() - begun < 20


@pytest.mark.long
def test_a_gateway_where_nothing_starts_is_given_up(
    payload: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "START_S", 0.3)
    hangs = tmp_path / "python"
    hangs.write_text("#!/bin/sh\nexec sleep 50\n")
    hangs.chmod(0o755)
    nodes = leaves(1, [gateway(python=str(hangs))])
    (answer,) = ask(nodes, "echo", ECHO, deadline_s=20, payload=payload)
    assert answer.error is not None and "nothing of ours started there within 0.3 s" in answer.error.message


@pytest.mark.long
def test_given_up_it_ends_what_it_started_there(payload: bytes, tmp_path: Path) -> None:
    before = children()
    note = tmp_path / "pid"
    asking = Asking(
        [replace(leaves(1, [gateway()])[0], env={"NOTE": str(note)})],
        "echo",
        {"do": "stop-if-noted"},
        deadline_s=60,
        payload=payload,
    )
    end = time.monotonic() + 60
    while not (note.exists() and note.read_text()):
        assert asking.turn() == [] and time.monotonic() < end
    asking.end()
    assert not Path(f"/proc/{note.read_text()}").exists()
    assert children() == before


def shares(nodes: Sequence[NodeSpec]) -> dict[str, int]:
    question = Question("echo", ECHO, 1.0, payload=b"p", carrier=b"c")
    return {each.channel.node.name: len(each._nodes) for each in branches_for(nodes, question)}


def test_gateways_share_evenly_and_few_nodes_need_few() -> None:
    level = [gateway(f"gw{number}") for number in range(4)]
    assert shares(leaves(3, level)) == {"gw0": 3}
    assert shares(leaves(9, level)) == {"gw0": 4, "gw1": 5}
    assert shares(leaves(1000, level)) == {"gw0": 250, "gw1": 250, "gw2": 250, "gw3": 250}


def test_levels_of_the_same_names_are_one() -> None:
    nodes = [*leaves(2, [gateway()]), replace(leaves(1, [gateway()])[0], name="other")]
    assert shares(nodes) == {"gw1": 3}


def test_a_gateway_that_failed_once_is_asked_no_more() -> None:
    question = Question("echo", ECHO, 1.0, payload=b"p", carrier=b"c")
    dead = {"gw2": NodeError("gw2: gone", id="node-lost")}
    level = [gateway("gw1"), gateway("gw2"), gateway("gw3")]
    branch = Branch(level[0], leaves(2, level), question, dead)
    branch.channel.fail(NodeError("gw1: gone too", id="node-lost"))
    followers, lost = branch.followers()
    assert [each.channel.node.name for each in followers] == ["gw3"] and lost == []
    assert branch.followers() == ([], [])
