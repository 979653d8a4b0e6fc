"""One timeline per rank, from any number of logs: what each process was, did and complained of.

Memory is bounded. Logs of several ranks and nodes may be interleaved in one file. A process is told by host, pid and
GPU; which rank it is, by the line of its largest communicator. `first_errors` puts the errors of all ranks in the order
of cause: the root is seldom the line printed last. What the errors mean is not said here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from fabricdoc.nccl.events import Use, load_rules
from fabricdoc.nccl.reader import Event, LogReader
from fabricdoc.nccl.records import Completion, RankSeen
from fabricdoc.nccl.releases import ReleaseFinder, Span, signs_of_releases
from fabricdoc.nccl.speakers import MAX_HEAD, front_of, moment, speaker
from fabricdoc.nccl.typed import record_of

MOST_RANKS = 8192
MOST_MOMENTS = 400
MOST_OF_A_KIND = 40
MOST_ERRORS = 100
MOST_OF_ONE = 12
"""Errors of one event that are kept per process: retries come by the dozen."""

FLUSHED = 5
"""Completion status of work that was thrown away after another error."""

_MILESTONES = frozenset(
    (
        *("version", "driver", "env.int", "env.str", "env.ifname", "env.hca", "env.config", "boot.if", "plugin.loaded"),
        *("net.used", "net.init", "ib.using", "ib.none", "ib.vdev", "sock.using", "gdr.hca", "gdr.ring", "net.count"),
        *("comm.shape", "comm.init", "comm.end", "comm.timings", "conn.rings", "chan.count"),
        *("topo.system", "topo.graph"),
    )
)
"""Events kept with their line. Of others only their number is kept."""


@dataclass(frozen=True, slots=True)
class Moment:
    """An event at its place. `time` is the line's own or the last one its process wrote, "" where there is none."""

    source: str
    line: int
    time: str
    event: str
    text: str
    use: Use


@dataclass(slots=True)
class Timeline:
    """What one process wrote. `rank` is None until a line told it; `counts` is how often each event came."""

    source: str
    host: str
    pid: int
    gpu: int
    rank: int | None = None
    ranks: int = 0
    nodes: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)
    errors: list[Moment] = field(default_factory=list)
    finder: ReleaseFinder = field(default_factory=ReleaseFinder)
    clock: str = ""

    @property
    def release(self) -> Span | None:
        """The NCCL that wrote it, or the range that fits."""
        return self.finder.span()

    def name(self) -> str:
        """The rank, else the process."""
        return f"rank {self.rank}" if self.rank is not None else f"{self.host}:{self.pid}"


@dataclass(slots=True)
class Timelines:
    """All timelines of the logs read, and what was counted. `others` holds errors that no NCCL prefix assigns."""

    ranks: list[Timeline] = field(default_factory=list)
    others: list[Moment] = field(default_factory=list)
    lines: int = 0
    known: int = 0
    unknown: int = 0
    foreign: int = 0

    def of_rank(self, rank: int) -> Timeline | None:
        """The first timeline of a rank."""
        return next((one for one in self.ranks if one.rank == rank), None)


@cache
def _watched() -> frozenset[str]:
    """Events that are more than counted."""
    errors = {event for event, use in _uses().items() if use in ("cause", "follower")}
    return frozenset({*errors, *_MILESTONES, *signs_of_releases(), "comm.shape", "comm.init"})


@cache
def _uses() -> dict[str, Use]:
    return {rule.event: rule.use for rule in load_rules()}


