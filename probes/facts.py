"""Facts of a node: a value, or the reason there is none. The small readers every section is built on.

Nothing here knows what a file means, and nothing here raises for a file that can't be read. Text is bounded
and always valid Unicode, since whatever wrote it is not trusted.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import Any

READ_ERRORS = (OSError, ValueError, LookupError, struct.error)
MAX_FILE = 65536
MAX_REASON = 300
MAX_TEXT = 4096
MAX_NUMBER = 2**63


def unknown(reason: str) -> dict[str, str]:
    """The fact that could not be read, with its reason in one line."""
    return {"unknown": clean(" ".join(reason.split()))[:MAX_REASON]}


def is_unknown(fact: Any) -> bool:
    """Whether a fact is a reason instead of a value."""
    return isinstance(fact, dict) and set(fact) == {"unknown"}


def clean(text: str) -> str:
    """Text that JSON and UTF-8 can carry: what was no valid UTF-8 becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def why(error: BaseException) -> str:
    """One line for an error: the path and the kernel's words for an OSError, else its type and text."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"


def attempt(read: Callable[[], Any]) -> Any:
    """What `read` returns, or why it could not (OSError, ValueError, LookupError, struct.error)."""
    try:
        return read()
    except READ_ERRORS as error:
        return unknown(why(error))


def load(path: str) -> str:
    """The stripped text of a small file (first 64 KiB); raises OSError that names the path."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    data = b""
    try:
        while len(data) < MAX_FILE and (chunk := os.read(descriptor, MAX_FILE)):
            data += chunk
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(descriptor)
    return data[:MAX_FILE].decode("utf-8", "replace").strip().strip("\0")


def names(folder: str) -> list[str]:
    """The names in a folder, sorted; raises OSError."""
    with os.scandir(folder) as entries:
        return sorted(clean(entry.name) for entry in entries)


def listed(folder: str) -> list[str]:
    """The names in a folder, sorted; none where it can't be listed."""
    try:
        return names(folder)
    except OSError:
        return []


def exists(path: str) -> bool:
    """Whether something is there (a dangling link is nothing)."""
    return os.access(path, os.F_OK)


def linked_name(path: str) -> str:
    """The last part of the name a symbolic link leads to; raises OSError where nothing is there."""
    return os.path.realpath(path, strict=True).rpartition("/")[2]


def read_text(path: str) -> Any:
    """The text of a file as a fact; an empty file is unknown too, and one above 4096 characters (a page of sysfs)."""
    text = attempt(lambda: load(path) or unknown(f"{path}: empty"))
    return text if len(text) <= MAX_TEXT else unknown(f"{path}: {len(text)} characters")


def read_int(path: str) -> Any:
    """The whole number in a file as a fact; one of more than 64 bits is none."""
    number = attempt(lambda: int(load(path)))
    return number if is_unknown(number) or abs(number) < MAX_NUMBER else unknown(f"{path}: a number beyond 64 bits")
