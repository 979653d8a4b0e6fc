"""What goes between this machine and a gateway of a tree, as JSON: the order down, one answer for each node up.

A gateway is the user's own, and yet what it says is read as a node's is: bounded, checked, never run and never
unpickled. The message of a node stays a text inside of the gateway's line, so that a node whose words are no JSON
costs its own answer and not that of its neighbours. Sends nothing.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from fabricdoc.errors import NodeError
from fabricdoc.transport.answer import Answer, Question
from fabricdoc.transport.failures import garbage
from fabricdoc.transport.framing import TAIL_BYTES, read_message
from fabricdoc.transport.nodes import NodeSpec

# of a gateway's line, what its node's message may take: the line holds it as a text, with escapes
MAX_MESSAGE = 6 * 1024 * 1024
MAX_WORDS = 1000
DAY_S = 86400
_ID = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)
_TEXTS = ("name", "target", "python", "user", "image", "container")
# failures of the way from the gateway to the node: what is to be done about them is to be done there
_ON_GATEWAY = re.compile(r"(ssh-.*|node-unreachable)", re.ASCII)

Levels = tuple[tuple[NodeSpec, ...], ...]


def order_for(question: Question, nodes: Sequence[NodeSpec]) -> dict[str, Any]:
    """The order for a gateway: `question` to these nodes, whose `via` begins after that gateway."""
    ways = {id(node.via): node.via for node in nodes}
    numbers = {key: number for number, key in enumerate(ways)}
    return {
        "module": question.module,
        "request": question.request,
        "deadline_s": question.deadline_s,
        "inside": list(question.inside),
        "ways": [[[_words(gateway) for gateway in level] for level in way] for way in ways.values()],
        "nodes": [{**_words(node), "way": numbers[id(node.via)]} for node in nodes],
    }


def _words(node: NodeSpec) -> dict[str, Any]:
    words: dict[str, Any] = {key: value for key in _TEXTS if (value := getattr(node, key))}
    return {**words, "env": dict(node.env)} if node.env else words


def read_order(order: Mapping[str, Any], payload: bytes, packed: bytes, carrier: bytes) -> tuple[Question, Nodes]:
    """The question and the nodes of an order, on the gateway: reached by its own ssh, whose connections end with it.

    Raises KeyError, TypeError or ValueError for what is no order, UsageError for nodes that are none.
    """
    ways = [tuple(tuple(_node(words) for words in level) for level in way) for way in order["ways"]]
    nodes = tuple(_node(words, ways[words["way"]]) for words in order["nodes"])
    return Question(
        str(order["module"]),
        dict(order["request"]),
        float(order["deadline_s"]),
        tuple(str(word) for word in order["inside"]),
        payload,
        packed,
        carrier,
    ), nodes


Nodes = tuple[NodeSpec, ...]


def _node(words: Mapping[str, Any], via: Levels = ()) -> NodeSpec:
    texts: dict[str, Any] = {key: str(words[key]) for key in _TEXTS if key in words}
    return NodeSpec(**texts, env=dict(words.get("env", {})), via=via, lingers=False)


def answer_words(answer: Answer) -> dict[str, Any]:
    """An answer for the way up; a message that is too long to be passed on becomes an error of its node."""
    text, error = "", answer.error
    if answer.message is not None:
        try:
            text = json.dumps(answer.message, separators=(",", ":"))
        except RecursionError:
            error = garbage(answer.node, "", "a message nested too deeply")
        if len(text) > MAX_MESSAGE:
            text, error = "", garbage(answer.node, "", f"more than {MAX_MESSAGE} bytes, which a gateway passes on")
    return {
        "event": "answer",
        "name": answer.node.name,
        "message": text,
        "error": {"id": error.id, "message": error.message, "fix": error.fix} if error else None,
        "stderr": answer.stderr[-TAIL_BYTES:],
        "seconds": round(answer.seconds, 6),
        "ago": round(time.time() - answer.asked_at, 6),
    }


def read_answer(gateway: NodeSpec, node: NodeSpec, module: str, said: Mapping[str, Any]) -> Answer:
    """The answer of `node` in what `gateway` said; raises ValueError (a short reason) for what is none."""
    text, error = said.get("message"), said.get("error")
    stderr, seconds, ago = said.get("stderr"), _number(said.get("seconds")), _number(said.get("ago"))
    if not isinstance(text, str) or not isinstance(stderr, str) or bool(text) == (error is not None):
        raise ValueError("an answer that is neither a message nor an error")
    message, failure = None, _error(gateway, node, error) if error is not None else None
    if text:
        try:
            message = read_message(text.encode("utf-8", "replace"))
        except ValueError as reason:
            failure = garbage(node, module, f"a line that is no message: {reason}")
    tail = stderr[-TAIL_BYTES:].encode("utf-8", "replace").decode()
    return Answer(node, message, failure, tail, seconds, time.time() - ago)


def _number(value: object) -> float:
    """A number of seconds, at least 0 and at most a day."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= DAY_S:
        raise ValueError("a time that is none")
    return float(value)


def _error(gateway: NodeSpec, node: NodeSpec, said: object) -> NodeError:
    """The error of a node, told as seen from the gateway."""
    words = said if isinstance(said, dict) else {}
    id_, message, fix = (words.get(key) for key in ("id", "message", "fix"))
    if not isinstance(id_, str) or not isinstance(message, str) or not isinstance(fix, str) or not _ID.fullmatch(id_):
        raise ValueError("an error that is none")
    what = _line(message).removeprefix(f"{node.name}: ")
    what = what if what.startswith("through ") else f"through {gateway.name}: {what}"
    there = bool(_ON_GATEWAY.fullmatch(id_)) and not fix.startswith("on ")
    return NodeError(f"{node.name}: {what}", fix=f"on {gateway.name}: {_line(fix)}" if there else _line(fix), id=id_)


def _line(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:MAX_WORDS])
