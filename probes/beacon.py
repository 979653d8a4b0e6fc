"""Layer-2 beacons: which of this node's ports hears which port of another node.

Frames of the local experimental EtherType 0x88B5 (IEEE 802, also used by NVIDIA's Spark cluster scripts) are
sent from each listed port and heard on the others. A frame carries the run's nonce, the sender's node, port
and MAC, and an HMAC over all of it with the run's key: stray and forged frames are counted, never believed.
Needs CAP_NET_RAW, no address and no link configuration. Sends only when told to, only from listed ports, a few
frames each. Does not judge: what a heard frame means is `fabricdoc.fabric.cabling`'s job.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import select
import socket
import time
from typing import Any

from .wire import Wire

ETHERTYPE = 0x88B5
BROADCAST = b"\xff" * 6
MIN_PAYLOAD = 46
MAX_FRAMES = 16
IDLE_LIMIT_S = 60.0
PACKET_OUTGOING = 4


def seal(key: bytes, body: dict[str, str]) -> bytes:
    """The payload of a frame: 2-byte length, JSON body, 32-byte HMAC-SHA256, padded to 46 bytes."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    signed = len(text).to_bytes(2, "big") + text
    return (signed + hmac.new(key, signed, hashlib.sha256).digest()).ljust(MIN_PAYLOAD, b"\0")


def unseal(key: bytes, payload: bytes) -> dict[str, str] | None:
    """The body of a frame that was sealed with `key`, else None (stray, cut or forged)."""
    length = int.from_bytes(payload[:2], "big")
    signed, digest = payload[: 2 + length], payload[2 + length : 34 + length]
    if not hmac.compare_digest(hmac.new(key, signed, hashlib.sha256).digest(), digest):
        return None
    body = json.loads(signed[2:])
    return {str(name): str(value) for name, value in body.items()}


class Ports:
    """The raw sockets of the listed ports, and what was heard on them."""

    def __init__(self, node: str, nonce: str, key: bytes) -> None:
        self.node, self.nonce, self.key = node, nonce, key
        self.sockets: dict[str, socket.socket] = {}
        self.macs: dict[str, str] = {}
        self.heard: dict[tuple[str, str, str, str], int] = {}
        self.stray = 0

    def open(self, netdev: str) -> str:
        """Open one port; returns "" or the reason it can't be used."""
        try:
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
            raw.bind((netdev, ETHERTYPE))
        except OSError as error:
            return f"{error.strerror or error} (errno {error.errno})"
        raw.setblocking(False)
        self.sockets[netdev] = raw
        self.macs[netdev] = raw.getsockname()[4].hex(":")
        return ""

    def send(self, frames: int) -> dict[str, int]:
        """Send `frames` from every open port; returns how many the kernel took per port."""
        return {netdev: self._send_from(netdev, frames) for netdev in self.sockets}

    def _send_from(self, netdev: str, frames: int) -> int:
        mac = self.macs[netdev]
        body = {"nonce": self.nonce, "node": self.node, "netdev": netdev, "mac": mac}
        header = BROADCAST + bytes.fromhex(mac.replace(":", "")) + ETHERTYPE.to_bytes(2, "big")
        taken = 0
        for _ in range(min(frames, MAX_FRAMES)):
            with contextlib.suppress(OSError):
                taken += 1 if self.sockets[netdev].send(header + seal(self.key, body)) else 0
        return taken

    def hear(self, netdev: str) -> None:
        """Take every frame that waits on one port."""
        while True:
            try:
                frame, address = self.sockets[netdev].recvfrom(2048)
            except OSError:
                return
            if address[2] != PACKET_OUTGOING:
                self._believe(netdev, frame[14:])

    def _believe(self, netdev: str, payload: bytes) -> None:
        body = unseal(self.key, payload)
        if body is None or body.get("nonce") != self.nonce:
            self.stray += 1
            return
        sender = (netdev, body["node"], body["netdev"], body["mac"])
        self.heard[sender] = self.heard.get(sender, 0) + 1

    def report(self) -> dict[str, Any]:
        """What was heard so far, as the `heard` message."""
        frames = [
            {"netdev": at, "node": node, "from_netdev": netdev, "from_mac": mac, "count": count}
            for (at, node, netdev, mac), count in sorted(self.heard.items())
        ]
        return {"event": "heard", "frames": frames, "stray": self.stray}


def listen(wire: Wire, request: dict[str, Any]) -> Ports:
    """Open the ports of a `listen` request and say which are ready."""
    ports = Ports(request["node"], request["nonce"], bytes.fromhex(request["key"]))
    tried = [(netdev, ports.open(netdev)) for netdev in request["ports"]]
    refused = [{"netdev": netdev, "reason": reason} for netdev, reason in tried if reason]
    ready = [{"netdev": netdev, "mac": mac} for netdev, mac in ports.macs.items()]
    wire.write({"event": "ready", "ports": ready, "refused": refused})
    return ports


def serve(wire: Wire, ports: Ports) -> None:
    """Hear frames and obey messages until `report` was answered, stdin ends or nothing came for a minute."""
    end = time.monotonic() + IDLE_LIMIT_S
    names = {raw.fileno(): netdev for netdev, raw in ports.sockets.items()}
    while not wire.closed and time.monotonic() < end:
        for fd in select.select([wire.fileno(), *names], [], [], 1.0)[0]:
            if fd in names:
                ports.hear(names[fd])
            elif any(obey(wire, ports, message) for message in wire.pump()):
                return


def obey(wire: Wire, ports: Ports, message: dict[str, Any]) -> bool:
    """Carry out one message; true when it was the last."""
    if message.get("do") == "send":
        wire.write({"event": "sent", "counts": ports.send(int(message.get("frames", 3)))})
        return False
    if message.get("do") == "report":
        for netdev in ports.sockets:
            ports.hear(netdev)
        wire.write(ports.report())
        return True
    return False


def main(wire: Wire) -> int:
    """Run the beacon probe: listen, send when told, report, end."""
    request = wire.read(IDLE_LIMIT_S)
    if request is None or request.get("do") != "listen":
        return 2
    ports = listen(wire, request)
    serve(wire, ports)
    for raw in ports.sockets.values():
        raw.close()
    return 0
