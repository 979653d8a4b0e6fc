"""The line protocol between fabricdoc and a probe: JSON messages in on fd 0, marked JSON lines out.

Every line of ours starts with the record separator and the nonce the controller chose, so a login shell that
prints its own lines can't be mistaken for us. Descriptor 1 is handed to stderr once a wire is open: a stray
print never corrupts the stream. No judgement and no measuring here.
"""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

MARK = "\x1e"
MAX_LINE = 16 * 1024 * 1024


class Wire:
    """Messages to and from the controller. `closed` turns true when its end of stdin is gone."""

    def __init__(self, nonce: str, read_fd: int = 0, write_fd: int = 1) -> None:
        self._prefix = (MARK + nonce + " ").encode()
        self._in = read_fd
        self._out = os.dup(write_fd)
        os.set_inheritable(self._out, False)
        os.dup2(2, write_fd)
        self._buffer = b""
        self._waiting: list[dict[str, Any]] = []
        self.closed = False

    def fileno(self) -> int:
        """The descriptor to select on for input."""
        return self._in

    def write(self, message: dict[str, Any]) -> None:
        """Send one message; a controller that is gone closes the wire instead of raising."""
        data = self._prefix + json.dumps(message, separators=(",", ":")).encode() + b"\n"
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._out, view) :]
        except OSError:
            self.closed = True

    def pump(self) -> list[dict[str, Any]]:
        """Read what is there now (blocks only if nothing is) and return the whole messages in it."""
        chunk = os.read(self._in, 1 << 16)
        if not chunk:
            self.closed = True
        self._buffer += chunk
        if len(self._buffer) > MAX_LINE:
            raise ValueError(f"a message longer than {MAX_LINE} bytes")
        *lines, self._buffer = self._buffer.split(b"\n")
        return [json.loads(line) for line in lines if line.strip()]

    def read(self, timeout_s: float) -> dict[str, Any] | None:
        """The next message, or None when the time is over or the controller is gone."""
        end = time.monotonic() + timeout_s
        while not self._waiting and not self.closed:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                return None
            self._waiting += self.pump()
        return self._waiting.pop(0) if self._waiting else None
