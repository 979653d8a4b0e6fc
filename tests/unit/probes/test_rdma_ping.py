"""The RDMA ping probe's conversation over a real wire: open, connect, ping, close; and its ends, whatever ends it."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import rdma_ping
from fabricdoc.probes.rdma_ping_end import Refused
from fabricdoc.probes.wire import MARK, Wire
from tests.rdma_wire import Wires

pytestmark = pytest.mark.unit

GIDS = {"alpha": "::ffff:10.0.0.1", "beta": "::ffff:10.0.0.2"}


class Probe:
    """The probe of one node in a thread, and the controller's ends of its wire."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, library: Any, reasons: dict[str, str] | None = None) -> None:
        there, self._to = os.pipe()
        self._from, back = os.pipe()
        wire = Wire.__new__(Wire)
        wire._prefix, wire._in, wire._out = (MARK + "n ").encode(), there, back
        wire._buffer, wire._waiting, wire.closed = b"", [], False
        monkeypatch.setattr(rdma_ping, "provider", lambda: (library, reasons or {}))
        self.status: list[int] = []
        self.thread = threading.Thread(target=lambda: self.status.append(rdma_ping.main(wire)), daemon=True)
        self.thread.start()
        self._lines = os.fdopen(self._from, "rb")
        self.able = self.hear()
        self._closers = (there, back)

    def hear(self) -> dict[str, Any]:
        line = self._lines.readline()
        message: dict[str, Any] = json.loads(line.partition(b" ")[2])
        return message

    def say(self, **message: Any) -> None:
        os.write(self._to, json.dumps(message).encode() + b"\n")

    def ask(self, **message: Any) -> dict[str, Any]:
        self.say(**message)
        return self.hear()

    def hang_up(self) -> int:
        os.close(self._to)
        self.thread.join(10)
        assert not self.thread.is_alive()
        for descriptor in self._closers:
            os.close(descriptor)
        self._lines.close()
        return self.status[0]


def pair(node: str, **more: Any) -> dict[str, Any]:
    return {"id": 4, "device": "hca0", "port": 1, "gid_index": 3, "gid": GIDS[node], **more}


def both(monkeypatch: pytest.MonkeyPatch, wires: Wires) -> dict[str, Probe]:
    return {node: Probe(monkeypatch, wires.library(node)) for node in GIDS}


def connect(probes: dict[str, Probe], path_mtu: int = 4096) -> dict[str, dict[str, Any]]:
    """Open and connect the pair on both nodes; the answers to `connect`."""
    ends = {node: probe.ask(do="open", round=1, pairs=[pair(node)])["pairs"][0] for node, probe in probes.items()}
    answers = {}
    for node, other in zip(probes, reversed(list(probes)), strict=True):
        peer = {name: ends[other].get(name, 0) for name in ("qpn", "psn", "rkey", "address")}
        told = [{"id": 4, "gid": GIDS[other], "path_mtu": path_mtu, **peer}]
        answers[node] = probes[node].ask(do="connect", round=1, pairs=told)
    return answers


def ping(probes: dict[str, Probe], wait_s: float = 1.0) -> dict[str, dict[str, Any]]:
    for side, probe in enumerate(probes.values()):
        pairs = [{"id": 4, "side": side, "token": 99, "path_mtu": 4096}]
        probe.say(do="ping", round=1, pairs=pairs, wait_s=wait_s)
    return {node: probe.hear() for node, probe in probes.items()}


def test_two_probes_ping_one_another_and_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wires = Wires()
    probes = both(monkeypatch, wires)
    assert {probe.able["provider"] for probe in probes.values()} == {"made up"}
    assert [one["pairs"] for one in connect(probes).values()] == [[{"id": 4}]] * 2
    for answer in ping(probes).values():
        (report,) = answer["pairs"]
        assert (answer["event"], answer["round"], report["id"]) == ("pinged", 1, 4)
        assert [one["status"] for one in report["tests"]] == [0] * 4
    assert wires.left == 2
    assert [probe.ask(do="close", round=1)["event"] for probe in probes.values()] == ["shut", "shut"]
    assert wires.left == 0
    assert [probe.hang_up() for probe in probes.values()] == [0, 0]


def test_what_is_open_is_destroyed_when_stdin_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    wires = Wires()
    probes = both(monkeypatch, wires)
    connect(probes)
    assert wires.left == 2
    assert [probe.hang_up() for probe in probes.values()] == [0, 0]
    assert wires.left == 0


