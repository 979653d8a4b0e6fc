"""Beacons for who may open no raw socket: UDP to ff02::1 on one interface, which never leaves the link.

Needs no privilege, only an IPv6 link-local address on the port. To ff02::1 (all nodes) and not to a group of our own,
since every switch floods it, whatever it snoops (RFC 4541, 3); hop limit 1; IPV6_MULTICAST_LOOP off, so that a port
hears only what came over its wire. IPV6_RECVPKTINFO tells where a datagram really arrived. A firewall on a node can
hide it, which raw sockets do not suffer. Believes nothing it hears.
"""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
import time
from collections.abc import Iterator

from .beacon_filters import attach, only, turned_away
from .facts import exists, linked_name, load

GROUP = "ff02::1"
PORT = 18613  # unassigned, and below Linux's ephemeral ports
UDP_HEADER = 8
MAX_DATAGRAM = 2048
SIOCGIFHWADDR = 0x8927
ADDRESSES = "/proc/self/net/if_inet6"
SETTINGS = "/proc/sys/net/ipv6/conf"
DEVICES = "/sys/class/net"
LINK_SCOPE, TENTATIVE, DAD_FAILED = 0x20, 0x40, 0x08
SETTLE_S = 2.5  # duplicate address detection takes 1 s and a random delay of up to 1 s (RFC 4862, 5.4)
POLL_S = 0.05
NO_IPV6 = "this kernel has no IPv6"
NO_ADDRESS = "no IPv6 link-local address"


class CantHear(OSError):
    """Why a port can't speak multicast; `lack` is `no-ipv6`, `ipv6-off`, `no-address`, `member`, `tentative` or
    `duplicate`."""

    def __init__(self, lack: str, reason: str) -> None:
        super().__init__(0, reason)
        self.lack = lack


class MulticastPort:
    """One port with a UDP socket bound to it; raises OSError (`CantHear` where its address is the matter)."""

    method = "multicast"

    def __init__(self, netdev: str, nonce: bytes, settle_s: float = SETTLE_S) -> None:
        self.netdev = netdev
        self.index = socket.if_nametoindex(netdev)
        await_address(netdev, settle_s)
        with contextlib.ExitStack() as opened:
            self._socket = opened.enter_context(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
            self._socket.setblocking(False)
            attach(self._socket, only(nonce, UDP_HEADER))
            self._prepare()
            opened.pop_all()

    def _prepare(self) -> None:
        level = socket.IPPROTO_IPV6
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # another run beside this one hears as well
        for option, value in (
            (socket.IPV6_V6ONLY, 1),
            (socket.IPV6_MULTICAST_IF, self.index),
            (socket.IPV6_MULTICAST_HOPS, 1),
            (socket.IPV6_MULTICAST_LOOP, 0),
            (socket.IPV6_RECVPKTINFO, 1),
        ):
            self._socket.setsockopt(level, option, value)
        self._socket.bind((GROUP, PORT, 0, self.index))

    @property
    def mac(self) -> str:
        """The port's MAC, "" where the kernel tells none (asked of the socket: /sys may show another namespace)."""
        try:
            answer = fcntl.ioctl(self._socket, SIOCGIFHWADDR, struct.pack("40s", self.netdev.encode()))
        except OSError:
            return ""
        return answer[18:24].hex(":")

    def fileno(self) -> int:
        """The descriptor to wait for."""
        return self._socket.fileno()

    def send(self, payload: bytes, frames: int) -> int:
        """Send `frames` datagrams; how many the kernel took."""
        taken = 0
        for _ in range(frames):
            with contextlib.suppress(OSError):
                taken += 1 if self._socket.sendto(payload, (GROUP, PORT, 0, self.index)) else 0
        return taken

    def take(self, limit: int) -> Iterator[tuple[bytes, bool]]:
        """Payloads that wait, at most `limit`, of datagrams that arrived on this port."""
        for _ in range(limit):
            try:
                payload, about, _flags, _sender = self._socket.recvmsg(MAX_DATAGRAM, socket.CMSG_SPACE(20))
            except OSError:
                return
            if arrived_on(about) == self.index:
                yield payload, False

    def strays(self) -> int:
        """Datagrams to our UDP port without this run's nonce, and those there was no room for, so far."""
        return turned_away(self._socket)

    def lost(self) -> int:
        """Always 0: the kernel counts them with the strays."""
        return 0

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def arrived_on(about: list[tuple[int, int, bytes]]) -> int:
    """The interface index that IPV6_PKTINFO (struct in6_pktinfo: address, index) gives; 0 without it."""
    for level, kind, data in about:
        if level == socket.IPPROTO_IPV6 and kind == socket.IPV6_PKTINFO and len(data) >= 20:
            index: int = struct.unpack_from("I", data, 16)[0]
            return index
    return 0


def await_address(netdev: str, settle_s: float) -> None:
    """Return when the port has a usable link-local address; one that is being checked gets `settle_s` seconds.

    Raises CantHear.
    """
    end = time.monotonic() + settle_s
    while True:
        flags = link_local_flags(netdev)
        if any(not flag & (TENTATIVE | DAD_FAILED) for flag in flags):
            return
        if not flags:
            raise without_address(netdev)
        if all(flag & DAD_FAILED for flag in flags):
            raise CantHear("duplicate", "its IPv6 link-local address is another machine's too")
        if time.monotonic() >= end:
            raise CantHear("tentative", "its IPv6 link-local address is still being checked")
        time.sleep(POLL_S)


def link_local_flags(netdev: str, path: str = ADDRESSES) -> list[int]:
    """The flags (linux/if_addr.h) of the port's link-local addresses; raises CantHear where there is no IPv6."""
    try:
        lines = [line.split() for line in load(path).splitlines()]
    except OSError as error:
        raise CantHear("no-ipv6", NO_IPV6) from error
    return [int(words[4], 16) for words in lines if len(words) == 6 and words[5] == netdev and _is_link(words[3])]


def _is_link(scope: str) -> bool:
    return int(scope, 16) == LINK_SCOPE


def without_address(netdev: str, settings: str = SETTINGS, devices: str = DEVICES) -> CantHear:
    """Why a port has no link-local address, as far as its settings tell it."""
    master = f"{devices}/{netdev}/master"
    if exists(master):
        return CantHear("member", f"{NO_ADDRESS}: it belongs to {linked_name(master)}, which has its addresses")
    if _setting(settings, netdev, "disable_ipv6") == "1":
        return CantHear("ipv6-off", f"{NO_ADDRESS}: IPv6 is off on it (disable_ipv6 is 1)")
    mode = _setting(settings, netdev, "addr_gen_mode")
    told = f": none is made on it (addr_gen_mode is {mode})" if mode == "1" else ""
    return CantHear("no-address", f"{NO_ADDRESS}{told}")


def _setting(settings: str, netdev: str, name: str) -> str:
    try:
        return load(f"{settings}/{netdev}/{name}")
    except OSError:
        return ""
