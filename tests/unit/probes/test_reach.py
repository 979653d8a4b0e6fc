"""The reach probe's conversation, two of them on the loopback, and its end in every case."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from fabricdoc.probes import reach
from fabricdoc.probes.wire import Wire

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

OPEN = {
    "do": "open",
    "nonce": "ab" * 8,
    "key": "cd" * 32,
    "ears": [{"netdev": "lo", "ip": "127.0.0.1"}, {"netdev": "no-such-port0", "ip": "127.0.0.1"}],
    "listen": [{"ip": "127.0.0.1", "port": 0}],
}


class Probe:
    """One probe in a thread, spoken to as the transport does."""

    def __init__(self) -> None:
        asks, self.tells = os.pipe()
        self.reads, writes = os.pipe()
        self.wire = Wire("n", asks, writes)
        self.status: list[int] = []
        self.thread = threading.Thread(target=lambda: self.status.append(reach.main(self.wire)), daemon=True)
        self.thread.start()
        self._buffer = b""

    def say(self, message: dict[str, Any]) -> None:
        os.write(self.tells, json.dumps(message).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            self._buffer += os.read(self.reads, 1 << 16)
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line.decode().removeprefix("\x1en "))
        return message

    def end(self) -> int:
        self.thread.join(10)
        return self.status[0]


@pytest.fixture
def probes() -> Iterator[list[Probe]]:
    made = [Probe(), Probe()]
    yield made
    for one in made:
        os.close(one.tells)
        one.thread.join(10)
        os.close(one.reads)


def test_two_nodes_ask_and_dial_each_other(probes: list[Probe]) -> None:
    ready = []
    for one in probes:
        one.say(OPEN)
        ready.append(one.hear())
    assert [len(one["ears"]) for one in ready] == [1, 1]
    assert [one["deaf"][0]["netdev"] for one in ready] == ["no-such-port0"] * 2
    for one, other in zip(probes, reversed(ready), strict=True):
        (ear,), (listener,) = other["ears"], other["listeners"]
        ask = {"netdev": "lo", "ip": "127.0.0.1", "to_ip": ear["ip"], "to_port": ear["port"], "size": 1472}
        one.say({"do": "try", "asks": [ask], "dials": [{"ip": listener["ip"], "port": listener["port"]}]})
    for one in probes:
        told = one.hear()
        assert told["event"] == "tried"
        assert [(a["arrived"], a["came_in_by"], a["size"]) for a in told["asks"]] == [(True, "lo", 1472)]
        assert [d["outcome"] for d in told["dials"]] == ["connected"]
    for one in probes:
        one.say({"do": "end"})
    assert [one.end() for one in probes] == [0, 0]


def test_ears_and_listeners_are_closed_at_the_end(probes: list[Probe]) -> None:
    probes[0].say(OPEN)
    port = probes[0].hear()["listeners"][0]["port"]
    probes[0].say({"do": "end"})
    assert probes[0].end() == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_nothing_to_try_is_tried_at_once(probes: list[Probe]) -> None:
    probes[0].say({**OPEN, "ears": [], "listen": []})
    assert probes[0].hear()["ears"] == []
    begun = time.monotonic()
    probes[0].say({"do": "try"})
    assert probes[0].hear() == {"event": "tried", "asks": [], "dials": []}
    assert time.monotonic() - begun < 3


def test_a_controller_that_is_gone_ends_it() -> None:
    probe = Probe()
    probe.say(OPEN)
    probe.hear()
    os.close(probe.tells)
    assert probe.end() == 0
    os.close(probe.reads)


def test_it_ends_by_itself_when_nobody_says_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "IDLE_LIMIT_S", 0.3)
    probe = Probe()
    probe.say(OPEN)
    probe.hear()
    assert probe.end() == 0
    os.close(probe.tells)
    os.close(probe.reads)


def test_another_request_is_refused(probes: list[Probe]) -> None:
    probes[0].say({"do": "try"})
    assert probes[0].hear()["event"] == "error"
    assert probes[0].end() == 2
