"""The beacon probe: what it counts, what it never believes, what bounds it, and its conversation."""

from __future__ import annotations

import json
import os
import socket
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from fabricdoc.probes import beacon
from fabricdoc.probes.beacon import AT_A_TIME, MAX_SENDERS, Ears, Senders
from fabricdoc.probes.beacon_frames import Sender, seal
from fabricdoc.probes.multicast import CantHear
from fabricdoc.probes.wire import Wire

pytestmark = pytest.mark.unit

KEY, NONCE = bytes(range(32)), b"nonce-01"
ALPHA = Sender("alpha", "p0", "02:00:00:00:00:01")
BETA = Sender("beta", "p1", "02:00:00:00:00:02")


class FakePort:
    """A port whose frames are a list; the descriptor is one end of a socket pair."""

    method = "beacon"

    def __init__(self, netdev: str = "p1", *payloads: bytes, near: bool = False) -> None:
        self.netdev, self.mac = netdev, BETA.mac
        self.waiting = [(payload, near) for payload in payloads]
        self.sent: list[bytes] = []
        self.socket, self.other = socket.socketpair()
        self.closed = False

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, payload: bytes, frames: int) -> int:
        self.sent += [payload] * frames
        return frames

    def take(self, limit: int) -> Iterator[tuple[bytes, bool]]:
        for _ in range(min(limit, len(self.waiting))):
            yield self.waiting.pop(0)

    def strays(self) -> int:
        return 7

    def lost(self) -> int:
        return 2

    def close(self) -> None:
        self.closed = True
        self.socket.close()
        self.other.close()


def ears(*ports: FakePort) -> Ears:
    one = Ears("beta", NONCE, KEY)
    for port in ports:
        one.add(port)
    return one


def told(port: FakePort) -> dict[str, Any]:
    (found,) = ears(port).report()["ports"]
    return dict(found)


def test_frames_are_counted_by_sender_and_what_is_not_believed_apart() -> None:
    port = FakePort("p1", *[seal(KEY, NONCE, ALPHA)] * 3, seal(bytes(32), NONCE, ALPHA), b"\0" * 60)
    found = told(port)
    assert found["senders"] == [{"node": "alpha", "netdev": "p0", "mac": ALPHA.mac, "count": 3, "near": 0}]
    assert (found["netdev"], found["method"]) == ("p1", "beacon")
    assert (found["stray"], found["lost"]) == (7 + 2, 2), "the kernel's count and what was read and not believed"


def test_frames_for_the_nearest_bridge_are_counted_apart() -> None:
    (sender,) = told(FakePort("p1", seal(KEY, NONCE, ALPHA), near=True))["senders"]
    assert (sender["count"], sender["near"]) == (0, 1)


def test_a_frame_of_another_run_is_stray_although_the_key_fits() -> None:
    found = told(FakePort("p1", seal(KEY, b"nonce-00", ALPHA)))
    assert (found["senders"], found["stray"]) == ([], 8)


def test_a_port_that_hears_itself_counts_echoes_and_a_neighbour_on_its_node_is_heard() -> None:
    twin = Sender("beta", "p2", "02:00:00:00:00:03")
    found = told(FakePort("p1", seal(KEY, NONCE, BETA), seal(KEY, NONCE, twin)))
    assert found["echoes"] == 1
    assert [sender["netdev"] for sender in found["senders"]] == ["p2"]


def test_every_port_sends_its_own_name_and_never_more_than_16_frames() -> None:
    first, second = FakePort("p1"), FakePort("p2")
    one = ears(first, second)
    one.send(3)
    assert first.sent == [seal(KEY, NONCE, Sender("beta", "p1", BETA.mac))] * 3
    one.send(999)
    assert len(second.sent) == 3 + beacon.MAX_FRAMES
    one.send(-5)
    assert len(second.sent) == 3 + beacon.MAX_FRAMES


def test_what_waits_is_taken_in_bounded_bites() -> None:
    port = FakePort("p1", *[seal(KEY, NONCE, ALPHA)] * (AT_A_TIME + 5))
    one = ears(port)
    one.hear(0, AT_A_TIME)
    assert len(port.waiting) == 5
    one.report()
    assert port.waiting == []


def crowd(count: int) -> list[Sender]:
    return [Sender(f"n{number:04}", "p0", ALPHA.mac) for number in range(count)]


def test_beyond_64_senders_frames_are_only_counted() -> None:
    heard = Senders(BETA)
    for sender in crowd(500) * 2:
        heard.add(sender, False)
    assert len(heard.counts) == MAX_SENDERS
    assert sum(map(sum, heard.counts.values())) + heard.unkept == 1000


def test_which_are_kept_does_not_depend_on_who_came_first() -> None:
    there, back = Senders(BETA), Senders(BETA)
    for sender in crowd(300):
        there.add(sender, False)
    for sender in reversed(crowd(300)):
        back.add(sender, False)
    assert set(there.counts) == set(back.counts)


