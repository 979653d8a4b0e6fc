"""The conversation with the RDMA ping probes of many nodes: round by round, open, connect, ping, close.

A node that is silent, ends or answers nonsense costs only its own pairs: every answer has a deadline, and what did not
come is a failure of that end. What the outcomes mean is judged elsewhere.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from fabricdoc.errors import NodeError
from fabricdoc.fabric.crew import closed_node, silent_node
from fabricdoc.fabric.hurry import at_most
from fabricdoc.fabric.rdma_answers import (
    Failure,
    Opened,
    Report,
    by_number,
    clean,
    read_connected,
    read_opened,
    read_report,
)
from fabricdoc.fabric.rdma_pairs import End, Pair
from fabricdoc.fabric.rdma_words import ping_limit
from fabricdoc.fabric.sharing import Conversation

PROBE = "rdma_ping"
NOT_BEGUN = "there was no time left for this pair"


@dataclass
class Outcome:
    """What became of a pair: a failure or a report for either end (a, b), and the path MTU in bytes (0: not known)."""

    pair: Pair
    path_mtu: int = 0
    failures: list[Failure | None] = field(default_factory=lambda: [None, None])
    reports: list[Report | None] = field(default_factory=lambda: [None, None])

    @property
    def failed(self) -> bool:
        """Whether an end could not even begin."""
        return any(self.failures)


class Talk:
    """One conversation; `able` are the nodes that can ping, by provider, `unable` the others, by their reason.

    `lost` are nodes whose probe did not start (those of `failed`), ended or fell silent.
    """

    def __init__(self, channels: Conversation, failed: Mapping[str, NodeError] = MappingProxyType({})) -> None:
        self._channels = channels
        self.lost: dict[str, NodeError] = dict(failed)
        self._gone: dict[str, str] = {name: _why(name, error) for name, error in failed.items()}
        self._lacking: set[str] = set()
        self._round = 0
        self.able: dict[str, str] = {}
        self.unable: dict[str, str] = {}

    def greet(self) -> None:
        """Hear from every node which verbs it has."""
        names = self._channels.names
        answers = self._collect("able", names, ping_limit("greet_s"), anytime=True)
        for name in names:
            said = answers.get(name)
            provider = said.get("provider") if said else None
            if isinstance(provider, str) and provider:
                self.able[name] = clean(provider)
            else:
                self.unable[name] = _reasons(said) if said else self._gone.get(name, "it did not answer")
                self._lack(name, said)
        self.unable |= {name: why for name, why in self._gone.items() if name not in names}

    def run(self, rounds: Sequence[Sequence[Pair]]) -> list[Outcome]:
        """Ping every pair, round by round, within the time for all of them."""
        end = time.monotonic() + at_most(ping_limit("all_s"))
        outcomes: list[Outcome] = []
        for pairs in rounds:
            found = [Outcome(pair) for pair in pairs]
            if time.monotonic() < end:
                self._run_round(found)
            else:
                for one in found:
                    one.failures = [Failure("silent", 0, NOT_BEGUN)] * 2
            outcomes += found
        return outcomes

    def end(self) -> None:
        """Tell every probe that still runs that this was all; one that has ended by itself is no loss any more."""
        for name in self._here(self._channels.names):
            with suppress(NodeError):
                self._channels.send(name, {"do": "end"})

    def _lack(self, name: str, said: Mapping[str, Any] | None) -> None:
        """A node that has told what it lacks: its probe ends by itself, and has not failed."""
        if said:
            self._lacking.add(name)
            self.lost.pop(name, None)

    def _run_round(self, outcomes: Sequence[Outcome]) -> None:
        self._round += 1
        opened = self._open(outcomes)
        ready = [one for one in outcomes if not one.failed]
        self._connect(ready, opened)
        self._ping([one for one in ready if not one.failed])
        for name in _nodes(outcomes):
            self._send(name, {"do": "close", "round": self._round})
        self._collect("shut", self._here(_nodes(outcomes)), ping_limit("answer_s"))

    def _open(self, outcomes: Sequence[Outcome]) -> dict[tuple[int, int], Opened]:
        """Make all ends; what the other side must know of each, by pair and side."""
        asked = {name: [_place(one, side) for one, side in ends] for name, ends in _by_node(outcomes).items()}
        answers = self._ask("open", "opened", asked, ping_limit("answer_s"))
        made: dict[tuple[int, int], Opened] = {}
        for one in outcomes:
            for side, end in enumerate((one.pair.a, one.pair.b)):
                found = self._entry(answers, end, one, read_opened)
                if isinstance(found, Opened):
                    made[one.pair.number, side] = found
                else:
                    one.failures[side] = found
            mtus = [made[key].active_mtu for key in ((one.pair.number, 0), (one.pair.number, 1)) if key in made]
            one.path_mtu = min(mtus, default=0)
        return made

    def _connect(self, outcomes: Sequence[Outcome], opened: Mapping[tuple[int, int], Opened]) -> None:
        asked: dict[str, list[dict[str, Any]]] = {}
        for name, ends in _by_node(outcomes).items():
            asked[name] = [_peer(one, side, opened[one.pair.number, 1 - side]) for one, side in ends]
        longest = max((len(pairs) for pairs in asked.values()), default=0)
        limit_s = ping_limit("answer_s") + longest * ping_limit("answer_each_s")
        answers = self._ask("connect", "connected", asked, limit_s)
        for one in outcomes:
            for side, end in enumerate((one.pair.a, one.pair.b)):
                one.failures[side] = self._entry(answers, end, one, read_connected)

    def _ping(self, outcomes: Sequence[Outcome]) -> None:
        tokens = {one.pair.number: secrets.randbits(32) for one in outcomes}
        asked = {
            name: [
                {"id": one.pair.number, "side": side, "token": tokens[one.pair.number], "path_mtu": one.path_mtu}
                for one, side in ends
            ]
            for name, ends in _by_node(outcomes).items()
        }
        wait_s = ping_limit("wait_s")
        tests_s = 6 * wait_s  # four tests and two kinds of round trips, each within its own time
        answers = self._ask("ping", "pinged", asked, tests_s + ping_limit("answer_s"), wait_s=wait_s)
        for one in outcomes:
            for side, end in enumerate((one.pair.a, one.pair.b)):
                found = self._entry(answers, end, one, read_report)
                if isinstance(found, Failure):
                    one.failures[side] = found
                else:
                    one.reports[side] = found

    def _entry(self, answers: Mapping[str, Mapping[str, Any]], end: End, one: Outcome, read: Any) -> Any:
        """What a node said of one of its ends, or that it said nothing."""
        if end.node not in answers:
            return Failure("silent", 0, self._gone.get(end.node, "it did not answer in time"))
        return read(by_number(answers[end.node]).get(one.pair.number))

    def _ask(
        self, do: str, event: str, asked: Mapping[str, Sequence[Mapping[str, Any]]], limit_s: float, **more: Any
    ) -> dict[str, dict[str, Any]]:
        """Tell each node its pairs and collect what comes back within the time."""
        for name, pairs in asked.items():
            self._send(name, {"do": do, "round": self._round, "pairs": list(pairs), **more})
        return self._collect(event, self._here(asked), limit_s)

    def _here(self, names: Sequence[str] | Mapping[str, Any]) -> list[str]:
        return [name for name in names if name not in self._gone]

    def _send(self, name: str, message: dict[str, Any]) -> None:
        if name in self._gone:
            return
        try:
            self._channels.send(name, message)
        except NodeError as error:
            self._lose(name, error)

    def _lose(self, name: str, error: NodeError) -> None:
        self._gone.setdefault(name, _why(name, error))
        if name not in self._lacking:
            self.lost.setdefault(name, error)

    def _collect(
        self, event: str, names: Sequence[str], limit_s: float, *, anytime: bool = False
    ) -> dict[str, dict[str, Any]]:
        """One message of `event` (of this round) from each node; a node that ends or stays silent is gone for good."""
        answers: dict[str, dict[str, Any]] = {}
        waiting = set(names)
        limit_s = at_most(limit_s)
        end = time.monotonic() + limit_s
        while waiting and (got := self._next(end)):
            name, said = got
            if said.get("event") == "closed":
                self._lose(name, closed_node({"message": f"{name}: its probe ended", **said}))
                waiting.discard(name)
            elif said.get("event") == event and (anytime or said.get("round") == self._round) and name in waiting:
                answers[name] = said
                waiting.discard(name)
        for name in waiting:
            self._lose(name, silent_node(name, "the RDMA ping probe", limit_s))
        return answers

    def _next(self, end: float) -> tuple[str, dict[str, Any]] | None:
        try:
            return self._channels.receive(max(0.0, end - time.monotonic()))
        except NodeError:
            return None  # all have ended


def _why(name: str, error: NodeError) -> str:
    """The error in one clean line, without the node's name."""
    return clean(error.message.removeprefix(f"{name}: "))


