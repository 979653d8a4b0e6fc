"""Signatures in the kernel's log since boot: which of those asked for are there, how often, and the last line.

Reads /dev/kmsg (Documentation/ABI/testing/dev-kmsg: one record a read, EAGAIN at the end, EPIPE where records were
overwritten) without waiting, for a bounded time and number of bytes. Only the kernel's own records count: what a
process writes there bears another facility. What a signature means is fabricdoc's (presets/signatures).
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterator
from typing import Any

from .facts import clean, unknown

PATH = "/dev/kmsg"
MAX_RECORD = 8192
MAX_BYTES = 32 << 20
LIMIT_S = 1.0
MAX_LINE = 300
MAX_SIGNATURES = 64
MAX_PATTERN = 300
MAX_IDS = 64
MAX_ID = 64
MAX_NUMBER = 12
FACILITY_SHIFT = 3
NOT_ASKED = "no kernel log signatures were asked for"

Signatures = dict[str, "re.Pattern[str]"]


def read(root: str, wanted: Any) -> Any:
    """model.host.KernelEvent of each signature found; `wanted` is the request's list of {"id", "pattern"}.

    A pattern's first group, where it has one, becomes part of the id ("xid" and Xid 79: "xid-79"). Unknown where the
    log may not be read; raises ValueError for signatures that are none.
    """
    signatures = compiled(wanted)
    if not signatures:
        return unknown(NOT_ASKED)
    try:
        descriptor = os.open(root + PATH, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return unknown(f"{PATH}: {error.strerror} (it needs CAP_SYSLOG, or kernel.dmesg_restrict=0 and a device file)")
    try:
        return found_in(records(descriptor), signatures)
    finally:
        os.close(descriptor)


def compiled(wanted: Any) -> Signatures:
    """The signatures of a request by id; raises ValueError for one that is no short text or no pattern."""
    signatures: Signatures = {}
    for one in wanted if isinstance(wanted, list) else []:
        name, pattern = (one.get("id"), one.get("pattern")) if isinstance(one, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(pattern, str) or not 0 < len(name) <= MAX_ID:
            raise ValueError("a kernel log signature needs an id and a pattern")
        if len(pattern) > MAX_PATTERN or len(signatures) >= MAX_SIGNATURES:
            raise ValueError(f"more than {MAX_SIGNATURES} signatures, or a pattern above {MAX_PATTERN} characters")
        try:
            signatures[name] = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"signature {name!r} is no pattern: {error}") from error
    return signatures


def records(descriptor: int, limit_s: float = LIMIT_S) -> Iterator[str]:
    """The kernel's own messages, oldest first, to the log's end.

    Raises OSError where that is not reached within `limit_s` seconds and 32 MiB: the newest records would be missing,
    and a count of the older ones would pass for all.
    """
    end, taken = time.monotonic() + limit_s, 0
    while taken < MAX_BYTES and time.monotonic() < end:
        try:
            data = os.read(descriptor, MAX_RECORD)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno == errno.EPIPE:
                continue
            raise
        if not data:
            return
        taken += len(data)
        if (text := message(data)) is not None:
            yield text
    raise TimeoutError(errno.ETIMEDOUT, f"{PATH}: not read to its end within {limit_s:g} s and {MAX_BYTES >> 20} MiB")


def message(record: bytes) -> str | None:
    """The text of a record ("prio,seq,time,flags;text"), None where it is not the kernel's or no record."""
    prefix, sign, rest = record.partition(b";")
    priority = prefix.split(b",", 1)[0]
    if not sign or not priority.isdigit() or int(priority) >> FACILITY_SHIFT:
        return None
    return rest.split(b"\n", 1)[0].decode("utf-8", "replace")


def found_in(lines: Iterator[str], signatures: Signatures) -> list[dict[str, Any]]:
    """Every signature met in these lines, in the order asked, numbered ones by when they were first met."""
    any_of = re.compile("|".join(f"(?:{one.pattern})" for one in signatures.values()))
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        if any_of.search(line):
            for name, pattern in signatures.items():
                if match := pattern.search(line):
                    _note(found, _numbered(name, match), line)
    order = {name: place for place, name in enumerate(signatures)}
    return sorted(found.values(), key=lambda one: order.get(one["id"], order.get(one["id"].rpartition("-")[0], 0)))


def _numbered(name: str, match: re.Match[str]) -> str:
    number = match[1] if match.re.groups else None
    return f"{name}-{clean(number)[:MAX_NUMBER]}" if number else name


def _note(found: dict[str, dict[str, Any]], name: str, line: str) -> None:
    if name not in found and len(found) >= MAX_IDS:
        return
    event = found.setdefault(name, {"id": name, "count": 0, "last": ""})
    event["count"] += 1
    event["last"] = clean(line)[:MAX_LINE]
