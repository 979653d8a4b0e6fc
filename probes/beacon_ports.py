"""Raw sockets of ports: layer-2 frames of the local experimental EtherType 0x88B5, sent and heard.

(IEEE 802 sets that EtherType aside for experiments; NVIDIA's Spark cluster scripts use it for the same purpose.) Needs
CAP_NET_RAW, no address and no configuration. Frames go to the broadcast address, and one of each batch to 01:80:c2:
00:00:0e, which bridges never pass on (IEEE 802.1Q, 8.6.3): where only broadcasts arrive, a switch lies between. Does
not say what a frame means, and believes none (`beacon_frames.unseal` does).
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

from .beacon_filters import SOL_PACKET, all_but, attach, only, passed

ETHERTYPE = 0x88B5
HEADER = 14
BROADCAST = b"\xff" * 6
NEAREST_BRIDGE = bytes.fromhex("0180c200000e")
ARPHRD_ETHER = 1
PACKET_OUTGOING = 4
PACKET_ADD_MEMBERSHIP = 1
PACKET_MR_MULTICAST = 0
MAX_FRAME = 2048
LEAST_BUFFER = 1  # the kernel makes it the smallest it has; frames that are only counted need no room


class RawPort:
    """One port with a raw socket for frames of this run and one that only counts the others. OSError if it can't be."""

    method = "beacon"

    def __init__(self, netdev: str, nonce: bytes, _settle_s: float = 0.0) -> None:
        self.netdev = netdev
        self._strays, self._lost = 0, 0
        with contextlib.ExitStack() as opened:
            self._socket = opened.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            self._others = opened.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            self._others.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LEAST_BUFFER)
            for one, code in ((self._socket, only(nonce, HEADER)), (self._others, all_but(nonce, HEADER))):
                one.setblocking(False)
                attach(one, code)  # before it is bound: until then nothing arrives
                one.bind((netdev, ETHERTYPE))
            self.mac = self._own_mac()
            self._hear_nearest_bridge()
            opened.pop_all()

    def _own_mac(self) -> str:
        _netdev, _protocol, _kind, hardware, address = self._socket.getsockname()
        if hardware != ARPHRD_ETHER or len(address) != 6:
            raise OSError(0, f"not Ethernet (hardware type {hardware})")
        return str(address.hex(":"))

    def _hear_nearest_bridge(self) -> None:
        """Have the NIC let that address in while this socket is open; one that can't is no failure."""
        index = socket.if_nametoindex(self.netdev)
        wanted = struct.pack("iHH8s", index, PACKET_MR_MULTICAST, len(NEAREST_BRIDGE), NEAREST_BRIDGE)
        with contextlib.suppress(OSError):
            self._socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, wanted)

    def fileno(self) -> int:
        """The descriptor to wait for."""
        return self._socket.fileno()

    def send(self, payload: bytes, frames: int) -> int:
        """Send `frames` broadcasts and one frame to the nearest bridge; how many broadcasts the kernel took."""
        tail = bytes.fromhex(self.mac.replace(":", "")) + ETHERTYPE.to_bytes(2, "big") + payload
        taken = sum(self._sent(BROADCAST + tail) for _ in range(frames))
        self._sent(NEAREST_BRIDGE + tail)
        return taken

    def _sent(self, frame: bytes) -> int:
        try:
            return 1 if self._socket.send(frame) else 0
        except OSError:
            return 0

    def take(self, limit: int) -> Iterator[tuple[bytes, bool]]:
        """Payloads that wait, at most `limit`, each with whether it was addressed to the nearest bridge."""
        for _ in range(limit):
            try:
                frame, address = self._socket.recvfrom(MAX_FRAME)
            except OSError:
                return
            if address[2] != PACKET_OUTGOING:
                yield frame[HEADER:], frame[:6] == NEAREST_BRIDGE

    def strays(self) -> int:
        """Frames of the EtherType without this run's nonce that arrived so far."""
        self._strays += passed(self._others)[0]
        return self._strays

    def lost(self) -> int:
        """Frames with this run's nonce that came faster than they were read, so far."""
        self._lost += passed(self._socket)[1]
        return self._lost

    def close(self) -> None:
        """Close both sockets."""
        self._socket.close()
        self._others.close()
