"""What a running bench looks like from outside: where it stands, how long it takes, who leads, as a line and as events.

Reads the launches made so far whenever the bench says what it does next; measures and decides nothing. Who leads is
asked for between blocks only, since it costs processor time that a node may be measured with.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from fabricdoc.model.events import BenchEvent, Best
from fabricdoc.model.run import Launch, Plan, Run
from fabricdoc.model.verdict import Verdict

Progress = Callable[[str], None]
Tell = Callable[[BenchEvent], None]
Judge = Callable[[Run], Verdict]
STEP = re.compile(
    r"(?P<round>proof|search|combine|confirm|drop)\b(?: block (?P<block>\d+))?[^:]*: (?P<candidate>[^\s(]+)"
)
WIDE_OPEN = 100.0  # ends of an interval so far apart that they say nothing
LEAST_BLOCKS = 2
"""Blocks before anybody is said to lead: one ratio has no interval."""


class Watch:
    """The progress callback of one bench: call it with what is done next; `follow` says where the launches are.

    `show` gets the line for people: for every launch with `every_launch`, else once a block. `tell` gets every event.
    """

    def __init__(
        self,
        run: Run,
        show: Progress,
        judge: Judge,
        tell: Tell | None = None,
        *,
        every_launch: bool = True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._show = show
        self._judge = judge
        self._tell = tell
        self._every_launch = every_launch
        self._now = now
        self._began = now()
        self._so_far: Callable[[], Run] = lambda: run
        self._launches: Sequence[Launch] = ()
        self._told = 0
        self._blocks = 0
        self._best: Best | None = None
        self._place: tuple[str, int] = ("", -1)
        self._event("plan", plan=run.plan)

    def follow(self, so_far: Callable[[], Run]) -> None:
        """How to ask the bench for its run as it is now, with the candidates that a search made meanwhile."""
        self._so_far = so_far

    def __call__(self, text: str) -> None:
        """The bench says what it does next."""
        self._catch_up()
        step = STEP.match(text)
        if step is None:
            self._event("note", text=text)
            self._show(text)
            return
        place = (step["round"], int(step["block"] or 0))
        self._event("launch-begins", round=place[0], block=place[1], candidate=step["candidate"], text=text)
        if self._every_launch or place != self._place:
            self._show(self._line(text))
        self._place = place

    def finish(self) -> None:
        """The bench is over: tell the last launch, and the end."""
        self._catch_up()
        self._event("ended")

    def _catch_up(self) -> None:
        """Tell the launches that ended since the last call; look who leads where a block was completed by them."""
        self._run = self._so_far()
        self._launches = self._run.launches
        fresh = self._launches[self._told :]
        self._told = len(self._launches)
        blocks = len({(one.round, one.block) for one in self._launches if one.round != "proof"})
        if blocks > self._blocks and blocks > LEAST_BLOCKS:  # a new block began: the one before is complete
            self._best = leader(self._judge(self._run), self._run.plan)
        self._blocks = blocks
        for launch in fresh:
            place = {"round": launch.round, "block": launch.block, "candidate": launch.candidate}
            self._event("launch-ended", launch=launch, text=launch.reason, **place)

    def _line(self, text: str) -> str:
        """`search block 2/6: simple (3/9), launch 12 of up to 58, about 2 min left; tree leads 1.24 [1.1, 1.4]`."""
        left = self.left_s()
        parts = [text, f"launch {len(self._launches) + 1} of up to {self._planned()}"]
        parts += [f"about {_duration(left)} left"] if left is not None else []
        lead = f"; {self._best.name} leads {_interval(self._best)}" if self._best else ""
        return ", ".join(parts) + lead

    def left_s(self) -> float | None:
        """Seconds that the rest takes if every launch is needed, at the pace so far and within the budget.

        What launches of an earlier sitting took counts as spent, and for the pace too; proof launches time nothing and
        are no pace, so that until others ended the plan's own figure counts where it is longer.
        """
        if not self._launches:
            return None
        spent = sum(one.seconds for one in self._launches)
        timed = [one.seconds for one in self._launches if one.round != "proof"]
        estimate = self._run.plan.estimate
        planned = estimate.seconds / estimate.launches if estimate.launches else 0.0
        pace = sum(timed) / len(timed) if timed else max(planned, spent / len(self._launches))
        left = pace * max(0, self._planned() - len(self._launches))
        budget = self._run.plan.budget_s
        return left if budget is None else max(0.0, min(left, budget - spent))

    def _planned(self) -> int:
        return max(self._run.plan.estimate.launches, len(self._launches))

    def _event(self, event: str, **more: Any) -> None:
        if self._tell is None:
            return
        fields = {
            "run": self._run.id,
            "event": event,
            "elapsed_s": round(self._now() - self._began, 3),
            "done": len(self._launches),
            "planned": self._planned(),
            "left_s": self.left_s(),
            "best": self._best,
            **more,
        }
        self._tell(BenchEvent.model_validate(fields))


def leader(verdict: Verdict, plan: Plan) -> Best | None:
    """The candidate with the largest score above 1; None where base leads or nothing can be said."""
    tried = {candidate.name for candidate in plan.candidates if candidate.role == "candidate"}
    scored = [one for one in verdict.candidates if one.score is not None and one.name in tried]
    best = max(scored, key=lambda one: one.score.ratio if one.score else 0.0, default=None)
    if best is None or best.score is None or best.score.ratio <= 1.0:
        return None
    return Best(name=best.name, score=best.score)


def _interval(best: Best) -> str:
    score = best.score
    if score.high > score.low * WIDE_OPEN:
        return f"{score.ratio:.2f} [wide open]"
    return f"{score.ratio:.2f} [{score.low:.2f}, {score.high:.2f}]"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
