"""The LLDP probe: listens on ports for what the machines at their other ends say of themselves, and never sends.

LLDP is sent every 30 s or so (IEEE 802.1AB-2016, 9.2.5.7: msgTxInterval), so it listens as long. Needs CAP_NET_RAW. The
ports' hardware lets LLDP's group addresses pass only while somebody asked for them, which a socket's membership does.
Where a daemon runs, `lldpd` reads what that one heard. What a neighbour means is fabricdoc's matter.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .facts import unknown
from .lldp_frames import ETHERTYPE, neighbour
from .wire import Wire

REQUEST_WAIT_S = 30.0
LISTEN_S = 30.0
MOST_S = 120.0
MAX_PORTS = 64
MAX_NEIGHBOURS = 64
GROUPS = ("01:80:c2:00:00:0e", "01:80:c2:00:00:03", "01:80:c2:00:00:00")
"""Nearest bridge, nearest bridge that relays, nearest customer bridge (802.1AB-2016, table 7-1)."""
# <linux/if_packet.h>
SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP = 1
PACKET_MR_MULTICAST = 0
PACKET_OUTGOING = 4
MEMBERSHIP = struct.Struct("=iHH8s")


class Port:
    """One port that listens: its socket and the neighbours heard, by chassis and port."""

    def __init__(self, netdev: str) -> None:
        self.netdev = netdev
        self.heard: dict[tuple[str, str], dict[str, Any]] = {}
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        try:
            self.socket.bind((netdev, ETHERTYPE))
            index = socket.if_nametoindex(netdev)
            for group in GROUPS:
                address = bytes.fromhex(group.replace(":", "")).ljust(8, b"\0")
                wanted = MEMBERSHIP.pack(index, PACKET_MR_MULTICAST, 6, address)
                self.socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, wanted)
        except OSError:
            self.socket.close()
            raise
        self.socket.setblocking(False)

    def take(self) -> None:
        """Take one frame that waits; our own are passed over, as is everything after 64 neighbours."""
        try:
            frame, address = self.socket.recvfrom(2048)
        except OSError:
            return
        said = neighbour(frame[14:]) if address[2] != PACKET_OUTGOING else None
        if said is not None and (len(self.heard) < MAX_NEIGHBOURS or (said["chassis"], said["port"]) in self.heard):
            self.heard[said["chassis"], said["port"]] = {"netdev": self.netdev, **said}


def open_ports(netdevs: Sequence[str]) -> tuple[list[Port], dict[str, str]]:
    """The ports that could be opened, and why the others could not, by name; at most 64 are tried."""
    ports, refused = [], {}
    for netdev in list(dict.fromkeys(netdevs))[:MAX_PORTS]:
        try:
            ports.append(Port(netdev))
        except OSError as error:
            refused[netdev] = f"{error.strerror or error} (errno {error.errno})"
    return ports, refused


def listen(wire: Wire, ports: Sequence[Port], seconds: float) -> None:
    """Hear for `seconds`, or until nobody waits for the answer any more."""
    end = time.monotonic() + seconds
    by_fd = {port.socket.fileno(): port for port in ports}
    while not wire.closed and (left := end - time.monotonic()) > 0:
        for fd in select.select([wire.fileno(), *by_fd], [], [], left)[0]:
            if fd in by_fd:
                by_fd[fd].take()
            else:
                wire.pump()


def answer(ports: Sequence[Port], refused: Mapping[str, str]) -> dict[str, Any]:
    """The `result` message: neighbours in the order of ports and names, or why there can be none."""
    heard: Any = [one for port in ports for _key, one in sorted(port.heard.items())]
    if not ports:
        reason = next(iter(refused.values()), "no port to listen on")
        heard = unknown(f"listening for LLDP needs CAP_NET_RAW: {reason}" if refused else reason)
    return {"event": "result", "lldp": heard, "refused": dict(refused)}


def main(wire: Wire) -> int:
    """Answer one {"do": "hear", "ports": [...], "seconds": 30}; 1 when no request came, 2 for another one."""
    request = wire.read(REQUEST_WAIT_S)
    if request is None:
        return 1
    if request.get("do") != "hear":
        wire.write({"event": "error", "message": "the LLDP probe only knows the request hear"})
        return 2
    ports, refused = open_ports([str(name) for name in request.get("ports", [])])
    try:
        if ports:
            listen(wire, ports, min(MOST_S, max(0.0, float(request.get("seconds", LISTEN_S)))))
        wire.write(answer(ports, refused))
    finally:
        for port in ports:
            port.socket.close()
    return 0