def test_stdin_that_ends_during_a_ping_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wires = Wires()
    wires.hangs, wires.is_lost = True, lambda source, target, size: True
    probes = both(monkeypatch, wires)
    connect(probes)
    probes["alpha"].say(do="ping", round=1, pairs=[{"id": 4, "side": 0, "token": 1, "path_mtu": 1024}], wait_s=60.0)
    assert [probe.hang_up() for probe in probes.values()] == [0, 0]
    assert wires.left == 0


@pytest.mark.parametrize("errno", [22, 61, 101, 110])
def test_a_refused_connect_tells_phase_and_errno_and_is_not_pinged(monkeypatch: pytest.MonkeyPatch, errno: int) -> None:
    wires = Wires()
    wires.errnos[("alpha/hca0", "rtr")] = errno
    probes = both(monkeypatch, wires)
    (told,) = connect(probes)["alpha"]["pairs"]
    assert (told["id"], told["failure"]["phase"], told["failure"]["errno"]) == (4, "rtr", errno)
    probes["alpha"].say(do="ping", round=1, pairs=[{"id": 4, "side": 0, "token": 1, "path_mtu": 4096}], wait_s=0.1)
    assert probes["alpha"].hear()["pairs"] == []
    assert [probe.hang_up() for probe in probes.values()] == [0, 0]
    assert wires.left == 0


def test_a_gid_that_moved_is_refused_where_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    wires = Wires()
    wires.gids["alpha/hca0"] = "fe80::1"
    probe = Probe(monkeypatch, wires.library("alpha"))
    (told,) = probe.ask(do="open", round=1, pairs=[pair("alpha")])["pairs"]
    assert told["failure"]["phase"] == "gid"
    assert "fe80::1" in told["failure"]["text"]
    assert probe.hang_up() == 0


def test_a_node_without_verbs_says_why_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = Probe(monkeypatch, None, {"pyverbs": "No module named 'pyverbs'", "libibverbs": "cannot open"})
    assert probe.able == {
        "event": "able",
        "provider": "",
        "reasons": {"pyverbs": "No module named 'pyverbs'", "libibverbs": "cannot open"},
    }
    assert probe.hang_up() == 0


def test_end_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = Probe(monkeypatch, Wires().library("alpha"))
    probe.say(do="end")
    probe.thread.join(10)
    assert probe.status == [0]
    probe.hang_up()


def test_the_first_library_that_loads_is_taken_and_the_others_reasons_kept() -> None:
    class Absent:
        name = "pyverbs"

        def __init__(self) -> None:
            raise ImportError("No module named 'pyverbs'")

    class Broken:
        name = "libibverbs"

        def __init__(self) -> None:
            raise OSError("libibverbs.so.1: cannot open shared object file")

    class There:
        name = "there"

    library, reasons = rdma_ping.provider((Absent, There))
    assert (library.name, reasons) == ("there", {"pyverbs": "No module named 'pyverbs'"})
    library, reasons = rdma_ping.provider((Absent, Broken))
    assert library is None and set(reasons) == {"pyverbs", "libibverbs"}


def test_more_pairs_than_a_round_may_hold_are_a_fault_of_the_controller() -> None:
    node = rdma_ping.Ping(Wires().library("alpha"))
    with pytest.raises(ValueError, match="at most 64"):
        node.open({"pairs": [pair("alpha", id=number) for number in range(65)]})


def test_a_pair_that_is_open_already_is_a_fault_and_the_first_one_is_still_closed() -> None:
    wires = Wires()
    node = rdma_ping.Ping(wires.library("alpha"))
    node.open({"pairs": [pair("alpha")]})
    with pytest.raises(ValueError, match="open already"):
        node.open({"pairs": [pair("alpha")]})
    node.close()
    assert wires.left == 0


def test_a_path_mtu_that_is_none_is_refused() -> None:
    node = rdma_ping.Ping(Wires().library("alpha"))
    node.open({"pairs": [pair("alpha")]})
    peer = {"id": 4, "gid": GIDS["beta"], "qpn": 1, "psn": 1, "rkey": 1, "address": 1}
    with pytest.raises(ValueError, match="no path MTU"):
        node.connect({"pairs": [{**peer, "path_mtu": 1500}]})
    node.close()


@given(st.text(max_size=400), st.integers(0, 2**31))
def test_a_failures_words_are_bounded(text: str, errno: int) -> None:
    fields = Refused("rtr", errno, text).fields()
    assert len(fields["text"]) <= 200
    assert json.loads(json.dumps(fields)) == fields
