"""One bench at a time on a node: a name that the live agent holds and the kernel frees when it dies.

The name is an abstract Unix socket, which belongs to the network namespace (what a bench loads) and leaves no file.
It warns those who ask; it stops nobody who does not.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import time

NAME = "\0fabricdoc-bench-agent"
WAIT_S = 2.0
_STEP_S = 0.1
_CREDENTIALS = struct.Struct("3i")  # struct ucred of unix(7): pid, uid, gid


class Claim:
    """The claim of this process on its node; held until the process ends."""

    def __init__(self, name: str = NAME) -> None:
        self._name = name
        self._held: socket.socket | None = None

    def take(self, wait_s: float = WAIT_S) -> int:
        """0 when the node is ours (also where it can't be told); else the pid of the other agent, -1 when unknown.

        An agent that is about to end is waited for, at most `wait_s`.
        """
        end = time.monotonic() + wait_s
        while not self._bind():
            if time.monotonic() >= end:
                return holder(self._name)
            time.sleep(_STEP_S)
        return 0

    def _bind(self) -> bool:
        if self._held is not None:
            return True
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.bind(self._name)
            sock.listen(8)
        except OSError as problem:
            sock.close()
            return problem.errno != errno.EADDRINUSE
        self._held = sock
        return True

    def let_go(self) -> None:
        """Free the name before the process ends."""
        if self._held is not None:
            self._held.close()
            self._held = None


def holder(name: str) -> int:
    """The pid of the process that listens under that name; -1 when it is gone, full, or in another pid namespace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock, contextlib.suppress(OSError):
        sock.setblocking(False)
        sock.connect(name)
        pid: int = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
        return pid if pid > 0 and pid != os.getpid() else -1
    return -1
