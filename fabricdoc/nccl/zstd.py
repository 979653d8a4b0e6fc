"""A zstd file as a stream of plain bytes: by a module of this Python, else by the `zstd` program where it is installed.

Python 3.14 has `compression.zstd`; `backports.zstd`, `pyzstd` and `zstandard` do the same for older ones. Memory is
bounded by the window (128 MiB, what zstd itself takes without being told); how much may come out is `sources`' matter.
The program gets the open file as its input, no name, and is ended with the stream.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import shutil
import subprocess
from pathlib import Path
from typing import IO, Any, Protocol

from fabricdoc.errors import InputError

MODULES = ("compression.zstd", "backports.zstd", "pyzstd", "zstandard")
PROGRAM = "zstd"
WINDOW = 1 << 27
"""Bytes that a frame may make its reader keep: zstd's own limit where none is given."""
SILENT_S = 120
"""Seconds without a byte after which the program is given up."""


class Stream(Protocol):
    """What a compressed file is read by. EOFError: it ends early or is damaged."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, b"" at the end."""

    def tell_packed(self) -> int:
        """Bytes of the compressed file that were read so far."""

    def close(self) -> None:
        """Let go of what was opened, at any time."""


def open_zstd(path: Path, file: IO[bytes]) -> Stream:
    """The plain bytes of `file`, which was opened from `path`; InputError where nothing here can unpack it."""
    for name in MODULES:
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        return _ByModule(module, file)
    if program := shutil.which(PROGRAM):
        return _ByProgram(program, path)
    raise InputError(
        f"{path}: zstd can't be read by this Python, and the program zstd is not there",
        fix=f"apt-get install zstd, or pip install zstandard, or unpack it where zstd is: unzstd {path.name}",
    )


class _ByModule:
    def __init__(self, module: Any, file: IO[bytes]) -> None:
        self._file = file
        self._error: type[Exception] = module.ZstdError
        if hasattr(module, "ZstdDecompressor") and hasattr(module.ZstdDecompressor, "stream_reader"):
            maker = module.ZstdDecompressor(max_window_size=WINDOW)
            self._stream: IO[bytes] = maker.stream_reader(file, read_across_frames=True)
        else:
            self._stream = module.ZstdFile(file)

    def read(self, size: int, /) -> bytes:
        try:
            return self._stream.read(size)
        except self._error as error:
            raise EOFError(str(error)[:200]) from error

    def tell_packed(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._stream.close()


class _ByProgram:
    def __init__(self, program: str, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        command = [program, "-dcq", f"--memory={WINDOW}"]
        try:
            self._process = subprocess.Popen(
                command, stdin=self._file, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"LC_ALL": "C"}
            )
        except OSError as error:
            self._file.close()
            raise InputError(f"{path}: {program}: {error.strerror or error}") from error

    def read(self, size: int, /) -> bytes:
        out, said = self._process.stdout, self._process.stderr
        assert out is not None
        assert said is not None
        if not select.select([out], [], [], SILENT_S)[0]:
            raise EOFError(f"{PROGRAM} gave nothing for {SILENT_S} s")
        chunk = os.read(out.fileno(), size)
        if not chunk and self._ended() != 0:
            told = os.read(said.fileno(), 400).decode("utf-8", "replace") if select.select([said], [], [], 0)[0] else ""
            raise EOFError(
                " ".join(told.partition(":")[2].split()) or f"{PROGRAM} ended with {self._process.returncode}"
            )
        return chunk

    def _ended(self) -> int:
        try:
            return self._process.wait(SILENT_S)
        except subprocess.TimeoutExpired as error:
            raise EOFError(f"{PROGRAM} does not end") from error

    def tell_packed(self) -> int:
        """The program reads by the same open file, so its place is here."""
        return self._file.tell()

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(SILENT_S)
        for one in (self._process.stdout, self._process.stderr, self._file):
            if one is not None:
                one.close()
