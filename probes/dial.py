"""TCP connections between two nodes: what NCCL's bootstrap and a rendezvous need, and RDMA does not.

Listeners stand for seconds on ports the kernel chose (from the ephemeral range, as NCCL's do) and on the rendezvous
ports that are free; whoever connects gets the run's mark and is hung up on. A dialler tells refused, timed out and
unreachable apart, and takes nobody without the mark for the listener. Connects to no port of anybody else.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Iterator
from typing import Any

from .owners import owner

DIAL_S = 2.5
"""Long enough for one SYN sent again (after 1 s)."""
MAX_DIALS = 256
BACKLOG = 128
UNREACHABLE = frozenset((errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EACCES, errno.EPERM, errno.ENONET))


def family_of(ip: str) -> socket.AddressFamily:
    """IPv6 where there is a colon."""
    return socket.AF_INET6 if ":" in ip else socket.AF_INET


class Listener:
    """One listening socket at an address; `wanted` is the port asked for, 0 for any."""

    def __init__(self, ip: str, wanted: int, mark: bytes) -> None:
        self.ip, self.wanted, self._mark = ip, wanted, mark
        self.socket = socket.socket(family_of(ip), socket.SOCK_STREAM)
        try:
            self.socket.setblocking(False)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind((ip, wanted))
            self.socket.listen(BACKLOG)
        except OSError:
            self.socket.close()
            raise

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.socket.getsockname()[1])

    def accept(self) -> None:
        """Take one connection, say the mark, hang up."""
        try:
            connection, _peer = self.socket.accept()
        except OSError:
            return
        with connection:
            try:
                connection.setblocking(False)
                connection.send(self._mark)
            except OSError:
                return


def listen(wanted: list[dict[str, Any]], mark: bytes, root: str = "") -> tuple[list[Listener], list[dict[str, Any]]]:
    """Listeners for [{"ip", "port"}], and why others are not: {"ip", "port", "taken", "owner", "reason"}."""
    listeners, refused = [], []
    for one in wanted[:MAX_DIALS]:
        ip, port = str(one["ip"]), int(one["port"])
        try:
            listeners.append(Listener(ip, port, mark))
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            reason = f"{error.strerror or error} (errno {error.errno})"
            by = owner(port, root) if taken else ""
            refused.append({"ip": ip, "port": port, "taken": taken, "owner": by, "reason": reason})
    return listeners, refused


class Call:
    """One connection being made: `outcome` is "" until it is connected, refused, timed-out, unreachable, ... ."""

    def __init__(self, wanted: dict[str, Any], mark: bytes) -> None:
        self.wanted, self._mark, self._heard = wanted, mark, b""
        self.outcome, self.reason = "", ""
        self._begun = time.monotonic()
        self._end = self._begun + DIAL_S
        self._connected = False
        self.took_s = 0.0
        self.socket = socket.socket(family_of(str(wanted["ip"])), socket.SOCK_STREAM)
        self.socket.setblocking(False)
        code = self.socket.connect_ex((str(wanted["ip"]), int(wanted["port"])))
        if code not in (0, errno.EINPROGRESS):
            self._fail(code)

    @property
    def waits_to_write(self) -> bool:
        """Whether the connection is not made yet."""
        return not self._connected

    def advance(self, ready: bool) -> None:
        """Go on where the socket is `ready`, and give up where the time is over."""
        if self.outcome:
            return
        if ready and not self._connected:
            code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            self._connected = code == 0
            if code:
                self._fail(code)
        elif ready:
            self._read()
        if not self.outcome and time.monotonic() >= self._end:
            self._over("silent" if self._connected else "timed-out", f"nothing came within {DIAL_S:g} s")

    def report(self) -> dict[str, Any]:
        """The call with its outcome, the kernel's word, and how long it took in milliseconds."""
        took = round(self.took_s * 1000, 3)
        return {**self.wanted, "outcome": self.outcome, "reason": self.reason, "ms": took}

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def _read(self) -> None:
        try:
            got = self.socket.recv(len(self._mark) - len(self._heard))
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error.errno or errno.EIO)
            return
        self._heard += got
        if self._heard == self._mark:
            self._over("connected", "")
        elif not got or not self._mark.startswith(self._heard):
            self._over("stranger", "something else answered at this address")

    def _fail(self, code: int) -> None:
        word = f"{os.strerror(code)} (errno {code})"
        if code == errno.ECONNREFUSED:
            self._over("refused", word)
        elif code == errno.ETIMEDOUT:
            self._over("timed-out", word)
        else:
            self._over("unreachable" if code in UNREACHABLE else "failed", word)

    def _over(self, outcome: str, reason: str) -> None:
        self.outcome, self.reason = outcome, reason
        self.took_s = time.monotonic() - self._begun


def calls(wanted: list[dict[str, Any]], mark: bytes) -> Iterator[Call]:
    """A call begun for each of [{"ip", "port"}], at most 256."""
    return (Call(one, mark) for one in wanted[:MAX_DIALS])
