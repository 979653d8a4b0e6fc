"""Two runs of one rank with other releases of NCCL: in files of their own, or one below the other in one file.

A run reaches from a line that names a release to the next one of the file that names another. Judges nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from fabricdoc.explain.case import Case
from fabricdoc.explain.seen import Seen, Spot

MOST_RUNS = 32
"""More runs than these in one case are not compared with each other."""
LAST = 1 << 62


@dataclass(frozen=True, slots=True)
class Run:
    """A run: the line that names its release, and the lines of that file from `start` to before `end`."""

    version: Seen
    start: int
    end: int

    def holds(self, spot: Spot) -> bool:
        """Whether a place is one of this run's."""
        return spot.file == self.version.spot.file and self.start <= (spot.line or 0) < self.end


def runs_of_one_rank(case: Case, named: Sequence[Seen]) -> tuple[Run, Run] | None:
    """Two runs by other releases in which the same rank of the same host speaks; `named`: lines that name a release.

    Below each other in one file they must be other processes too: one process may name two releases.
    """
    runs = _runs(named)[:MOST_RUNS]
    speakers = [_speakers(case, run) for run in runs]
    for (one, first), (other, second) in combinations(zip(runs, speakers, strict=True), 2):
        if one.version.groups["ver"] == other.version.groups["ver"]:
            continue
        shared = first.keys() & second.keys()
        apart = one.version.spot.file != other.version.spot.file
        if any(apart or not first[key] & second[key] for key in shared):
            return one, other
    return None


def _runs(named: Sequence[Seen]) -> list[Run]:
    by_file: dict[str, list[Seen]] = defaultdict(list)
    for seen in sorted(named, key=lambda one: one.spot.line or 0):
        lines = by_file[seen.spot.file]
        if not lines or lines[-1].groups["ver"] != seen.groups["ver"]:
            lines.append(seen)
    found = []
    for lines in by_file.values():
        starts = [0, *(one.spot.line or 0 for one in lines[1:])]
        found += [Run(*each) for each in zip(lines, starts, [*starts[1:], LAST], strict=True)]
    return found


def _speakers(case: Case, run: Run) -> dict[tuple[str, str], set[int]]:
    """(Host, rank) -> its processes, of every communicator that the run tells."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for seen in case.of("comm.init", "comm.shape"):
        if seen.host and run.holds(seen.spot):
            found[seen.host, seen.groups.get("rank", "")].add(seen.process[2] if seen.process else 0)
    return found