@pytest.mark.long
def test_on_a_flat_segment_kept_pairs_are_mostly_mutual_and_still_join_all_ports() -> None:
    ports = crowd(512)
    kept = {}
    for own in ports:
        heard = Senders(own)
        for other in ports:
            if other != own:
                heard.add(other, False)
        kept[own] = set(heard.counts)
    mutual = {own: {other for other in kept[own] if own in kept[other]} for own in ports}
    assert sum(map(len, mutual.values())) > 0.85 * sum(map(len, kept.values()))
    reached, ahead = {ports[0]}, [ports[0]]
    while ahead:
        new = mutual[ahead.pop()] - reached
        reached |= new
        ahead += new
    assert len(reached) == 512


@pytest.mark.long
def test_a_liar_with_the_key_can_not_fill_the_memory() -> None:
    heard = Senders(BETA)
    tracemalloc.start()
    for number in range(20_000):
        heard.add(Sender(f"liar{number}", "p0", ALPHA.mac), False)
    held, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 200_000
    assert len(heard.counts) == MAX_SENDERS


def test_a_port_that_is_not_there_is_refused_with_the_kernels_word() -> None:
    answer = Ears("beta", NONCE, KEY).open("beacon", ["no-such-port0"])
    (refused,) = answer["refused"]
    assert answer["ports"] == []
    assert refused["netdev"] == "no-such-port0"
    assert f"(errno {refused['errno']})" in refused["reason"]
    if os.geteuid() == 0:
        assert refused["errno"] in (1, 19)


def test_a_refusal_says_what_the_address_lacks() -> None:
    found = beacon.refusal("p0", CantHear("no-address", "no IPv6 link-local address"))
    assert found == {"netdev": "p0", "reason": "no IPv6 link-local address", "errno": 0, "lack": "no-address"}


class Talk:
    """The probe's `main` in a thread, with pipes in place of stdin and stdout."""

    def __init__(self) -> None:
        (inner_in, self.to), (self.back, inner_out) = os.pipe(), os.pipe()
        spare = os.dup(inner_out)
        wire = Wire("n", inner_in, inner_out)  # hands inner_out to stderr
        self._ends = (inner_in, spare, inner_out)
        self.thread = threading.Thread(target=self._run, args=(wire,))
        self.status: int | None = None
        self.thread.start()
        os.close(spare)
        self.lines = os.fdopen(self.back)

    def _run(self, wire: Wire) -> None:
        self.status = beacon.main(wire)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        os.write(self.to, json.dumps(message).encode() + b"\n")
        return dict(json.loads(self.lines.readline().partition(" ")[2]))

    def end(self) -> int | None:
        os.close(self.to)
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self.status


LISTEN = {"do": "listen", "node": "beta", "nonce": NONCE.hex(), "key": KEY.hex(), "ports": ["p1"]}


def test_the_conversation_reports_as_often_as_asked_and_ends_with_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    port = FakePort("p1", seal(KEY, NONCE, ALPHA))
    monkeypatch.setitem(beacon.KINDS, "beacon", lambda *_words: port)
    talk = Talk()
    assert talk.ask(LISTEN) == {
        "event": "ready",
        "method": "beacon",
        "ports": [{"netdev": "p1", "mac": BETA.mac}],
        "refused": [],
    }
    assert talk.ask({"do": "send", "frames": 2}) == {"event": "sent"}
    assert len(port.sent) == 2
    for _ in range(2):
        assert talk.ask({"do": "report"})["ports"][0]["senders"][0]["count"] == 1
    assert talk.end() == 0
    assert port.closed


def test_a_port_that_never_falls_silent_does_not_keep_it_from_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    class Flood(FakePort):
        def take(self, limit: int) -> Iterator[tuple[bytes, bool]]:
            yield from [(seal(bytes(32), NONCE, ALPHA), False)] * limit

    port = Flood("p1")
    port.other.send(b"always readable")
    monkeypatch.setitem(beacon.KINDS, "beacon", lambda *_words: port)
    talk = Talk()
    talk.ask(LISTEN)
    assert talk.ask({"do": "send", "frames": 1}) == {"event": "sent"}
    assert talk.ask({"do": "report"})["ports"][0]["stray"] > beacon.AT_THE_END
    assert talk.end() == 0


def test_multicast_joins_when_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(beacon.KINDS, "beacon", lambda *_words: FakePort("p1"))
    monkeypatch.setitem(beacon.KINDS, "multicast", lambda *_words: FakePort("p1", seal(KEY, NONCE, ALPHA)))
    talk = Talk()
    talk.ask(LISTEN)
    assert talk.ask({"do": "open", "method": "multicast", "ports": ["p1"]})["method"] == "multicast"
    ports = talk.ask({"do": "report"})["ports"]
    assert [len(port["senders"]) for port in ports] == [0, 1]
    assert talk.end() == 0


def test_another_first_message_is_refused() -> None:
    talk = Talk()
    os.write(talk.to, b'{"do":"scan"}\n')
    talk.thread.join(10)
    assert talk.status == 2
