"""The reach probe: do datagrams of full size and TCP connections pass between this node and the others?

One conversation: `open` makes ears (UDP) and listeners (TCP), `try` asks and dials while everybody else is answered,
`end` closes it all. What was opened stands for seconds, answers only this run, and is closed when the controller is
gone. How they are made: `echo`, `dial`. What it means for a fabric: `fabricdoc.fabric`.
"""

from __future__ import annotations

import select
import time
from typing import Any

from .dial import Call, Listener, calls, listen
from .echo import Asks, Ear
from .wire import Wire

IDLE_LIMIT_S = 40.0
MAX_EARS = 64


class Reach:
    """What this node opened for one run, and what it is trying."""

    def __init__(self, wire: Wire, request: dict[str, Any]) -> None:
        self._wire = wire
        self._key = bytes.fromhex(request["key"])
        self._mark = bytes.fromhex(request["nonce"])
        self.ears: dict[tuple[str, str], Ear] = {}
        self.deaf: list[dict[str, Any]] = []
        for one in request.get("ears", [])[:MAX_EARS]:
            self._open_ear(str(one["netdev"]), str(one["ip"]))
        self.listeners, self.refused = listen(request.get("listen", []), self._mark)
        self.calls: list[Call] = []
        self.asks: Asks | None = None

    def _open_ear(self, netdev: str, ip: str) -> None:
        try:
            self.ears[netdev, ip] = Ear(netdev, ip, self._key)
        except OSError as error:
            self.deaf.append({"netdev": netdev, "ip": ip, "reason": f"{error.strerror or error} (errno {error.errno})"})

    def ready(self) -> dict[str, Any]:
        """What stands open, and what could not be opened."""
        return {
            "event": "ready",
            "ears": [{"netdev": one.netdev, "ip": one.ip, "port": one.port} for one in self.ears.values()],
            "deaf": self.deaf,
            "listeners": [{"ip": one.ip, "wanted": one.wanted, "port": one.port} for one in self.listeners],
            "refused": self.refused,
        }

    def begin(self, request: dict[str, Any]) -> None:
        """Start asking and dialling as a `try` request says."""
        self.asks = Asks(self.ears, request.get("asks", []))
        self.calls = list(calls(request.get("dials", []), self._mark))

    def serve(self) -> None:
        """Answer and try until told to end, nobody listens any more, or forty seconds passed."""
        end = time.monotonic() + IDLE_LIMIT_S
        while not self._wire.closed and time.monotonic() < end:
            if not self._step():
                return

    def _step(self) -> bool:
        """One turn of the loop; false when the end was asked for."""
        doors: dict[int, Ear | Listener] = {one.socket.fileno(): one for one in self.ears.values()}
        doors |= {one.socket.fileno(): one for one in self.listeners}
        open_calls = {one.socket.fileno(): one for one in self.calls if not one.outcome}
        reading = [fd for fd, one in open_calls.items() if not one.waits_to_write]
        writing = [fd for fd, one in open_calls.items() if one.waits_to_write]
        ready, made, _ = select.select([self._wire.fileno(), *doors, *reading], writing, [], self._wait_s())
        for fd in ready:
            if fd in doors:
                self._serve(doors[fd])
        for fd, call in open_calls.items():
            call.advance(fd in ready or fd in made)
        going_on = all(self._obey(one) for one in self._wire.pump()) if self._wire.fileno() in ready else True
        self._advance()
        return going_on

    def _wait_s(self) -> float:
        """How long nothing may happen: a tenth of a second while something is tried."""
        if self.asks is None:
            return 1.0
        return min(0.1, self.asks.wait_s) if not self.asks.over else 0.1

    def _serve(self, door: Ear | Listener) -> None:
        if isinstance(door, Listener):
            door.accept()
            return
        answers = door.hear()
        if self.asks is not None:
            self.asks.note(answers)

    def _advance(self) -> None:
        """Ask again where it is time; when all is decided, tell."""
        if self.asks is None:
            return
        self.asks.advance()
        if self.asks.over and all(one.outcome for one in self.calls):
            told = {"event": "tried", "asks": self.asks.report(), "dials": [one.report() for one in self.calls]}
            self._wire.write(told)
            self.asks = None
            for call in self.calls:
                call.close()
            self.calls = []

    def _obey(self, message: dict[str, Any]) -> bool:
        """Carry out one message; false when it was the last."""
        if message.get("do") == "try":
            self.begin(message)
        return message.get("do") != "end"

    def close(self) -> None:
        """Close everything."""
        ears, listeners = (one.socket for one in self.ears.values()), (one.socket for one in self.listeners)
        for opened in (*ears, *listeners, *(call.socket for call in self.calls)):
            opened.close()


def main(wire: Wire) -> int:
    """One conversation; 1 when no request came, 2 for another one than `open`."""
    request = wire.read(IDLE_LIMIT_S)
    if request is None:
        return 1
    if request.get("do") != "open":
        wire.write({"event": "error", "message": "the reach probe begins with the request open"})
        return 2
    reach = Reach(wire, request)
    try:
        wire.write(reach.ready())
        reach.serve()
    finally:
        reach.close()
    return 0
