"""An NCCL log (or an engine's, with NCCL's lines inside) as `Seen` lines and variables, one pass, bounded memory.

Of each kind of line a process keeps the first ones; what repeats for hours fills no memory. Judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fabricdoc.explain.seen import Material, Process, Seen, Set, Spot
from fabricdoc.nccl import Event, LogReader, Rule, Speaker, clean, front_of, load_rules, moment, record_of, speaker
from fabricdoc.nccl import VariableRead as Read

OF_ONE, OF_WARNINGS = 12, 40
"""Lines of one event that a process keeps: WARN lines, and all others."""
MOST_SEEN, MOST_PROCESSES = 60_000, 8192
DROPPED = frozenset({"tune.op", "tune.op.old", "coll.call", "backtrace", "topo.path", "topo.link", "topo.cpu"})
"""Events that come by the thousand and decide nothing here."""
_READS = "env."
"""What events of variables are called: the records of others are not asked for, many thousands are kept."""

OLD_DIALECT = re.compile(
    r"(?m)^((?:[^\n]{0,160}?[ >|])??\S{1,80}:\d{1,10}:\d{1,10} \[\d{1,4}\] (?:[\w./-]{1,100}:\d{1,6} )?)(INFO|WARN) "
)
"""NCCL before 2.4 wrote its level word without its name."""
_OLD_HINT = re.compile(r":\d{1,10} \[\d{1,4}\] (?:INFO|WARN|[\w./-]{1,100}:\d{1,6} WARN) ")

_LAST = re.compile(r"Last error: ?\n")
LAST_ERROR = re.compile(
    r"(?P<said>(?:\d{4}-\d\d-\d\d[T ]\S{8,40} )?(?P<front>[^\n]{0,160}?)Last error: ?\n"
    r"(?:\d{4}-\d\d-\d\d[T ]\S{8,40} )?(?P=front))"
    r"(?!Exception raised|Traceback|frame #|Last error)(?=\w)"
)
"""PyTorch repeats NCCL's last warning below this line, without NCCL's front."""
_QUOTED = "\x1f \x1f NCCL WARN "
"""Stands before such a warning while it is read, and in no evidence."""
_ENDS = frozenset("0123456789)")
"""What a front that names nobody may end in, and a longer head with the same end name somebody all the same."""


def read_log(material: Material, blocks: Iterable[str]) -> None:
    """Add what a log tells to `material`."""
    collector = _Collector(material)
    texts = (_dialect(block, collector) for block in blocks)
    reader = LogReader(texts, heard=collector.heard, enough=OF_ONE, enough_warnings=OF_WARNINGS, without=DROPPED)
    for event in reader:
        if event.name not in DROPPED:
            collector.take(event)
    material.lines = reader.lines
    material.unknown_warnings = reader.unknown_warnings
    if collector.prefixed:
        material.kinds.append("NCCL log")
    elif material.seen:
        material.kinds.append("engine log")


def _dialect(block: str, collector: _Collector) -> str:
    """A block in today's form; where it was in the old one, the collector writes the lines back as they were."""
    if "Last error:" in block:
        block = _with_last_errors(_plain(block))
    if "] NCCL INFO " in block or not _may_be_old(block) or not OLD_DIALECT.search(block):
        return block
    collector.old = True
    return OLD_DIALECT.sub(r"\1NCCL \2 ", _plain(block))


def _may_be_old(block: str) -> bool:
    """Whether a level word stands without NCCL's name, and behind a front: most logs have none."""
    bare = "] INFO " in block or block.count(" WARN ") > block.count(" NCCL WARN ")
    return bare and _OLD_HINT.search(block) is not None


def _with_last_errors(block: str) -> str:
    """A block whose warnings below "Last error:" are marked as such."""
    done = 0
    parts = []
    for found in _LAST.finditer(block):
        start = block.rfind("\n", 0, found.start()) + 1
        if start >= done and (match := LAST_ERROR.match(block, start)):
            parts += [block[done : match.end()], _QUOTED]
            done = match.end()
    return "".join((*parts, block[done:])) if parts else block


def _plain(block: str) -> str:
    """A block without colours and carriage returns, where it has any: both stand at a line's ends."""
    return "\n".join(map(clean, block.split("\n"))) if "\r" in block or "\x1b" in block else block


class _Collector:
    """What one file's processes said so far."""

    def __init__(self, material: Material) -> None:
        self._material = material
        self._fronts: dict[str, Process | None] = {}
        self._counts: dict[Process | None, dict[str, int]] = {None: {}}
        self._clocks: dict[Process, str] = {}
        self._rules: dict[str, Rule] = {rule.event: rule for rule in load_rules()}
        self.heard: dict[str, dict[str, int]] = {"": self._counts[None]}
        self.prefixed = False
        self.old = False

    def take(self, event: Event) -> None:
        """Keep a line, if its process has not said as much already."""
        name = event.name
        process, counts = self._speaker(event.head) if event.body else (None, self._counts[None])
        counts[name] = seen = counts.get(name, 0) + 1
        if seen > (OF_WARNINGS if name == "prefix.warn" else OF_ONE) or len(self._material.seen) >= MOST_SEEN:
            return
        self._keep(event, process)

    def _keep(self, event: Event, process: Process | None) -> None:
        rule = self._rules.get(event.name)
        host = process[1] if process else ""
        time = moment(event.head if event.body else event.head[:300])
        if process:
            time = time or self._clocks.get(process, "")
            self._clocks[process] = time
        text = event.text.replace(_QUOTED, "", 1)
        text = text.replace(" NCCL ", " ", 1) if self.old and text == event.text else text
        spot = Spot(self._material.name, event.line, text)
        seen = Seen(
            event.name,
            spot,
            event.groups,
            rule.use if rule else "event",
            event.level,
            event.message,
            host,
            process,
            time,
        )
        self._material.seen.append(seen)
        if event.name.startswith(_READS) and isinstance(read := record_of(event), Read):
            self._material.sets.append(Set(read.name, read.value, spot, "log", "", read.how, process))

    def _speaker(self, head: str) -> tuple[Process | None, dict[str, int]]:
        """Who wrote `head`, and how often each event came from there."""
        front = front_of(head)
        if front in self._fronts:
            return self._fronts[front], self.heard[front]
        said = speaker(front)
        tells = said is not None or front[-1:] not in _ENDS
        said = said or speaker(head)
        process = self._process(said) if said else None
        counts = self._counts[process]
        if tells:
            self._remember(front, process, counts)
        return process, counts

    def _process(self, said: Speaker) -> Process | None:
        """The process of a speaker, None when there are too many of them."""
        self.prefixed = True
        process = (self._material.name, *said.process)
        if process not in self._counts:
            if len(self._counts) > MOST_PROCESSES:
                return None
            self._counts[process] = {}
        self._material.hosts[said.host] = None
        return process

    def _remember(self, front: str, process: Process | None, counts: dict[str, int]) -> None:
        """Of the fronts of ever new threads the last ones are remembered."""
        if len(self._fronts) >= MOST_PROCESSES:
            self._fronts.clear()
            self.heard.clear()
            self.heard[""] = self._counts[None]
        self._fronts[front] = process
        self.heard[front] = counts