def _nodes(outcomes: Sequence[Outcome]) -> list[str]:
    return list(_by_node(outcomes))


def _by_node(outcomes: Sequence[Outcome]) -> dict[str, list[tuple[Outcome, int]]]:
    """The ends of these pairs by node: the pair and the side that the node is."""
    found: dict[str, list[tuple[Outcome, int]]] = {}
    for one in outcomes:
        for side, end in enumerate((one.pair.a, one.pair.b)):
            found.setdefault(end.node, []).append((one, side))
    return found


def _place(one: Outcome, side: int) -> dict[str, Any]:
    end = (one.pair.a, one.pair.b)[side]
    return {"id": one.pair.number, "device": end.hca, "port": end.port, "gid_index": end.gid_index, "gid": end.gid}


def _peer(one: Outcome, side: int, opened: Opened) -> dict[str, Any]:
    """The other end: the GID is the one that was planned, never one that the peer names."""
    other = (one.pair.a, one.pair.b)[1 - side]
    where = {"qpn": opened.qpn, "psn": opened.psn, "rkey": opened.rkey, "address": opened.address}
    return {"id": one.pair.number, "gid": other.gid, "path_mtu": one.path_mtu, **where}


def _reasons(said: Mapping[str, Any]) -> str:
    reasons = said.get("reasons")
    parts = [f"{clean(name)}: {clean(why)}" for name, why in reasons.items()][:4] if isinstance(reasons, dict) else []
    return "; ".join(parts) or "it has no verbs"
