"""The course of a run: which launch comes next, given those already made.

A pure sequence. The same plan and the same launches give the same next step, whether they were made a second ago or by
a process that was killed: so a run can be taken up again at any place. Time enters through `affords` alone, and what
the measurements say through `contenders` and `standings`. Nothing is launched, stored or judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fabricdoc.bench.budget import confirm_launches
from fabricdoc.bench.combining import COMBINED
from fabricdoc.bench.cost import CONFIRMED
from fabricdoc.bench.disturbance import most_again
from fabricdoc.bench.plan import DECIDING_BLOCKS, block_order
from fabricdoc.bench.search import LEAST_LAUNCHES, STARTS, STEPS, leaders, next_trials, survivors, worth_combining
from fabricdoc.model.pruning import DROP_ONE, Pruning
from fabricdoc.model.run import Candidate, Launch, Round, Run
from fabricdoc.model.standing import Standings

Contenders = Callable[[Run], Sequence[str]]
"""Which candidates of the run go on to be confirmed, the best first."""
Rank = Callable[[Run], Standings]
Affords = Callable[[Round, int, int, int], bool]
"""Whether a block may start: its round and number, its launches, and the launches that must be left for later."""
DROP_AFTER_FAILURES = 1
MADE_HERE = (COMBINED, DROP_ONE)


class Step(NamedTuple):
    """One launch to make."""

    candidate: Candidate
    round: Round
    block: int
    position: int


@dataclass
class Course:
    """The state of one run. The caller makes each step's launch and appends it to `launches` before the next one.

    `made` are the candidates that were combined or pruned, `block` is the last one begun, `cut` the first one that did
    not fit the time.
    """

    run: Run
    affords: Affords
    contenders: Contenders
    rank: Rank | None = None
    pruning: Pruning | None = None
    launches: list[Launch] = field(default_factory=list)
    made: list[Candidate] = field(default_factory=list)
    block: int = 0
    cut: str = ""

    def steps(self) -> Iterator[Step]:
        """Every launch of the run, in order."""
        yield from self._prove(self.planned())
        if "base" in {x.candidate for x in self.launches if x.status != "ok"}:
            return
        if self.run.plan.search == "adaptive" and self.rank is not None:
            yield from self._adaptive(self.rank)
        else:
            yield from self._blocks("search", lambda: self.planned(), self.run.plan.blocks)
        winners = list(self.contenders(self.so_far()))
        again = [one for one in self.everyone() if one.role == "base" or one.name in winners]
        if len(again) > 1:
            yield from self._blocks("confirm", lambda: again, self.run.plan.blocks)
        if self.pruning is not None and not self.cut:
            yield from self._prune(self.pruning)

    def planned(self) -> list[Candidate]:
        """The plan's candidates, without those that an earlier sitting of this run made."""
        return [one for one in self.run.plan.candidates if one.set_name not in MADE_HERE]

    def everyone(self) -> list[Candidate]:
        """The plan's candidates and those combined so far."""
        return [*self.planned(), *self.made]

    def so_far(self) -> Run:
        """The run as it is now, combined candidates in its plan."""
        plan = self.run.plan.model_copy(update={"candidates": tuple(self.everyone())})
        return self.run.model_copy(update={"plan": plan, "launches": tuple(self.launches)})

    def dropped(self) -> set[str]:
        """Candidates that failed: they are not launched again; base never is dropped."""
        names = [x.candidate for x in self.launches if x.status in ("failed", "timeout", "incorrect")]
        base = {one.name for one in self.run.plan.candidates if one.role == "base"}
        return {name for name in names if names.count(name) >= DROP_AFTER_FAILURES} - base

    def _prove(self, candidates: Sequence[Candidate]) -> Iterator[Step]:
        first = sum(launch.round == "proof" for launch in self.launches)
        for place, candidate in enumerate(candidates):
            yield Step(candidate, "proof", 0, first + place)

    def _blocks(self, round_: Round, members: Callable[[], Sequence[Candidate]], wanted: int) -> Iterator[Step]:
        """Blocks of a round until `wanted` are undisturbed; a disturbed one is measured again, up to a limit."""
        good = disturbed = 0
        while good < wanted and disturbed <= most_again(wanted):
            live = [one for one in members() if one.name not in self.dropped()]
            if len(live) < 2 or not self._fits(round_, len(live) + 1):
                return
            self.block += 1
            first = len(self.launches)
            for position, candidate in enumerate(block_order(live, self.block, self.run.plan.seed)):
                yield Step(candidate, round_, self.block, position)
            if any(launch.disturbed for launch in self.launches[first:]):
                disturbed += 1
            else:
                good += 1

    def _fits(self, round_: Round, launches: int, *, proofs: int = 0) -> bool:
        """Whether the next block, with the `proofs` before it, fits the time.

        What a verdict needs after it is kept back as long as that fits too. Once a verdict has its blocks, nothing may
        eat the confirmation; before that, where a confirmation can't fit any more, measuring goes on for what can
        still be said without one.
        """
        reserve = 0
        begins: tuple[Round, int] = ("proof", 0) if proofs else (round_, self.block + 1)
        launches += proofs
        if round_ != "confirm":
            left = max(0, DECIDING_BLOCKS - self._searched() - 1)
            per_block = launches if self.run.plan.search == "grid" else min(launches, 3)
            reserve = left * per_block + confirm_launches()
            if self._searched() < DECIDING_BLOCKS and not self.affords(*begins, launches, reserve):
                reserve = 0
        if self.affords(*begins, launches, reserve):
            return True
        self.cut = self.cut or f"block {self.block + 1} ({round_})"
        return False

    def _spoilt(self) -> set[int]:
        return {launch.block for launch in self.launches if launch.disturbed}

    def _searched(self) -> int:
        """The undisturbed blocks of the search so far."""
        blocks = {launch.block for launch in self.launches if launch.round in ("search", "combine")}
        return len(blocks - self._spoilt())

    def _adaptive(self, rank: Rank) -> Iterator[Step]:
        """All candidates in a few blocks, then only those that can still win, then combinations with the leader."""
        fixed = [one for one in self.planned() if one.role != "candidate"]
        singles = [one for one in self.planned() if one.role == "candidate"]
        first = min(LEAST_LAUNCHES, self.run.plan.blocks)
        yield from self._blocks("search", lambda: [*fixed, *singles], first)
        members: dict[str, tuple[Candidate, ...]] = {one.name: (one,) for one in singles}
        yield from self._combine(rank, singles, members)
        yield from self._finish(fixed, self._finalists(rank))

    def _finish(self, fixed: Sequence[Candidate], finalists: Sequence[Candidate]) -> Iterator[Step]:
        """The finalists' missing proofs, then blocks until each of them has what a verdict needs."""
        unproven = [one for one in finalists if not self._proven(one.name)]
        if unproven and not self._fits("combine", len(fixed) + len(finalists) + 1, proofs=len(unproven)):
            return
        yield from self._prove(unproven)
        while missing := [one for one in finalists if one.name not in self.dropped() and self._lacks(one.name)]:
            before = self.block
            yield from self._blocks("combine", lambda: [*fixed, *missing], 1)
            if self.block == before:
                return

    def _combine(
        self, rank: Rank, singles: Sequence[Candidate], members: dict[str, tuple[Candidate, ...]]
    ) -> Iterator[Step]:
        """Coordinate descent: the leader with each partner that may be worth it, as long as that makes a new leader."""
        fixed = [one for one in self.planned() if one.role != "candidate"]
        for _ in range(STEPS):
            standings = rank(self.so_far())
            live = [one.name for one in self.everyone() if one.role == "candidate" and one.name not in self.dropped()]
            order = worth_combining(standings, live)
            if not order:
                return
            partners = [one for one in singles if one.name in live and one.name not in standings.lost]
            trials = next_trials(standings, [members[name] for name in order[:STARTS]], partners, set(members))
            if not trials:
                return
            members |= {union.name: parts for parts, union in trials}
            self.made += [union for _, union in trials]
            leader = next(one for one in self.everyone() if one.name == order[0])
            tried = [*fixed, leader, *(union for _, union in trials)]
            before = self.block
            yield from self._blocks("combine", lambda: tried, LEAST_LAUNCHES)  # noqa: B023 - used up at once
            ranked = leaders(rank(self.so_far()), [one.name for one in tried])
            if self.block == before or not ranked or ranked[0] == order[0]:
                return

    def _prune(self, pruning: Pruning) -> Iterator[Step]:
        """The winner beside itself without each of its lines; then what is left, proven and confirmed like a winner."""
        members = pruning.without(self.so_far())
        base = [one for one in self.planned() if one.role == "base"]
        if not members:
            return
        self.made += members[1:]
        yield from self._blocks("drop", lambda: [*base, *members], self.run.plan.blocks)
        left = pruning.left(self.so_far())
        if left is None or not self._fits("confirm", 4, proofs=1):
            return
        self.made.append(left)
        yield from self._prove([left])
        last = [*base, members[0], left]
        yield from self._blocks(
            "confirm", lambda: last if left.name not in self.dropped() else [], self.run.plan.blocks
        )

    def _finalists(self, rank: Rank) -> list[Candidate]:
        """As many of those that can still win as will be confirmed; the fastest alone where nobody else can."""
        live = [one for one in self.everyone() if one.role == "candidate" and one.name not in self.dropped()]
        names = survivors(rank(self.so_far()), [one.name for one in live])[:CONFIRMED]
        return [one for one in live if one.name in names]

    def _proven(self, name: str) -> bool:
        """Whether the path of that candidate was looked at in a launch of its own."""
        return any(launch.round == "proof" and launch.candidate == name for launch in self.launches)

    def _lacks(self, name: str) -> bool:
        """Whether a finalist still lacks the blocks that a verdict needs (and the plan allows)."""
        wanted, spoilt = min(DECIDING_BLOCKS, self.run.plan.blocks), self._spoilt()
        made = {x.block for x in self.launches if x.round in ("search", "combine") and x.candidate == name}
        return len(made - spoilt) < wanted and len(spoilt) <= self.run.plan.blocks
