"""A file's text in blocks of whole lines, and how it is told whether it is short enough to be looked at as a whole.

Compression, encodings and bombs are `fabricdoc.nccl.LogFile`'s matter; stdin and pipes are read through a file without
a name, devices are refused.
"""

from __future__ import annotations

import os
import select
import stat
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
SILENCE_S = 60.0
"""Seconds that a pipe may say nothing: it may be a log that somebody still follows."""


@dataclass(slots=True)
class Text:
    """`blocks` once; `whole` is the text of a short file, None for a long one. `note` after reading: what was left.

    `start` is how it begins, a block at most.
    """

    blocks: Iterable[str]
    whole: str | None
    log: LogFile
    start: str = ""

    @property
    def note(self) -> str:
        """What could not be read, "" where all was."""
        return self.log.note


def opened(given: Given) -> Text:
    """The text of a file; InputError where it can't be opened or is no text."""
    log = LogFile(_regular(given.path) if given.path is not None else _spooled(_chunks(), "stdin"))
    blocks = iter(log)
    head: list[str] = []
    size = 0
    for block in blocks:
        if not head and block[:SAMPLE].count("\0") * 50 > len(block[:SAMPLE]):
            raise InputError(f"{given.name}: is a binary file", fix="name logs, dumps and env files")
        head.append(block)
        size += len(block)
        if size > SHORT:
            return Text(chain(head, blocks), None, log, head[0])
    whole = "".join(head)
    return Text([whole], whole, log, whole[:SAMPLE])


def _regular(path: Path) -> Path:
    """The file itself, or what a pipe holds as one; InputError for what is neither (a device, a socket)."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return path  # the reader of files says what is wrong with it
    if stat.S_ISFIFO(kind):
        return _spooled(_of_pipe(path), str(path))
    if not stat.S_ISREG(kind):
        raise InputError(f"{path}: is a device, not a file: nothing is read from it", fix="name logs, dumps, env files")
    return path


def _of_pipe(path: Path) -> Iterator[bytes]:
    """What a pipe holds, to its end; one that nobody writes to is empty. InputError where nothing comes for long."""
    try:
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    try:
        while True:
            try:
                chunk = os.read(pipe, 1 << 20)
            except BlockingIOError:
                _wait_for(pipe, path)
                continue
            if not chunk:
                return
            yield chunk
    finally:
        os.close(pipe)


def _wait_for(pipe: int, path: Path) -> None:
    if not select.select([pipe], [], [], SILENCE_S)[0]:
        raise InputError(f"{path}: nothing came for {SILENCE_S:.0f} s", fix="write it to a file first")


def _spooled(chunks: Iterable[bytes], name: str) -> Path:
    """A stream in a file that is gone with this process; InputError beyond all measure."""
    spool = tempfile.NamedTemporaryFile(prefix="fabricdoc-stdin-")  # noqa: SIM115 - lives as long as the process
    _SPOOLS.append(spool)
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > MOST_STDIN:
            raise InputError(f"{name} holds more than {MOST_STDIN >> 30} GiB", fix="name the file instead")
        spool.write(chunk)
    spool.flush()
    return Path(spool.name)


def _chunks() -> Iterator[bytes]:
    while chunk := sys.stdin.buffer.read(1 << 20):
        yield chunk


_SPOOLS: list[object] = []
"""Keeps the files of stdin open: they vanish when the process ends."""
