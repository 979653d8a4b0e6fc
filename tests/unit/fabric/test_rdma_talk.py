"""The conversation: rounds in their order, deadlines, nodes that vanish, and messages of another round passed over."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.fabric import rdma_talk
from fabricdoc.fabric.rdma_answers import Failure
from fabricdoc.fabric.rdma_pairs import End, Pair
from fabricdoc.fabric.rdma_talk import NOT_BEGUN, Talk
from tests.rdma_wire import Probes, Wires

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

LIMITS = {"greet_s": 1.0, "answer_s": 1.0, "answer_each_s": 0.1, "wait_s": 2.0, "all_s": 60.0}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdma_talk, "ping_limit", LIMITS.__getitem__)


def end(node: str) -> End:
    return End(node, "p0", "hca0", 1, 3, f"::ffff:10.0.0.{ord(node[0]) % 90}")


def pair(number: int, a: str, b: str) -> Pair:
    return Pair(number, end(a), end(b))


def test_every_step_is_asked_in_its_order_with_the_round() -> None:
    wires = Wires()
    with Probes(wires, ["a", "b"]) as probes:
        talk = Talk(probes)  # type: ignore[arg-type]
        talk.greet()
        (found,) = talk.run([[pair(7, "a", "b")]])
    assert talk.able == {"a": "made up", "b": "made up"}
    assert not found.failed and found.path_mtu == 4096
    steps = [(node, message["do"], message["round"]) for node, message in probes.asked]
    assert [do for node, do, _round in steps if node == "a"] == ["open", "connect", "ping", "close"]
    assert {number for _node, _do, number in steps} == {1}
    assert wires.left == 0


def test_both_ends_get_one_token_and_opposite_sides() -> None:
    with Probes(Wires(), ["a", "b"]) as probes:
        talk = Talk(probes)  # type: ignore[arg-type]
        talk.greet()
        talk.run([[pair(7, "a", "b")]])
    told = {node: message["pairs"][0] for node, message in probes.asked if message["do"] == "ping"}
    assert told["a"]["token"] == told["b"]["token"]
    assert (told["a"]["side"], told["b"]["side"]) == (0, 1)


def test_rounds_follow_one_another_and_a_port_is_free_again() -> None:
    wires = Wires()
    with Probes(wires, ["a", "b", "c"]) as probes:
        talk = Talk(probes)  # type: ignore[arg-type]
        talk.greet()
        found = talk.run([[pair(1, "a", "b")], [pair(2, "a", "c")], [pair(3, "b", "c")]])
    assert [one.failed for one in found] == [False] * 3
    assert wires.left == 0


def test_a_node_that_died_in_the_first_round_is_not_waited_for_in_the_second() -> None:
    with Probes(Wires(), ["a", "b", "c"]) as probes:
        probes.dies = {"b": "open"}
        talk = Talk(probes)  # type: ignore[arg-type]
        talk.greet()
        found = talk.run([[pair(1, "a", "b")], [pair(2, "b", "c")], [pair(3, "a", "c")]])
    assert [one.failures[0] or one.failures[1] for one in found] == [
        Failure("silent", 0, "its probe ended"),
        Failure("silent", 0, "its probe ended"),
        None,
    ]


def test_an_answer_of_another_round_is_passed_over() -> None:
    def late(node: str, message: dict[str, Any]) -> dict[str, Any]:
        return {**message, "round": 99} if (node, message["event"]) == ("b", "opened") else message

    with Probes(Wires(), ["a", "b"]) as probes:
        probes.edit = late
        talk = Talk(probes)  # type: ignore[arg-type]
        talk.greet()
        (found,) = talk.run([[pair(1, "a", "b")]])
    assert found.failures[1] == Failure("silent", 0, "the RDMA ping probe did not answer in 1 s")


def test_no_round_begins_after_the_time_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "all_s", -1.0)
    with Probes(Wires(), ["a", "b"]) as probes:
        talk = Talk(probes)  # type: ignore[arg-type]
        talk.greet()
        (found,) = talk.run([[pair(1, "a", "b")]])
    assert found.failures == [Failure("silent", 0, NOT_BEGUN)] * 2


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"event": "able", "provider": "", "reasons": {"libibverbs": "cannot open"}}, "libibverbs: cannot open"),
        ({"event": "able", "provider": None, "reasons": "none"}, "it has no verbs"),
        ({"event": "able", "provider": ["x"]}, "it has no verbs"),
        ({"event": "closed", "message": "a: no python3"}, "no python3"),
        ({"event": "noise"}, "the RDMA ping probe did not answer in 1 s"),
    ],
)
def test_a_node_without_verbs_says_why(said: dict[str, Any], reason: str) -> None:
    with Probes(Wires(), ["a", "b"]) as probes:
        probes.heard.queue[0] = ("a", said)
        talk = Talk(probes)  # type: ignore[arg-type]
        talk.greet()
    assert talk.unable == {"a": reason}
    assert set(talk.able) == {"b"}


def test_a_node_whose_probe_did_not_start_is_lost_from_the_beginning() -> None:
    down = NodeError("c: no ssh connection", fix="look at c", id="ssh-unreachable")
    with Probes(Wires(), ["a", "b"]) as probes:
        talk = Talk(probes, {"c": down})  # type: ignore[arg-type]
        talk.greet()
        talk.end()
    assert (talk.unable, talk.lost) == ({"c": "no ssh connection"}, {"c": down})
    assert set(talk.able) == {"a", "b"}
    assert [message for _name, message in probes.asked] == [{"do": "end"}] * 2


def test_a_node_that_lacks_verbs_is_not_lost_and_one_that_ends_is() -> None:
    closed = {"event": "closed", "id": "ssh-broken", "message": "b: the connection broke", "fix": "look"}
    with Probes(Wires(), ["a", "b"]) as probes:
        probes.heard.queue[0] = ("a", {"event": "able", "provider": "", "reasons": {}})
        probes.heard.queue[1] = ("b", closed)
        talk = Talk(probes)  # type: ignore[arg-type]
        talk.greet()
    assert {name: (str(error), error.fix, error.id) for name, error in talk.lost.items()} == {
        "b": ("b: the connection broke", "look", "ssh-broken")
    }
    assert set(talk.unable) == {"a", "b"}


@pytest.mark.parametrize("when", ["while others are awaited", "later"])
def test_a_probe_that_ends_because_its_node_has_no_verbs_has_not_failed(when: str) -> None:
    """The real one says what it lacks and returns; to end it then is to talk to nobody."""
    lacking = ("a", {"event": "able", "provider": "", "reasons": {"libibverbs": "cannot open"}})
    closed = ("a", {"event": "closed", "id": "probe-failed", "message": "a: it ended", "fix": ""})
    with Probes(Wires(), ["a", "b", "c"]) as probes:
        probes.heard.queue.clear()
        able = [(name, {"event": "able", "provider": "made up", "reasons": {}}) for name in "bc"]
        for said in (lacking, closed, *able) if when == "while others are awaited" else (lacking, *able, closed):
            probes.heard.put(said)
        talk = Talk(probes)  # type: ignore[arg-type]
        talk.greet()
        talk.run([[pair(1, "b", "c")]])

        def gone(name: str, message: dict[str, Any]) -> None:
            raise NodeError(f"{name}: its probe is gone", id="node-closed")

        probes.send = gone  # type: ignore[method-assign]
        talk.end()
    assert talk.lost == {}
    assert talk.unable == {"a": "libibverbs: cannot open"}
