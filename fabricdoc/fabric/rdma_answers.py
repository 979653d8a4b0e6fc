"""What the RDMA ping probes of two nodes said, read with suspicion: types checked, numbers bounded, text made clean.

Anything that is not as it should be becomes a failure in phase `answer`; it never raises and never passes for success.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

MTUS = (256, 512, 1024, 2048, 4096)
MOST_TESTS, MOST_LAPS, MOST_TEXT = 8, 64, 200
PHASES = ("open", "port", "gid", "pd", "mr", "cq", "qp", "init", "rtr", "rts", "post", "poll")
LONGEST_US = 60e6
SIZE = re.compile(r"[1-9][0-9]{0,6}")


class Failure(NamedTuple):
    """What stopped one end: the phase (`silent`: no answer, `answer`: a senseless one), an errno (0: none), words."""

    phase: str
    errno: int = 0
    text: str = ""


class Opened(NamedTuple):
    """An end that was made; `active_mtu` in bytes."""

    qpn: int
    psn: int
    rkey: int
    address: int
    active_mtu: int


class Passing(NamedTuple):
    """One message each way as one end saw it: its own acknowledgement (None: no completion), and the peer's message."""

    verb: str
    size: int
    status: int | None
    arrived: bool
    whole: bool

    @property
    def passed(self) -> bool:
        """Whether both are as they should be."""
        return self.status == 0 and self.arrived and self.whole


class Report(NamedTuple):
    """What an end saw: its tests in order, round trips in microseconds, and a verb that failed in between.

    `laps_us` are of 8 bytes by SEND, `writes_us` by RDMA WRITE, by size in bytes.
    """

    tests: tuple[Passing, ...]
    laps_us: tuple[float, ...] = ()
    failure: Failure | None = None
    writes_us: Mapping[int, tuple[float, ...]] = MappingProxyType({})


def by_number(message: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """The entries of an answer by the number of their pair; what has none is left out."""
    pairs = message.get("pairs")
    entries = [one for one in pairs if isinstance(one, dict)] if isinstance(pairs, list) else []
    return {one["id"]: one for one in entries if _is_number(one.get("id"), 1 << 31)}


def read_opened(entry: Mapping[str, Any] | None) -> Opened | Failure:
    """The answer to `open` for one pair."""
    if entry is None:
        return Failure("answer", 0, "the probe left this pair out")
    if "failure" in entry:
        return read_failure(entry["failure"])
    most = {"qpn": 1 << 24, "psn": 1 << 24, "rkey": 1 << 32, "address": 1 << 64}
    if (
        not all(_is_number(entry.get(name), limit) for name, limit in most.items())
        or entry.get("active_mtu") not in MTUS
    ):
        return Failure("answer", 0, f"the probe said: {clean(entry)}")
    return Opened(*(entry[name] for name in Opened._fields))


def read_connected(entry: Mapping[str, Any] | None) -> Failure | None:
    """The answer to `connect` for one pair: None when it is connected."""
    if entry is None:
        return Failure("answer", 0, "the probe left this pair out")
    return read_failure(entry["failure"]) if "failure" in entry else None


def read_report(entry: Mapping[str, Any] | None) -> Report:
    """The answer to `ping` for one pair."""
    if entry is None:
        return Report((), (), Failure("answer", 0, "the probe left this pair out"))
    tests, laps, failure = entry.get("tests"), entry.get("laps_us"), entry.get("failure")
    if not (_is_list(tests, MOST_TESTS) and _is_list(laps, MOST_LAPS)):
        return Report((), (), Failure("answer", 0, f"the probe said: {clean(entry)}"))
    read = [_passing(one) for one in tests or ()]
    whole = tuple(one for one in read if one is not None)
    if len(whole) != len(read):
        return Report((), (), Failure("answer", 0, f"the probe said: {clean(tests)}"))
    times = tuple(float(lap) for lap in laps or () if _is_time(lap))
    return Report(whole, times, None if failure is None else read_failure(failure), _writes(entry.get("writes_us")))


def _writes(raw: Any) -> Mapping[int, tuple[float, ...]]:
    """{size in bytes: round trips in microseconds}; what makes no sense is left out, since it proves nothing."""
    entries = raw.items() if isinstance(raw, dict) and len(raw) <= MOST_TESTS else ()
    return {
        int(size): tuple(float(lap) for lap in laps if _is_time(lap))
        for size, laps in entries
        if isinstance(size, str) and SIZE.fullmatch(size) and isinstance(laps, list) and len(laps) <= MOST_LAPS
    }


def read_failure(raw: Any) -> Failure:
    """A failure as the probe told it."""
    if not isinstance(raw, dict) or raw.get("phase") not in PHASES or not _is_number(raw.get("errno"), 4096):
        return Failure("answer", 0, f"the probe said: {clean(raw)}")
    return Failure(raw["phase"], raw["errno"], clean(raw.get("text", "")))


def clean(value: Any) -> str:
    """Any value as one printable line of at most 200 characters."""
    text = str(value)[: 4 * MOST_TEXT]
    return "".join(char if char.isprintable() else " " for char in text)[:MOST_TEXT].strip()


def _passing(raw: Any) -> Passing | None:
    if not isinstance(raw, dict):
        return None
    verb, size, status = raw.get("test"), raw.get("bytes"), raw.get("status")
    arrived, whole = raw.get("arrived"), raw.get("whole", True)
    if verb not in ("send", "write") or not isinstance(size, int) or not isinstance(arrived, bool):
        return None
    if not _is_number(size, 8193) or not (status is None or _is_number(status, 256)) or not isinstance(whole, bool):
        return None
    return Passing(verb, size, status, arrived, whole)


def _is_number(value: Any, below: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LONGEST_US


def _is_list(value: Any, most: int) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) <= most
