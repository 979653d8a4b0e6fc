"""Datagrams of real frame size between two nodes, over one interface each: what arrived, and where it came in.

An asker sends from one interface (IP_PKTINFO names it, as `ping -I` would) with DF set and the cached path MTU ignored
(IP_PMTUDISC_PROBE, ip(7)); who hears a datagram of this run answers with a small one that names the interface it came
in by. So each direction is measured by itself: small answers to large questions. Needs no privilege. Every datagram is
signed with the run's key; others get no answer. Weak evidence: a network answers for addresses on any port. Over IPv6
the same by IPV6_PKTINFO and IPV6_DONTFRAG (ipv6(7), RFC 3542), a link-local address with the number of that interface.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
import struct
import time
from typing import Any

# <linux/in.h>; Python 3.10 has no names for these
IP_PKTINFO = 8
IP_MTU_DISCOVER = 10
IP_PMTUDISC_PROBE = 3
PKTINFO = struct.Struct("=i4s4s")
# <linux/in6.h>
IPV6_MTU_DISCOVER = 23
IPV6_RECVPKTINFO = 49
IPV6_PKTINFO = 50
IPV6_DONTFRAG = 62
PKTINFO6 = struct.Struct("=16si")

MAGIC = b"fd"
QUESTION, ANSWER = 1, 2
HEAD = struct.Struct("!2sBIB")
DIGEST = 16
MAX_NAME = 15
MAX_DATAGRAM = 65507
TRIES = 4
PAUSE_S = 0.25
MAX_ASKS = 4096


def pack(key: bytes, kind: int, number: int, name: bytes = b"", size: int = 0) -> bytes:
    """A signed datagram, padded to `size` bytes: mark, kind, number, name, 16 bytes of HMAC-SHA256."""
    signed = HEAD.pack(MAGIC, kind, number, len(name)) + name
    return (signed + hmac.new(key, signed, hashlib.sha256).digest()[:DIGEST]).ljust(size, b"\0")


def unpack(key: bytes, data: bytes) -> tuple[int, int, str] | None:
    """Kind, number and name of a datagram that was signed with `key`, else None."""
    if len(data) < HEAD.size:
        return None
    mark, kind, number, length = HEAD.unpack_from(data)
    end = HEAD.size + length
    wanted = hmac.new(key, data[:end], hashlib.sha256).digest()[:DIGEST]
    if mark != MAGIC or length > MAX_NAME or not hmac.compare_digest(wanted, data[end : end + DIGEST]):
        return None
    return kind, number, data[HEAD.size : end].decode("utf-8", "replace")


OPTIONS4 = ((socket.IPPROTO_IP, IP_PKTINFO, 1), (socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE))
OPTIONS6 = (
    (socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1),
    (socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, IP_PMTUDISC_PROBE),
    (socket.IPPROTO_IPV6, IPV6_DONTFRAG, 1),
)


class Ear:
    """One address of one interface: hears questions and answers, asks from there."""

    def __init__(self, netdev: str, ip: str, key: bytes) -> None:
        self.netdev, self.ip, self._key = netdev, ip, key
        self._index, self._six = socket.if_nametoindex(netdev), ":" in ip
        self.socket = socket.socket(socket.AF_INET6 if self._six else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.setblocking(False)
            for level, name, value in OPTIONS6 if self._six else OPTIONS4:
                self.socket.setsockopt(level, name, value)
            self.socket.bind(self._scoped(ip, 0))
        except OSError:
            self.socket.close()
            raise

    @property
    def port(self) -> int:
        """The UDP port the kernel chose."""
        return int(self.socket.getsockname()[1])

    def ask(self, number: int, to: tuple[str, int], size: int) -> str:
        """Send one question out of this interface; "" or why the kernel did not take it."""
        data = pack(self._key, QUESTION, number, size=min(size, MAX_DATAGRAM))
        try:
            self.socket.sendmsg([data], [self._out_of()], 0, self._scoped(*to))
        except OSError as error:
            return f"{error.strerror or error} (errno {error.errno})"
        return ""

    def _scoped(self, ip: str, port: int) -> tuple[Any, ...]:
        """The address as the kernel takes it; a link-local one (fe80::/10) holds on this interface alone."""
        link = self._six and (int.from_bytes(socket.inet_pton(socket.AF_INET6, ip)[:2], "big") & 0xFFC0) == 0xFE80
        return (ip, port, 0, self._index) if link else (ip, port)

    def _out_of(self) -> tuple[int, int, bytes]:
        """The control message that names this interface and address."""
        if self._six:
            source = PKTINFO6.pack(socket.inet_pton(socket.AF_INET6, self.ip), self._index)
            return socket.IPPROTO_IPV6, IPV6_PKTINFO, source
        return socket.IPPROTO_IP, IP_PKTINFO, PKTINFO.pack(self._index, socket.inet_aton(self.ip), bytes(4))

    def hear(self) -> list[tuple[int, str]]:
        """Take what waits: questions are answered, answers returned as (number, interface named in it)."""
        heard = []
        for _ in range(MAX_ASKS):
            try:
                data, extra, _flags, sender = self.socket.recvmsg(MAX_DATAGRAM, 64)
            except OSError:
                break
            found = unpack(self._key, data)
            if found is None:
                continue
            kind, number, name = found
            if kind == ANSWER:
                heard.append((number, name))
            elif kind == QUESTION:
                self._answer(number, _came_in_by(extra), sender)
        return heard

    def _answer(self, number: int, netdev: str, sender: Any) -> None:
        try:
            self.socket.sendto(pack(self._key, ANSWER, number, netdev.encode()[:MAX_NAME]), sender)
        except OSError:
            return


def _came_in_by(extra: list[tuple[int, int, bytes]]) -> str:
    for level, kind, data in extra:
        index = 0
        if (level, kind) == (socket.IPPROTO_IP, IP_PKTINFO) and len(data) >= PKTINFO.size:
            index = PKTINFO.unpack_from(data)[0]
        elif (level, kind) == (socket.IPPROTO_IPV6, IPV6_PKTINFO) and len(data) >= PKTINFO6.size:
            index = PKTINFO6.unpack_from(data)[1]
        if index:
            try:
                return socket.if_indextoname(index)
            except OSError:
                return ""
    return ""


class Asks:
    """The questions of one node: each is sent up to four times, a quarter of a second apart, until it is answered."""

    def __init__(self, ears: dict[tuple[str, str], Ear], wanted: list[dict[str, Any]]) -> None:
        self._ears, self._wanted = ears, wanted[:MAX_ASKS]
        self._arrived: dict[int, str] = {}
        self._reasons: dict[int, str] = {}
        self._sent = 0
        self._next = time.monotonic()

    @property
    def over(self) -> bool:
        """Whether every question is answered, or was asked often enough and long enough ago."""
        tired = self._sent >= TRIES and time.monotonic() >= self._next
        return tired or len(self._arrived) == len(self._wanted)

    @property
    def wait_s(self) -> float:
        """Seconds until the next round."""
        return max(0.0, self._next - time.monotonic())

    def advance(self) -> None:
        """Ask again what is open, when it is time."""
        if self.over or self.wait_s > 0:
            return
        for number, one in enumerate(self._wanted):
            ear = self._ears.get((one["netdev"], one["ip"]))
            if ear is not None and number not in self._arrived:
                self._reasons[number] = ear.ask(number, (one["to_ip"], int(one["to_port"])), int(one["size"]))
        self._sent += 1
        self._next = time.monotonic() + PAUSE_S

    def note(self, answers: list[tuple[int, str]]) -> None:
        """Keep answers to questions that were asked."""
        self._arrived.update({number: name for number, name in answers if number < len(self._wanted)})

    def report(self) -> list[dict[str, Any]]:
        """Each question with whether it arrived, the interface it came in by there, and why it was not sent."""
        return [
            {
                **one,
                "arrived": number in self._arrived,
                "came_in_by": self._arrived.get(number, ""),
                "reason": "" if number in self._arrived else self._reasons.get(number, "no such address was opened"),
            }
            for number, one in enumerate(self._wanted)
        ]
