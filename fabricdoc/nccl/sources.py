"""Log files as blocks of text: plain, gzip or zstd, any size, in constant memory, whatever bytes they hold.

A compressed file that grows beyond all measure is refused, one that ends early is read as far as it goes and says so.
What the lines mean is the reader's.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from fabricdoc.errors import InputError
from fabricdoc.nccl.cleaning import BLOCK, MAX_LINE
from fabricdoc.nccl.zstd import Stream, open_zstd

MOST_BYTES = 64 << 30
"""Expanded bytes of a compressed log that are read at most."""

FREE_BYTES = 256 << 20
MOST_RATIO = 500
"""Beyond FREE_BYTES a compressed log may be this many times its size: real ones stay far below 200, gzip's limit is
1032."""

_OTHER_KINDS = {
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf": "7z",
    b"\x04\x22\x4d\x18": "lz4",
}
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class LogFile:
    """Iterate it for the file's blocks of whole lines, once. `note` says afterwards what could not be read, else "".

    Errors: InputError when it can't be opened or read, when its compression is unknown here, or when it is a bomb.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.note = ""

    def __iter__(self) -> Iterator[str]:
        try:
            if not self.path.is_file():
                raise InputError(f"{self.path}: there is no such file")
            with self.path.open("rb") as file:
                start = file.read(8)
                file.seek(0)
                yield from whole_lines(_texts(self._chunks(file, start), start))
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror or error}") from error

    def _chunks(self, file: IO[bytes], start: bytes) -> Iterator[bytes]:
        if kind := next((kind for mark, kind in _OTHER_KINDS.items() if start.startswith(mark)), ""):
            raise InputError(
                f"{self.path}: {kind} is not read", fix="unpack it first; plain text, gzip and zstd are read"
            )
        if start.startswith(b"\x1f\x8b"):
            return self._bounded(_Gzip(file))
        if start.startswith(b"\x28\xb5\x2f\xfd"):
            return self._bounded(open_zstd(self.path, file))
        return _read(file)

    def _bounded(self, stream: Stream) -> Iterator[bytes]:
        """What a compressed stream holds, as long as it stays in proportion to the file."""
        total = 0
        try:
            while chunk := stream.read(BLOCK):
                total += len(chunk)
                packed = stream.tell_packed()
                if total > MOST_BYTES or (total > FREE_BYTES and total > MOST_RATIO * max(packed, 1)):
                    raise InputError(f"{self.path}: {total >> 20} MiB came out of {packed >> 10} KiB: not a log")
                yield chunk
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            if not total:
                raise InputError(f"{self.path}: {error}") from error
            self.note = f"the compressed file ends early or is damaged ({error}); what it gave before was read"
        finally:
            stream.close()


class _Gzip(gzip.GzipFile):
    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(fileobj=file)
        self._packed = file

    def tell_packed(self) -> int:
        return self._packed.tell()


def _read(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(BLOCK):
        yield chunk


def _texts(chunks: Iterator[bytes], start: bytes) -> Iterator[str]:
    """The chunks as text, what is no UTF-8 as U+FFFD. UTF-16 (a redirect of PowerShell) is known by its mark."""
    first = next(chunks, b"")
    coding = next((coding for mark, coding in _MARKS.items() if first.startswith(mark)), "utf-8")
    decoder = codecs.getincrementaldecoder(coding)(errors="replace")
    yield decoder.decode(first)
    for chunk in chunks:
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def whole_lines(texts: Iterator[str]) -> Iterator[str]:
    """Pieces of text cut anew where lines end. Of a line longer than a block only the beginning is kept."""
    carry = ""
    skipping = False
    for text in texts:
        if skipping:
            end = text.find("\n")
            if end < 0:
                continue
            text, skipping = text[end:], False
        text = carry + text
        end = text.rfind("\n") + 1
        carry = text[end:]
        if end:
            yield text[:end]
        if len(carry) > BLOCK:
            carry, skipping = carry[: 2 * MAX_LINE], True
    if carry:
        yield carry + "\n"
