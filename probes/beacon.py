"""Beacons: which of this node's ports hears which port of another node.

Sends only when told to, only from the ports it was given, a few frames each; what it hears it counts by sender. By raw
sockets (`beacon_ports`), and when told so by link-local multicast too (`multicast`), for nodes that may open no raw
socket. Stray and forged frames are counted, never believed. Memory is bounded whatever arrives. Does not judge: what a
heard frame means is `fabricdoc.fabric.cabling`'s matter. Changes nothing on the node.
"""

from __future__ import annotations

import hashlib
import select
import time
from collections.abc import Callable
from typing import Any

from .beacon_frames import Sender, seal, unseal
from .beacon_ports import RawPort
from .multicast import SETTLE_S, MulticastPort
from .wire import Wire

MAX_FRAMES = 16
MAX_SENDERS = 64
AT_A_TIME = 256
AT_THE_END = 4096
IDLE_LIMIT_S = 60.0

Port = Any  # RawPort or MulticastPort: netdev, mac, method, send, take, strays, lost, close
KINDS: dict[str, Callable[[str, bytes, float], Port]] = {"beacon": RawPort, "multicast": MulticastPort}


class Senders:
    """Who was heard at one port, and how often: at most 64 are kept, frames of others are only counted.

    Which are kept does not depend on who came first, and looks the same from both ends: those whose pair of ports has
    the smallest hash. So nearly every pair is kept at both ends or at neither, and what is kept still joins all
    ports of one segment.
    """

    def __init__(self, own: Sender) -> None:
        self.own = own
        self.counts: dict[Sender, list[int]] = {}
        self.unkept, self.echoes = 0, 0
        self._ranks: dict[Sender, bytes] = {}

    def add(self, sender: Sender, near: bool) -> None:
        """Count one frame; `near` says whether it was addressed to the nearest bridge."""
        if sender[:2] == self.own[:2]:
            self.echoes += 1
        elif sender in self.counts or self._find_room(sender):
            self.counts[sender][1 if near else 0] += 1
        else:
            self.unkept += 1

    def _find_room(self, sender: Sender) -> bool:
        """Keep a sender not seen before, in place of a kept one that ranks behind it if need be."""
        rank = hashlib.sha256(repr(sorted((sender[:2], self.own[:2]))).encode()).digest()
        if len(self.counts) >= MAX_SENDERS:
            last = max(self._ranks, key=self._ranks.__getitem__)
            if self._ranks[last] <= rank:
                return False
            self.unkept += sum(self.counts.pop(last))
            del self._ranks[last]
        self.counts[sender], self._ranks[sender] = [0, 0], rank
        return True


class Ears:
    """The open ports of this node, and all that was heard on them in this run."""

    def __init__(self, node: str, nonce: bytes, key: bytes) -> None:
        self.node, self.nonce, self.key = node, nonce, key
        self.ports: list[Port] = []
        self.heard: list[Senders] = []
        self.forged: list[int] = []

    def open(self, method: str, netdevs: list[str]) -> dict[str, Any]:
        """Open ports for one kind of frame; the `ready` message, which says of each whether it is, or why not."""
        ready, refused = [], []
        end = time.monotonic() + SETTLE_S  # one for all: their addresses settle at the same time
        for netdev in netdevs:
            try:
                port = KINDS[method](netdev, self.nonce, max(0.0, end - time.monotonic()))
            except OSError as error:
                refused.append(refusal(netdev, error))
            else:
                self.add(port)
                ready.append({"netdev": netdev, "mac": port.mac})
        return {"event": "ready", "method": method, "ports": ready, "refused": refused}

    def add(self, port: Port) -> None:
        """Take one open port."""
        self.ports.append(port)
        self.heard.append(Senders(Sender(self.node, port.netdev, port.mac)))
        self.forged.append(0)

    def send(self, frames: int) -> None:
        """Send `frames` (at most 16) from every open port."""
        for port, heard in zip(self.ports, self.heard, strict=True):
            port.send(seal(self.key, self.nonce, heard.own), max(0, min(frames, MAX_FRAMES)))

    def hear(self, at: int, limit: int) -> None:
        """Take at most `limit` frames that wait at port number `at`."""
        heard = self.heard[at]
        for payload, near in self.ports[at].take(limit):
            sender = unseal(self.key, self.nonce, payload)
            if sender is None:
                self.forged[at] += 1
            else:
                heard.add(sender, near)

    def report(self) -> dict[str, Any]:
        """What was heard so far, as the `heard` message: a list of ports with their senders."""
        for at in range(len(self.ports)):
            self.hear(at, AT_THE_END)
        return {"event": "heard", "ports": [self._told(at) for at in range(len(self.ports))]}

    def _told(self, at: int) -> dict[str, Any]:
        port, heard = self.ports[at], self.heard[at]
        senders = [
            {"node": sender.node, "netdev": sender.netdev, "mac": sender.mac, "count": count, "near": near}
            for sender, (count, near) in sorted(heard.counts.items())
        ]
        return {
            "netdev": port.netdev,
            "method": port.method,
            "senders": senders,
            "unkept": heard.unkept,
            "echoes": heard.echoes,
            "stray": port.strays() + self.forged[at],
            "lost": port.lost(),
        }

    def close(self) -> None:
        """Close every port."""
        for port in self.ports:
            port.close()


def refusal(netdev: str, error: OSError) -> dict[str, Any]:
    """Why a port can't be used: the kernel's words with its number, and `lack` where its address is the matter."""
    number = error.errno or 0
    text = f"{error.strerror or error} (errno {number})" if number else str(error.strerror or error)
    return {"netdev": netdev, "reason": text, "errno": number, "lack": getattr(error, "lack", "")}


def serve(wire: Wire, ears: Ears) -> None:
    """Hear frames and obey messages until told to end, stdin ends, or nothing was asked for a minute."""
    end = time.monotonic() + IDLE_LIMIT_S
    while not wire.closed and time.monotonic() < end:
        poller = select.poll()
        numbers = {port.fileno(): at for at, port in enumerate(ears.ports)}
        for fd in (wire.fileno(), *numbers):
            poller.register(fd, select.POLLIN)
        for fd, _events in poller.poll(1000):
            if fd in numbers:
                ears.hear(numbers[fd], AT_A_TIME)
                continue
            for message in wire.pump():
                end = time.monotonic() + IDLE_LIMIT_S
                if message.get("do") == "end":
                    return
                obey(wire, ears, message)


def obey(wire: Wire, ears: Ears, message: dict[str, Any]) -> None:
    """Carry out one message: `open` more ports, `send`, or `report`; others are passed over."""
    if message.get("do") == "open":
        wire.write(ears.open(message["method"], message["ports"]))
    elif message.get("do") == "send":
        ears.send(int(message["frames"]))
        wire.write({"event": "sent"})
    elif message.get("do") == "report":
        wire.write(ears.report())


def main(wire: Wire) -> int:
    """Run the beacon probe: open ports, send when told, report as often as asked, end when told or with stdin."""
    request = wire.read(IDLE_LIMIT_S)
    if request is None or request.get("do") != "listen":
        return 2
    ears = Ears(request["node"], bytes.fromhex(request["nonce"]), bytes.fromhex(request["key"]))
    try:
        wire.write(ears.open("beacon", request["ports"]))
        serve(wire, ears)
    finally:
        ears.close()
    return 0