class TimelineReader:
    """Reads logs one after another (`read`) into `result`."""

    def __init__(self) -> None:
        self.result = Timelines()
        self._by_process: dict[tuple[str, str, int, int], Timeline] = {}
        self._by_front: dict[str, Timeline] = {}
        self._heard: dict[str, dict[str, int]] = {}
        self._last: Timeline | None = None

    def read(self, source: str, log: str | Iterable[str]) -> None:
        """Add a log; `source` is the name it goes by in moments."""
        reader = LogReader(log, heard=self._heard, enough=MOST_OF_A_KIND)
        self._last = None
        self._forget()
        for event in reader:
            if reader.spoke:
                self._last, reader.spoke = self._timeline(source, reader.spoke), ""
            self._take(source, event)
        self.result.lines += reader.lines
        self.result.known += reader.known
        self.result.unknown += reader.unknown + reader.unknown_warnings
        self.result.foreign += reader.foreign

    def _forget(self) -> None:
        self._by_front.clear()
        self._heard.clear()

    def _take(self, source: str, event: Event) -> None:
        one = self._timeline(source, event.head) if event.body else None
        if one is None:
            self._take_foreign(source, event)
            return
        self._last = one
        name = event.name
        one.counts[name] = seen = one.counts.get(name, 0) + 1
        if seen <= MOST_OF_A_KIND and name in _watched():
            self._keep(source, event, one, seen)

    def _keep(self, source: str, event: Event, one: Timeline, seen: int) -> None:
        """Keep what one of the first events of a kind says."""
        use = _uses().get(event.name, "event")
        if use in ("cause", "follower"):
            if seen <= MOST_OF_ONE and len(one.errors) < MOST_ERRORS:
                one.errors.append(_moment(source, event, use, one))
        elif event.name in _MILESTONES and len(one.moments) < MOST_MOMENTS:
            one.moments.append(_moment(source, event, use, one))
        one.finder.take(event)
        _note_rank(one, event)

    def _take_foreign(self, source: str, event: Event) -> None:
        """A line without NCCL's front: a version for the process that spoke last, or an error of nobody's."""
        if event.name.startswith(("version", "tests.version")) and self._last is not None:
            self._last.finder.take(event)
        use = _uses().get(event.name, "event")
        if use in ("cause", "follower") and len(self.result.others) < MOST_ERRORS:
            self.result.others.append(_moment(source, event, use))

    def _timeline(self, source: str, head: str) -> Timeline | None:
        """The timeline of who wrote `head`, remembered by its last two words, since clocks stand in front of them."""
        front = front_of(head)
        one = self._by_front.get(front)
        return one if one is not None else self._new_front(source, front, head)

    def _new_front(self, source: str, front: str, head: str) -> Timeline | None:
        said = speaker(front)
        fitting = said is not None
        said = said or speaker(head)
        if said is None:
            return None
        key = (source, *said.process)
        one = self._by_process.get(key)
        if one is None and len(self._by_process) < MOST_RANKS:
            one = self._by_process[key] = Timeline(source, said.host, said.pid, said.gpu)
            self.result.ranks.append(one)
        if one is not None and fitting:
            if len(self._by_front) >= MOST_RANKS:
                self._forget()
            self._by_front[front] = one
            self._heard[front] = one.counts
        return one


def _moment(source: str, event: Event, use: Use, one: Timeline | None = None) -> Moment:
    time = moment(event.head if event.body else event.head[:MAX_HEAD])
    if one is not None:
        one.clock = time = time or one.clock
    return Moment(source, event.line, time, event.name, event.text, use)


def _note_rank(one: Timeline, event: Event) -> None:
    """The rank in the largest communicator is the rank: groups within it (tensor parallel, ...) number anew."""
    if event.name not in ("comm.shape", "comm.init"):
        return
    seen = record_of(event)
    if isinstance(seen, RankSeen):
        one.nodes = max(one.nodes, seen.nodes)
        if seen.ranks > one.ranks:
            one.rank, one.ranks = seen.rank, seen.ranks


def read_timelines(logs: Iterable[tuple[str, str | Iterable[str]]]) -> Timelines:
    """The timelines of named logs."""
    reader = TimelineReader()
    for source, log in logs:
        reader.read(source, log)
    return reader.result


def first_errors(timelines: Timelines, most: int = 20) -> Sequence[tuple[Timeline | None, Moment]]:
    """The errors of all ranks, the likeliest root first.

    Causes come before followers (a flushed completion, a closed connection, a watchdog); among equals the earlier one,
    where all of them tell the time, else the earlier line of its log.
    """
    found: list[tuple[Timeline | None, Moment]] = [(one, error) for one in timelines.ranks for error in one.errors]
    found += [(None, error) for error in timelines.others]
    timed = all(error.time for one, error in found if one is not None)
    return sorted(found, key=lambda pair: _order(pair[1], timed=timed))[:most]


def _order(error: Moment, *, timed: bool) -> tuple[int, str, int]:
    return (2 if _follows(error) else 0, error.time if timed else "", error.line)


def _follows(error: Moment) -> bool:
    if error.use == "follower":
        return True
    for event in LogReader(error.text):
        seen = record_of(event)
        if isinstance(seen, Completion):
            return seen.status == FLUSHED
    return False
