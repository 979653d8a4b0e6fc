"""`mlnx_qos -i IF` (mlnx-tools): trust, DSCP map, PFC, traffic classes. It names its interface in its command only.

ECN is not part of it (sysfs holds that).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fabricdoc.dumps.formats.base import Format, Line, whole
from fabricdoc.dumps.told import Told

PRIORITIES, DSCPS, CLASSES = 8, 64, 8
TRUST = re.compile(r"\s*Priority trust state:\s*(dscp|pcp)\b")
DSCP = re.compile(r"\s*prio:(\d)\s+dscp:([\d,]*)")
ENABLED = re.compile(r"\s*enabled((?:\s+[01]){8})\s*$")
CLASS = re.compile(r"\s*tc:\s*(\d)\s.*?tsa:\s*(\w+)(?:.*?bw:\s*(\d{1,3})%)?")
PRIORITY = re.compile(r"\s*priority:\s*(\d)\s*$")


def read(lines: Sequence[Line], argument: str) -> Iterator[Told]:
    """Facts of one output (model.fabric.Qos); none where its interface is not known."""
    if not argument:
        return
    dscp: dict[int, int] = {}
    algorithms: dict[int, str] = {}
    percents: dict[int, int] = {}
    classes: dict[int, int] = {}
    at: dict[str, int] = {}
    current: int | None = None
    yield Told(("qos", argument, "source"), "mlnx_qos", lines[0].number)
    for number, text in lines:
        if match := TRUST.match(text):
            yield Told(("qos", argument, "trust"), match[1], number)
        elif match := DSCP.match(text):
            dscp |= {int(one): int(match[1]) for one in match[2].split(",") if one and len(one) < 3}
            at.setdefault("dscp", number)
        elif match := ENABLED.match(text):
            yield Told(("qos", argument, "pfc"), [word == "1" for word in match[1].split()], number)
        elif match := CLASS.match(text):
            current = int(match[1])
            algorithms[current], percents[current] = match[2], whole(match[3] or "") or 0
            at.setdefault("tc", number)
        elif (match := PRIORITY.match(text)) and current is not None:
            classes[int(match[1])] = current
    yield from _table(argument, "dscp_priority", dscp, DSCPS, at.get("dscp"))
    yield from _table(argument, "priority_tc", classes, PRIORITIES, at.get("tc"))
    yield from _table(argument, "tc_algorithm", algorithms, CLASSES, at.get("tc"))
    yield from _table(argument, "tc_percent", percents, CLASSES, at.get("tc"))


def _table(netdev: str, field: str, found: dict[int, Any], size: int, number: int | None) -> list[Told]:
    """A whole table only: one that is cut off tells nothing of its missing entries."""
    if number is None or not set(range(size)) <= set(found):
        return []
    return [Told(("qos", netdev, field), [found[index] for index in range(size)], number)]


FORMAT = Format(
    tool="mlnx_qos",
    command=r"mlnx_qos\b(?:.*?(?:-i|--interface)[ =]?(?P<arg>[A-Za-z][\w.@-]{0,63}))?",
    file=r"(?:mlnx[-_]?)?qos",
    begins=r"DCBX mode:|Priority trust state:|dscp2prio mapping:|PFC configuration:|\s*tc:\s*\d\s+ratelimit:",
    goes_on=r"\s*prio:\d|\s*Receive buffer size|\s*Cable len:|\s+(?:priority|enabled|buffer)\s"
    r"|\s*priority:\s*\d|\*{3,}|\s*default priority:",
    read=read,
)
