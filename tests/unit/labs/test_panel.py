"""The patch panel over real unix sockets: what goes where, what is lost, and that changes hold at once."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.labs.panel import BEACON, Panel, cable, one_way, switch

pytestmark = pytest.mark.unit

NAMES = ("a", "b", "c")


class Bench:
    """A panel with three ports whose ends a test holds."""

    def __init__(self, folder: Path) -> None:
        self.ends = {name: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for name in NAMES}
        for name, end in self.ends.items():
            end.bind(str(folder / name))
            end.settimeout(5)
        self.panel = Panel(folder / "panel", {name: folder / name for name in NAMES})

    def send(self, name: str, frame: bytes) -> None:
        self.ends[name].sendto(frame, str(self.panel.path))

    def heard(self, name: str) -> bytes:
        return self.ends[name].recv(1 << 17)

    def silent(self, name: str) -> bool:
        """Nothing waits at this end; ask only after something sent later has arrived elsewhere."""
        self.ends[name].setblocking(False)
        try:
            return not self.ends[name].recv(1 << 17)
        except BlockingIOError:
            return True
        finally:
            self.ends[name].settimeout(5)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.panel.close()
    for end in made.ends.values():
        end.close()


def frame(text: str, ethertype: bytes = b"\x08\x00") -> bytes:
    return bytes(12) + ethertype + text.encode()


def test_a_cable_joins_both_ways_and_nobody_else(bench: Bench) -> None:
    bench.panel.wire(cable("a", "b"))
    bench.send("a", frame("there"))
    assert bench.heard("b") == frame("there")
    bench.send("b", frame("back"))
    assert bench.heard("a") == frame("back")
    assert bench.silent("c")


def test_unwired_ports_lose_what_they_send(bench: Bench) -> None:
    bench.send("c", frame("lost"))
    bench.panel.wire(cable("a", "b"))
    bench.send("a", frame("kept"))
    assert bench.heard("b") == frame("kept")
    assert bench.silent("a") and bench.silent("c")


def test_one_way_and_rewiring_at_run_time(bench: Bench) -> None:
    bench.panel.wire(one_way("a", "b"))
    bench.send("b", frame("against"))
    bench.send("a", frame("along"))
    assert bench.heard("b") == frame("along")
    assert bench.silent("a")
    bench.panel.wire(cable("a", "c"))
    bench.send("a", frame("moved"))
    assert bench.heard("c") == frame("moved")
    assert bench.silent("b")


def test_frames_above_the_limit_are_lost(bench: Bench) -> None:
    bench.panel.wire(cable("a", "b", largest=100))
    bench.send("a", frame("x" * 87))
    bench.send("a", frame("x" * 86))
    assert len(bench.heard("b")) == 100
    assert bench.panel.lost == 1


def test_a_switch_reaches_every_other_port(bench: Bench) -> None:
    bench.panel.wire(switch(*NAMES))
    bench.send("a", frame("all"))
    assert (bench.heard("b"), bench.heard("c")) == (frame("all"), frame("all"))
    assert bench.silent("a")


def test_beacons_are_kept_and_frames_of_no_guest_injected(bench: Bench) -> None:
    bench.panel.wire(cable("a", "b"))
    bench.send("a", frame("beacon", BEACON))
    assert bench.heard("b") == frame("beacon", BEACON)
    bench.send("a", frame("other"))
    assert bench.heard("b") == frame("other")
    assert list(bench.panel.beacons) == [frame("beacon", BEACON)]
    bench.panel.inject("c", frame("foreign"))
    assert bench.heard("c") == frame("foreign")


def test_a_guest_that_is_gone_costs_only_its_frames(bench: Bench, tmp_path: Path) -> None:
    bench.panel.wire(switch(*NAMES))
    (tmp_path / "b").unlink()
    bench.send("a", frame("on"))
    assert bench.heard("c") == frame("on")
    assert bench.panel.lost == 1


def test_a_stranger_is_not_forwarded(bench: Bench, tmp_path: Path) -> None:
    bench.panel.wire(switch(*NAMES))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(frame("nameless"), str(bench.panel.path))
        stranger.bind(str(tmp_path / "stranger"))
        stranger.sendto(frame("named"), str(bench.panel.path))
    bench.send("a", frame("own"))
    assert bench.heard("b") == frame("own")
