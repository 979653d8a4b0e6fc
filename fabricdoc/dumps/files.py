"""The files behind the paths a user names: in order, bounded, each with the node its name or folder speaks of.

Folders are walked without following links. What can't be read as text is named, never a reason to stop. Contents are
not understood here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricdoc.dumps.told import Note
from fabricdoc.errors import InputError

MAX_FILES = 10_000
MAX_DEPTH = 8
MAX_FILE = 64 << 20
MAX_ALL = 512 << 20
BINARY_SAMPLE = 8192


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: its path, the `name` shown for it, and the folder that would name its node ("" for none).

    `certain`: the folder is one of several in the path given, so it names a node whatever a prompt says.
    """

    path: Path
    name: str
    folder: str
    certain: bool = False


def listed(paths: Sequence[Path]) -> tuple[list[Source], list[Note]]:
    """Every file at or below `paths` in natural order. InputError for a path that is not there."""
    found: list[Source] = []
    notes: list[Note] = []
    for path in paths:
        if not os.path.lexists(path):
            raise InputError(f"{path}: there is no such file or folder", fix="name dumps or text files after --from")
        found += _below(path, notes) if path.is_dir() else [Source(path, str(path), _folder_of(path))]
    unique = list({os.path.realpath(one.path): one for one in reversed(found)}.values())[::-1]
    if len(unique) > MAX_FILES:
        notes.append(Note("unreadable", unique[MAX_FILES].name, f"more than {MAX_FILES} files: this and what follows"))
    return unique[:MAX_FILES], notes


def _below(top: Path, notes: list[Note]) -> list[Source]:
    """The files of a folder; the first level below it names nodes where it has folders."""
    base = _name_of(top)
    found = []
    for path in _walk(top, MAX_DEPTH, notes):
        inside = path.relative_to(top).parts
        several = len(inside) > 1
        found.append(Source(path, str(Path(top.name or str(top), *inside)), inside[0] if several else base, several))
        if len(found) > MAX_FILES:
            break
    return found


def _walk(folder: Path, depth: int, notes: list[Note]) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda one: natural(one.name))
    except OSError as error:
        notes.append(Note("unreadable", str(folder), f"can't be listed: {error.strerror}"))
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            if depth > 1:
                yield from _walk(entry, depth - 1, notes)
            else:
                notes.append(Note("unreadable", str(entry), f"nested deeper than {MAX_DEPTH} folders"))
        else:
            yield entry


def natural(text: str) -> list[tuple[int, int | str]]:
    """A key that sorts node2 before node10."""
    pieces = re.split(r"(\d{1,18})", text)
    return [(0, int(piece)) if piece.isdecimal() and piece.isascii() else (1, piece) for piece in pieces if piece]


def _folder_of(path: Path) -> str:
    return _name_of(path.parent)


def _name_of(folder: Path) -> str:
    return Path(os.path.realpath(folder)).name or "node"


def load(source: Source) -> str | Note:
    """The text of a file, or why it has none: unreadable, too large, binary. Other encodings than UTF-8 pass."""
    try:
        if source.path.stat().st_size > MAX_FILE:
            return Note("unreadable", source.name, f"is larger than {MAX_FILE >> 20} MiB")
        data = _bytes(source)
    except OSError as error:
        return Note("unreadable", source.name, f"can't be read: {error.strerror or error}")
    except InputError as error:
        return Note("unreadable", source.name, error.message)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:BINARY_SAMPLE]:
        return Note("unreadable", source.name, "is a binary file")
    return data.decode("utf-8-sig", "replace")


def _bytes(source: Source) -> bytes:
    """At most the limit, of a regular file only: a pipe or device may never end."""
    if not source.path.is_file():
        raise InputError("is a pipe or a device, not a file")
    handle = os.open(source.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        data = stream.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise InputError(f"is larger than {MAX_FILE >> 20} MiB")
    return data
