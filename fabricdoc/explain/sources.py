"""A file's text in blocks of whole lines, and how it is told whether it is short enough to be looked at as a whole.

Compression, encodings and bombs are `fabricdoc.nccl.LogFile`'s matter; stdin is read through a file without a name.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from fabricdoc.errors import InputError
from fabricdoc.explain.files import Given
from fabricdoc.nccl import LogFile

SHORT = 8 << 20
"""Characters of a file up to which it is looked at as a whole; a longer one is read as a log alone."""
SAMPLE = 4096
"""Characters at the beginning of a file that tell whether it is text: a log may hold a stray NUL, not one in fifty."""
MOST_STDIN = 4 << 30


@dataclass(slots=True)
class Text:
    """`blocks` once; `whole` is the text of a short file, None for a long one. `note` after reading: what was left."""

    blocks: Iterable[str]
    whole: str | None
    log: LogFile

    @property
    def note(self) -> str:
        """What could not be read, "" where all was."""
        return self.log.note


def opened(given: Given) -> Text:
    """The text of a file; InputError where it can't be opened or is no text."""
    log = LogFile(given.path if given.path is not None else _stdin())
    blocks = iter(log)
    head: list[str] = []
    size = 0
    for block in blocks:
        if not head and block[:SAMPLE].count("\0") * 50 > len(block[:SAMPLE]):
            raise InputError(f"{given.name}: is a binary file", fix="name logs, dumps and env files")
        head.append(block)
        size += len(block)
        if size > SHORT:
            return Text(chain(head, blocks), None, log)
    whole = "".join(head)
    return Text([whole], whole, log)


def _stdin() -> Path:
    """What stands in stdin, in a file that is gone with this process; InputError beyond all measure."""
    spool = tempfile.NamedTemporaryFile(prefix="fabricdoc-stdin-")  # noqa: SIM115 - lives as long as the process
    _SPOOLS.append(spool)
    total = 0
    for chunk in _chunks():
        total += len(chunk)
        if total > MOST_STDIN:
            raise InputError(f"stdin holds more than {MOST_STDIN >> 30} GiB", fix="name the file instead")
        spool.write(chunk)
    spool.flush()
    return Path(spool.name)


def _chunks() -> Iterator[bytes]:
    while chunk := sys.stdin.buffer.read(1 << 20):
        yield chunk


_SPOOLS: list[object] = []
"""Keeps the files of stdin open: they vanish when the process ends."""
