"""A stream that takes any text: what its encoding can't hold is replaced, a reader that went away is fine.

Wraps the stdout or stderr it is given. Not a terminal library: knows nothing of colours, widths or documents.
"""

from __future__ import annotations

import errno
import os
import re
from typing import TextIO
from weakref import WeakKeyDictionary

from fabricdoc.errors import ToolError

_PLAIN = str.maketrans(
    "\u2026\u00b7\u2022\u2713\u2717\u25b8\u2192\u2190\u00b5\u00d7\u2265\u2264\u2013\u2014\u2018\u2019\u201c\u201d\u2500\u2502"
    "\u250c\u2510\u2514\u2518\u251c\u2524\u252c\u2534",
    "~-*+x>><ux><--''\"\"-|++++++++",
)
"""Marks that have a look-alike in ASCII, all of one column: ellipsis, dots, arrows, micro, quotes, box lines."""
_LIVE: WeakKeyDictionary[TextIO, int] = WeakKeyDictionary()
"""Columns of the live line left on each stream: two outlets of one stream must know of each other's."""

_TRAILING = re.compile(r"[ \t]+(?=\n)")


class Outlet:
    """A writable stream for people. `closed` says that the reader is gone; writing is then silently nothing."""

    def __init__(self, stream: TextIO | None, *, needed: bool = True) -> None:
        """`stream` may be None, as sys.stdout is when the program was started with it closed.

        One that is not `needed` (progress, complaints) only falls silent when its disk is full or its terminal gone.
        """
        self._needed = needed
        self._stream = stream
        self.closed = stream is None
        self.encoding = (getattr(stream, "encoding", None) or "utf-8").lower()

    def isatty(self) -> bool:
        """Whether a terminal is at the other end."""
        try:
            return self._stream is not None and self._stream.isatty()
        except ValueError:  # the stream was closed
            return False

    @property
    def live_columns(self) -> int:
        """How many columns of a progress line stand on the stream's current line."""
        return _LIVE.get(self._stream, 0) if self._stream is not None else 0

    @live_columns.setter
    def live_columns(self, count: int) -> None:
        if self._stream is not None:
            _LIVE[self._stream] = count

    def terminal_columns(self) -> int | None:
        """The terminal's width, or None when there is no terminal or it won't say."""
        try:
            return os.get_terminal_size(self.fileno()).columns or None
        except (OSError, ValueError):
            return None

    def fileno(self) -> int:
        """The file descriptor; OSError when there is none."""
        if self._stream is None:
            raise OSError(errno.EBADF, "no stream")
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Write what the encoding can hold, without blanks at line ends. ToolError when the disk is full."""
        self._put(self.encodable(_TRAILING.sub("", text)))
        return len(text)

    def write_exact(self, text: str) -> None:
        """Write text whose blanks matter (a file's content)."""
        self._put(self.encodable(text))

    def encodable(self, text: str) -> str:
        """`text` in characters of the stream's encoding: look-alikes for marks, `?` for the rest; never an error."""
        if text.isascii():
            return text
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            swapped = "".join(letter if self._holds(letter) else letter.translate(_PLAIN) for letter in text)
            return swapped.encode(self.encoding, "replace").decode(self.encoding)
        return text

    def _holds(self, letter: str) -> bool:
        try:
            letter.encode(self.encoding)
        except UnicodeEncodeError:
            return False
        return True

    def flush(self) -> None:
        """Push everything out now, so that a closed pipe or a full disk is met here and not at exit."""
        self._put("")

    def _put(self, text: str) -> None:
        if self.closed or self._stream is None:
            return
        try:
            if text:
                self._stream.write(text)
            self._stream.flush()
        except (BrokenPipeError, ConnectionResetError):
            self._silence()
        except OSError as error:
            self._silence()
            if self._needed:
                raise ToolError(f"can't write the output: {error.strerror}", id="output") from error
        except ValueError:  # the stream was closed under us
            self.closed = True

    def _silence(self) -> None:
        """Point the descriptor at /dev/null: Python flushes once more at exit and must not fail there."""
        self.closed = True
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
        except (OSError, ValueError):
            return
