"""From a node's output bytes to messages: marked JSON lines are ours, everything else is noise.

A login shell may print what it likes before us, JSON included; only a line that begins with the mark and the nonce of
this one start is read. What is read is still untrusted: bounded, one JSON object a line, no NaN. Reads no descriptor.
"""

from __future__ import annotations

import json
from typing import Any

from fabricdoc.probes.wire import MARK, MAX_LINE

TAIL_BYTES = 64 * 1024


class Tail:
    """The last `limit` bytes of a text stream of unknown length."""

    def __init__(self, limit: int = TAIL_BYTES) -> None:
        self._limit = limit
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Append, forgetting what no longer fits."""
        self._data += data
        del self._data[: max(0, len(self._data) - self._limit)]

    def text(self) -> str:
        """What is left as text; bytes that are no UTF-8 are replaced."""
        return self._data.decode("utf-8", "replace")


class Frames:
    """Splits one node's stdout. `noise` is the tail of what was not ours, `broken` why reading stopped, or ""."""

    def __init__(self, nonce: str, *, limit: int = MAX_LINE) -> None:
        self._prefix = f"{MARK}{nonce} ".encode()
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self.noise = Tail()
        self.broken = ""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Take bytes in any cut and return the whole messages they complete; nothing more once `broken`."""
        messages: list[dict[str, Any]] = []
        self._buffer += data
        while not self.broken and (end := self._buffer.find(b"\n", self._searched)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._searched = 0
            message = self._line(line)
            if message is not None:
                messages.append(message)
        self._searched = len(self._buffer)
        if len(self._buffer) > self._limit:
            self._break(f"a line longer than {self._limit} bytes")
        return messages

    def finish(self) -> None:
        """The stream is over: an unfinished line counts as noise."""
        self.noise.add(bytes(self._buffer[-TAIL_BYTES:]))
        self._buffer.clear()
        self._searched = 0

    def _line(self, line: bytes) -> dict[str, Any] | None:
        if not line.startswith(self._prefix):
            self.noise.add(line[-TAIL_BYTES:] + b"\n")
            return None
        if len(line) > self._limit:
            self._break(f"a line longer than {self._limit} bytes")
            return None
        try:
            return read_message(line[len(self._prefix) :])
        except ValueError as error:
            self._break(f"a line that is no message: {error}")
            return None

    def _break(self, reason: str) -> None:
        self.broken = reason
        self._buffer.clear()
        self._searched = 0


def read_message(data: bytes) -> dict[str, Any]:
    """One JSON object from bytes; raises ValueError (a short reason) for anything else."""
    try:
        message = json.loads(data, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    if not isinstance(message, dict):
        raise ValueError(f"a JSON {type(message).__name__}, not an object")
    return message


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def write_message(message: dict[str, Any]) -> bytes:
    """One message as a line for a probe; raises ValueError for NaN, TypeError for what JSON has no form for."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
