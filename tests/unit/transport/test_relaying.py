"""Between here and a gateway: orders arrive as they were, answers are read as from a stranger."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabricdoc.errors import NodeError, UsageError
from fabricdoc.transport import Answer, NodeSpec
from fabricdoc.transport import relaying as module
from fabricdoc.transport.answer import Question
from fabricdoc.transport.relaying import answer_words, order_for, read_answer, read_order

pytestmark = pytest.mark.unit

GATEWAY = NodeSpec("gw1", "gw1")
NODE = NodeSpec("n3", "me@n3:2222")
QUESTION = Question("scan", {"do": "scan", "deadline_s": 7}, 10.0, ("docker", "run"))


def over_the_wire(words: dict[str, Any]) -> dict[str, Any]:
    said = json.loads(json.dumps(words, allow_nan=False))
    assert isinstance(said, dict)
    return said


def answer(**changes: Any) -> Answer:
    return replace(Answer(NODE, {"event": "fine"}, None, "", 0.5, time.time() - 2), **changes)


def said(**changes: Any) -> dict[str, Any]:
    return {**over_the_wire(answer_words(answer())), **changes}


def test_an_order_arrives_as_it_was_given() -> None:
    sub = (NodeSpec("sub1", "sub1", python="python3.11"), NodeSpec("sub2", "root@sub2"))
    nodes = (
        NodeSpec("a", "me@a:22", python="/opt/python3", env={"PATH": "/x y"}, ssh_config="/here/only", via=(sub,)),
        NodeSpec("b", "b", user="you", image="vllm:1", container="vllm"),
    )
    question, read = read_order(over_the_wire(order_for(QUESTION, nodes)), b"zip", b"packed", b"carrier")
    assert question == replace(QUESTION, payload=b"zip", packed=b"packed", carrier=b"carrier")
    plain = tuple(replace(gateway, lingers=False) for gateway in sub)
    assert read[0] == replace(nodes[0], ssh_config="", via=(plain,), lingers=False)
    assert read[1] == replace(nodes[1], lingers=False)


def test_gateways_that_many_nodes_share_travel_once() -> None:
    way = (tuple(NodeSpec(f"sub{number}", f"sub{number}") for number in range(20)),)
    nodes = [NodeSpec(f"n{number}", f"n{number}", via=way) for number in range(100)]
    order = over_the_wire(order_for(QUESTION, nodes))
    assert len(order["ways"]) == 1
    _question, read = read_order(order, b"", b"", b"")
    assert len({id(node.via) for node in read}) == 1


@pytest.mark.parametrize("order", [{}, {"module": "scan"}, {**order_for(QUESTION, [NODE]), "nodes": [{"way": 9}]}])
def test_what_is_no_order_is_refused(order: dict[str, Any]) -> None:
    with pytest.raises((KeyError, IndexError, TypeError, ValueError)):
        read_order(order, b"", b"", b"")


def test_a_node_that_can_not_be_is_refused_on_the_gateway_too() -> None:
    order = over_the_wire(order_for(QUESTION, [NODE]))
    order["nodes"][0]["target"] = "-oProxyCommand=evil"
    with pytest.raises(UsageError):
        read_order(order, b"", b"", b"")


def test_an_answer_arrives_as_it_was() -> None:
    given_, before = answer(message={"event": "x", "text": 'a "quoted" ü \n\u2028'}, stderr="noise"), time.time()
    read = read_answer(GATEWAY, NODE, "scan", over_the_wire(answer_words(given_)))
    assert (read.node, read.message, read.error, read.stderr) == (NODE, given_.message, None, "noise")
    assert read.seconds == 0.5
    assert before - 2.5 <= read.asked_at <= time.time() - 1.5


def test_an_error_says_through_whom_it_was_seen() -> None:
    error = NodeError("n3: its ssh host key is not known here yet", fix="connect once: ssh n3", id="ssh-host-unknown")
    read = read_answer(GATEWAY, NODE, "scan", over_the_wire(answer_words(answer(message=None, error=error))))
    assert read.message is None and read.error is not None
    assert read.error.message == "n3: through gw1: its ssh host key is not known here yet"
    assert (read.error.fix, read.error.id) == ("on gw1: connect once: ssh n3", "ssh-host-unknown")


def test_what_is_to_be_done_on_the_node_is_not_put_on_the_gateway() -> None:
    error = NodeError("n3: python3 can't be run there", fix="install python3 there", id="python-missing")
    read = read_answer(GATEWAY, NODE, "scan", over_the_wire(answer_words(answer(message=None, error=error))))
    assert read.error is not None and read.error.fix == "install python3 there"


def test_two_levels_name_the_gateway_that_saw_it() -> None:
    error = NodeError("n3: through sub1: nothing listens", fix="on sub1: start sshd", id="ssh-refused")
    read = read_answer(GATEWAY, NODE, "scan", over_the_wire(answer_words(answer(message=None, error=error))))
    assert read.error is not None
    assert (read.error.message, read.error.fix) == ("n3: through sub1: nothing listens", "on sub1: start sshd")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no message"),
        ("[1]", "not an object"),
        ('{"a": NaN}', "no JSON"),
        ('{"a":' * 100000 + "1" + "}" * 100000, "no message"),
    ],
)
def test_a_node_whose_words_are_no_message_costs_its_own_answer(text: str, words: str) -> None:
    read = read_answer(GATEWAY, NODE, "scan", said(message=text))
    assert read.message is None and read.error is not None
    assert read.error.id == "garbage" and words in read.error.message and "n3" in read.error.message


def test_half_a_letter_is_none() -> None:
    assert read_answer(GATEWAY, NODE, "scan", said(message='{"a": "\ud800"}')).message == {"a": "?"}


@pytest.mark.parametrize(
    "changes",
    [
        {"message": ""},
        {"message": None},
        {"message": {"event": "x"}},
        {"error": {"id": "x", "message": "m", "fix": ""}},
        {"message": "", "error": {"id": "Not An Id", "message": "m", "fix": ""}},
        {"message": "", "error": {"id": "x" * 41, "message": "m", "fix": ""}},
        {"message": "", "error": {"id": "x", "message": 7, "fix": ""}},
        {"message": "", "error": ["x"]},
        {"stderr": None},
        {"seconds": "1"},
        {"seconds": -1},
        {"seconds": True},
        {"seconds": float("inf")},
        {"ago": 10**400},
        {"ago": None},
    ],
)
def test_a_gateway_that_says_something_else_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"none|neither"):
        read_answer(GATEWAY, NODE, "scan", said(**changes))


def test_a_gateways_words_are_bounded_and_printable() -> None:
    error = {"id": "x", "message": "n3: \x1b[2J" + "m" * 5000, "fix": "f\n" * 5000}
    read = read_answer(GATEWAY, NODE, "scan", said(message="", error=error, stderr="\ud800" + "e" * 10**6))
    assert read.error is not None
    assert read.error.message.startswith("n3: through gw1: ?[2Jmm") and len(read.error.message) < 1100
    assert "\n" not in read.error.fix and len(read.error.fix) <= 1000
    assert len(read.stderr) <= 64 * 1024
    read.stderr.encode()


def test_a_message_too_long_to_pass_on_is_an_error_of_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_MESSAGE", 100)
    words = answer_words(answer(message={"text": "x" * 100}))
    assert words["message"] == "" and words["error"]["id"] == "garbage"
    assert "more than 100 bytes" in words["error"]["message"]


@pytest.mark.long
def test_a_message_too_deep_to_pass_on_is_an_error_of_its_node() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200_000):
        deep = {"a": deep}
    assert answer_words(answer(message=deep))["error"]["id"] == "garbage"
    while deep:
        deep = deep["a"]  # taken apart from outside: freeing it at once would go as deep


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
KEYS = ("message", "error", "stderr", "seconds", "ago")


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), JSONS | st.fixed_dictionaries({"id": JSONS, "message": JSONS})))
@example({"message": "", "error": {"id": "a", "message": "", "fix": ""}})
def test_whatever_a_gateway_says_is_an_answer_or_refused(changes: dict[str, Any]) -> None:
    try:
        read = read_answer(GATEWAY, NODE, "scan", said(**changes))
    except ValueError:
        return
    assert read.node == NODE and (read.message is None) == (read.error is not None)
