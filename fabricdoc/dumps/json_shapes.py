"""JSON that tools print (`ip -j`, `rdma -j`, `lldpctl -f json`), found by its shape; cut-off lists give what is whole.

Documents of fabricdoc are not read here (see `saved`).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from fabricdoc.dumps.formats import Line, ip_json, lldp
from fabricdoc.dumps.formats.ip_json import integer, text
from fabricdoc.dumps.formats.rdma import device_facts, link_facts, statistic_facts
from fabricdoc.dumps.told import Told

START = re.compile(r"\s*[\[{]\s*(?:[\"{\[\]}]|$)")
GAP = re.compile(r"[\s,]*")
MAX_FAILURES = 50
Shape = tuple[str, Callable[[dict[str, Any]], bool], Callable[[dict[str, Any], int], list[Told]]]


class Found(NamedTuple):
    """A JSON value in a text: the index behind its last line, the tool ("" for an unknown shape), its facts."""

    end: int
    tool: str
    told: tuple[Told, ...]
    why: str = ""


class JsonText:
    """The lines of a text as one, to find JSON values in; after many lines that only look like JSON it gives up."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._text = ""
        self._starts: list[int] = []
        self._failures = 0

    def read(self, index: int) -> Found | None:
        """The JSON value that begins on a line, or None where none does.

        A list that is cut off gives its whole entries and says so. JSON of unknown shape is named as such.
        """
        if not START.match(self._lines[index].text) or self._failures >= MAX_FAILURES:
            return None
        self._join()
        entries, end, whole = _entries(self._text, self._starts[index])
        if entries is None:
            self._failures += 1
            return None
        tool, told = "", []
        for entry, at in entries:
            name, facts = _facts(entry, self._lines[self._row(at)].number)
            tool = tool or name
            told += facts
        if not tool:
            return Found(self._row(end - 1) + 1, "", (), "JSON of no known tool")
        return Found(self._row(end - 1) + 1, tool, tuple(told), "" if whole else "the JSON is cut off")

    def _join(self) -> None:
        if not self._starts:
            self._text = "\n".join(line.text for line in self._lines)
            self._starts = [0, *accumulate(len(line.text) + 1 for line in self._lines)]

    def _row(self, at: int) -> int:
        """The index of the line that holds a place."""
        return bisect_right(self._starts, max(at, 0)) - 1


def _entries(text: str, at: int) -> tuple[list[tuple[Any, int]] | None, int, bool]:
    """The entries of a list (or the one object) from `at` with their places, the end, whether nothing is cut off."""
    decoder = json.JSONDecoder()
    at = _behind_gap(text, at)
    if text[at] == "{":
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None, 0, False
        return [(value, at)], end, True
    found: list[tuple[Any, int]] = []
    end = at + 1
    while True:
        at = _behind_gap(text, end)
        if text[at : at + 1] == "]":
            return found, at + 1, True
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return (found or None), end, False
        found.append((value, at))


def _behind_gap(text: str, at: int) -> int:
    match = GAP.match(text, at)
    return match.end() if match else at


def _facts(entry: Any, number: int) -> tuple[str, list[Told]]:
    """The tool that writes such an object, and its facts."""
    if not isinstance(entry, dict):
        return "", []
    for tool, fits, read in SHAPES:
        if fits(entry):
            return tool, read(entry, number)
    return "", []


def _has(*keys: str) -> Callable[[dict[str, Any]], bool]:
    return lambda entry: all(key in entry for key in keys)


def _rdma_link(entry: dict[str, Any], number: int) -> list[Told]:
    return list(link_facts(text(entry, "ifname"), integer(entry, "port") or 0, entry, number)) if _named(entry) else []


def _rdma_dev(entry: dict[str, Any], number: int) -> list[Told]:
    return list(device_facts(text(entry, "ifname"), entry, number)) if _named(entry) else []


def _rdma_statistic(entry: dict[str, Any], number: int) -> list[Told]:
    counters = {key: value for key, value in entry.items() if key not in ("ifname", "ifindex", "port")}
    port = integer(entry, "port") or 0
    return list(statistic_facts(text(entry, "ifname"), port, counters, number)) if _named(entry) else []


def _named(entry: dict[str, Any]) -> bool:
    return bool(text(entry, "ifname"))


SHAPES: tuple[Shape, ...] = (
    ("rdma", _has("ifname", "node_type"), _rdma_dev),
    ("rdma", _has("ifname", "port", "state"), _rdma_link),
    ("ip", _has("ifname", "mtu"), lambda entry, number: list(ip_json.interface(entry, number))),
    ("ip", _has("ifname", "addr_info"), lambda entry, number: list(ip_json.interface(entry, number))),
    ("rdma", _has("ifname", "port"), _rdma_statistic),
    ("ip route", _has("priority", "table"), lambda entry, number: list(ip_json.rule(entry, number))),
    ("ip route", _has("dst", "state"), lambda entry, number: list(ip_json.neighbour(entry, number))),
    ("ip route", _has("dst", "dev"), lambda entry, number: list(ip_json.route(entry, number))),
    ("lldpctl", _has("lldp"), lambda entry, number: list(lldp.read(entry, number))),
)
