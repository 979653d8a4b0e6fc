"""The RDMA ping of one node: RC queue pairs to ports of other nodes, and what became of a few messages.

Told by the controller step by step (open, connect, ping, close), since both ends of a pair must know of each other
first. Uses the distribution's pyverbs where the running python has it, else the node's libibverbs by ctypes. Messages
hold at most 8 KiB (20 in the last round trips), retries are bounded, every wait has an end, and whatever was made is
destroyed when a round is closed, when stdin ends, and at the latest with the process. Judges nothing.
"""

from __future__ import annotations

import contextlib
import secrets
import select
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .rdma_ping_end import MTU_CODES, Peer, Place, Refused
from .rdma_ping_native import Native
from .rdma_ping_pyverbs import Pyverbs
from .rdma_ping_tests import Running, run_all
from .wire import Wire

IDLE_LIMIT_S = 60.0
MOST_PAIRS = 64
MOST_WAIT_S = 10.0
PROVIDERS: tuple[Callable[[], Any], ...] = (Pyverbs, Native)
CANT_LOAD = (ImportError, OSError, AttributeError, KeyError)


def provider(kinds: tuple[Callable[[], Any], ...] | None = None) -> tuple[Any, dict[str, str]]:
    """The first library that loads (None: none does), and the reason of each that does not."""
    reasons: dict[str, str] = {}
    for kind in kinds or PROVIDERS:
        try:
            return kind(), reasons
        except CANT_LOAD as error:
            reasons[getattr(kind, "name", "verbs")] = " ".join(str(error).split())[:200] or type(error).__name__
    return None, reasons


class Ping:
    """The ends of this node that are open, by the number of their pair."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._ends: dict[int, Any] = {}
        self._connected: set[int] = set()

    def open(self, message: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Make the ends of a round: what each peer must know of them, or how a verb failed."""
        return [self._each(pair, self._open) for pair in self._pairs(message)]

    def connect(self, message: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Connect them to the peers' ends."""
        return [self._each(pair, self._connect) for pair in self._pairs(message)]

    def ping(self, message: Mapping[str, Any], stop: Callable[[], bool]) -> list[dict[str, Any]]:
        """Run the tests over all that are connected, at once."""
        pairs = [pair for pair in self._pairs(message) if int(pair["id"]) in self._connected]
        wait_s = min(float(message["wait_s"]), MOST_WAIT_S)
        running = [self._running(pair) for pair in pairs]
        run_all(running, wait_s, stop)
        return [one.report() for one in running]

    def close(self) -> None:
        """Destroy every end."""
        self._connected.clear()
        while self._ends:
            self._ends.popitem()[1].close()

    def _pairs(self, message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        pairs: list[Mapping[str, Any]] = message["pairs"]
        if len(pairs) > MOST_PAIRS:
            raise ValueError(f"{len(pairs)} pairs in one round (at most {MOST_PAIRS})")
        return pairs

    def _each(
        self, pair: Mapping[str, Any], verb: Callable[[int, Mapping[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        number = int(pair["id"])
        try:
            return {"id": number, **verb(number, pair)}
        except Refused as error:
            return {"id": number, "failure": error.fields()}

    def _open(self, number: int, pair: Mapping[str, Any]) -> dict[str, Any]:
        place = Place(str(pair["device"]), int(pair["port"]), int(pair["gid_index"]), str(pair["gid"]))
        if number in self._ends:
            raise ValueError(f"pair {number} is open already")
        end = self._ends[number] = self._library.open(place, secrets.randbits(24))
        about: dict[str, Any] = end.about()
        return about

    def _connect(self, number: int, pair: Mapping[str, Any]) -> dict[str, Any]:
        peer = Peer(str(pair["gid"]), *(int(pair[name]) for name in ("qpn", "psn", "rkey", "address")))
        path_mtu = int(pair["path_mtu"])
        if path_mtu not in MTU_CODES:
            raise ValueError(f"no path MTU: {path_mtu}")
        self._ends[number].connect(peer, path_mtu)
        self._connected.add(number)
        return {}

    def _running(self, pair: Mapping[str, Any]) -> Running:
        number, side = int(pair["id"]), int(pair["side"])
        return Running(number, self._ends[number], int(pair["token"]) & 0xFFFFFFFF, side & 1, int(pair["path_mtu"]))


def obey(wire: Wire, ping: Ping, message: Mapping[str, Any]) -> bool:
    """Carry out one message and answer it; true when it was the last."""
    do, answer = message.get("do"), {"round": message.get("round")}
    if do == "open":
        wire.write({"event": "opened", **answer, "pairs": ping.open(message)})
    elif do == "connect":
        wire.write({"event": "connected", **answer, "pairs": ping.connect(message)})
    elif do == "ping":
        wire.write({"event": "pinged", **answer, "pairs": ping.ping(message, lambda: hung_up(wire))})
    elif do == "close":
        ping.close()
        wire.write({"event": "shut", **answer})
    return do == "end"


def hung_up(wire: Wire) -> bool:
    """Whether the controller's end is gone. A message that waits is none of our business yet."""
    poller = select.poll()
    poller.register(wire.fileno(), select.POLLHUP | select.POLLERR | select.POLLRDHUP)
    return bool(poller.poll(0))


@contextlib.contextmanager
def opened(library: Any) -> Iterator[Ping]:
    """A `Ping` whose ends are destroyed at the end, whatever happens."""
    ping = Ping(library)
    try:
        yield ping
    finally:
        ping.close()


def main(wire: Wire) -> int:
    """Run the RDMA ping probe: say what verbs there are, then obey until the end."""
    library, reasons = provider()
    wire.write({"event": "able", "provider": library.name if library else "", "reasons": reasons})
    if library is None:
        return 0
    with opened(library) as ping:
        while (message := wire.read(IDLE_LIMIT_S)) is not None:
            if obey(wire, ping, message):
                break
    return 0
