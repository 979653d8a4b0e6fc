"""What files tell, each piece at its place: lines of logs, settings, facts of dumps, results of nccl-tests.

Plain records. Nothing is read here and nothing is judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Use = Literal["event", "cause", "follower", "harmless", "quiet", "call"]
Groups = Mapping[str, str]
Process = tuple[str, str, int, int]
"""File, host, pid and GPU of one rank's process."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A line at its place: the file's name, its number from 1, its text, and the node ("" where nothing tells).

    `quote` is the part that stands there verbatim, where the text does not: colours or a wrap are taken out of it.
    """

    file: str
    line: int
    text: str
    node: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A line that NCCL's table knows: the event's name and groups, how it counts, who wrote it and when."""

    event: str
    spot: Spot
    groups: Groups = field(default_factory=dict)
    use: Use = "event"
    level: str = ""
    message: str = ""
    host: str = ""
    process: Process | None = None
    time: str = ""


@dataclass(frozen=True, slots=True)
class Set:
    """A variable and its value as its reader takes it. `by` says who told: NCCL itself (log), or a file of settings.

    `form` is the format of that file, "" in a log; `how` is environment, filter, communicator or plugin there.
    `wrong` are the ids of complaints on how a file writes it, whatever the value means.
    """

    name: str
    value: str
    spot: Spot
    by: Literal["log", "file"]
    form: str = ""
    how: str = "environment"
    process: Process | None = None
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a dump: its path (`fabricdoc.dumps.Told`), its value, where it stands."""

    path: tuple[str | int, ...]
    value: Any
    spot: Spot


@dataclass(frozen=True, slots=True)
class Row:
    """A row of nccl-tests: bytes, bus bandwidth in GB/s out of place and in place, wrong values (None: not checked)."""

    size: int
    busbw: tuple[float, ...]
    wrong: int | None
    spot: Spot


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of another program (kernel, engine, shell) that a row of presets/causes/signs.csv names."""

    id: str
    spot: Spot
    groups: Groups = field(default_factory=dict)


@dataclass(slots=True)
class Material:
    """Everything that one file told; `node` is what its name says, `hosts` who speaks in it.

    `under` holds the node of each line that stands under a heading or a prompt which names one, `headed` that of
    each host which speaks under one heading alone.
    """

    name: str
    node: str = ""
    kinds: list[str] = field(default_factory=list)
    lines: int = 0
    note: str = ""
    hosts: dict[str, None] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    sets: list[Set] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    signs: list[Sign] = field(default_factory=list)
    unknown_warnings: int = 0
    under: dict[int, str] = field(default_factory=dict)
    headed: dict[str, str] = field(default_factory=dict)
