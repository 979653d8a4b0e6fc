"""A running bench from outside: the line, the events, the time left, who leads."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.events import BenchEvent
from fabricdoc.model.run import Candidate, Estimate, Launch, NodeContext, Plan, Rank, Run
from fabricdoc.model.verdict import CandidateVerdict, Interval, Verdict
from fabricdoc.workflow.watching import STEP, Watch, leader

pytestmark = pytest.mark.unit

NAMES = ("base", "default", "current", "tree", "simple")
ROLES = {"base": "base", "default": "default", "current": "current"}
CANDIDATES = [Candidate.model_validate({"name": name, "role": ROLES.get(name, "candidate")}) for name in NAMES]


def plan(budget_s: float | None = None) -> Plan:
    return Plan.model_validate(
        {
            "backend": "gloo",
            "ranks": (Rank(rank=0, node="alpha", local_rank=0),),
            "candidates": tuple(CANDIDATES),
            "shapes": (),
            "views": ("eager",),
            "blocks": 6,
            "seed": 1,
            "launch_deadline_s": 30,
            "profile": "p",
            "objective": "mix",
            "estimate": Estimate(launches=10, seconds=100, bytes_per_link=1, memory_per_node=1),
            "budget_s": budget_s,
        }
    )


def run(budget_s: float | None = None) -> Run:
    unknown = {"unknown": "x"}
    fields = {"hostname": unknown, "kernel": unknown, "torch": unknown, "nccl": unknown, "nvidia_driver": unknown}
    context = NodeContext.model_validate({"name": "alpha", "target": "a", **fields})
    return Run(id="20260101-000000-ab12", plan=plan(budget_s), nodes=(context,))


def launch(number: int, candidate: str = "tree", block: int = 1, round_: str = "search") -> Launch:
    fields = {"position": 0, "status": "ok", "seconds": 2.0, "started": "2026-01-01T00:00:00Z"}
    return Launch.model_validate({"number": number, "round": round_, "block": block, "candidate": candidate, **fields})


def verdict(**ratios: float) -> Verdict:
    candidates = tuple(
        CandidateVerdict(
            name=name, verdict="same", reason="", score=Interval(ratio=r, low=r - 0.1, high=r + 0.1, blocks=3)
        )
        for name, r in ratios.items()
    )
    fields: dict[str, Any] = {"run": "r", "objective": "mix", "profile": "p", "backend": "gloo", "choice": "base"}
    return Verdict(**fields, reason="", conclusive=True, blocks=3, floor=0, smallest_effect=0, candidates=candidates)


class Seen:
    """A watch with all it says, on a clock of its own."""

    def __init__(self, *, every_launch: bool = True, budget_s: float | None = None, **ratios: float) -> None:
        self.at = 0.0
        self.lines: list[str] = []
        self.events: list[BenchEvent] = []
        self.judged = 0
        self.launches: list[Launch] = []
        self.ratios = ratios or {"tree": 1.24}
        self.watch = Watch(
            run(budget_s), self.lines.append, self._judge, self.events.append, every_launch=every_launch, now=self._now
        )
        self.watch.follow(lambda: run(budget_s).model_copy(update={"launches": tuple(self.launches)}))

    def _now(self) -> float:
        return self.at

    def _judge(self, so_far: Run) -> Verdict:
        self.judged += 1
        assert so_far.launches == tuple(self.launches)
        return verdict(**self.ratios)

    def made(self, *launches: Launch, seconds: float = 2.0) -> None:
        self.launches.extend(launches)
        self.at += seconds * len(launches)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("proof 3/9: simple", ("proof", None, "simple")),
        ("search block 2/6: simple (3/9)", ("search", "2", "simple")),
        ("combine block 7: a+b (1)", ("combine", "7", "a+b")),
        ("confirm block 12/12: base (1/3)", ("confirm", "12", "base")),
        ("the time budget of 60 s was spent after block 3: no further block", None),
        ("block 4 will be left out: clocks fell", None),
    ],
)
def test_what_the_bench_says_it_does_next(text: str, found: tuple[str, str | None, str] | None) -> None:
    step = STEP.match(text)
    assert (step and (step["round"], step["block"], step["candidate"])) == found


def test_the_line_says_where_it_stands_and_how_long_it_takes() -> None:
    seen = Seen()
    seen.watch("search block 1/6: tree (1/3)")
    assert seen.lines == ["search block 1/6: tree (1/3), launch 1 of up to 10"]
    seen.made(launch(1), launch(2), launch(3), launch(4))
    seen.watch("search block 1/6: simple (2/3)")
    assert seen.lines[-1] == "search block 1/6: simple (2/3), launch 5 of up to 10, about 12 s left"


def test_proof_launches_are_no_pace() -> None:
    """They time nothing: a demo said "31 s left" by their pace and took 80 s more."""
    seen = Seen()
    seen.made(launch(1, round_="proof", block=0), launch(2, round_="proof", block=0))
    seen.watch("search block 1/6: tree (1/3)")
    assert seen.watch.left_s() == 80.0, "the plan's 100 s for 10 launches"
    slow = launch(3).model_copy(update={"seconds": 30.0})
    seen.made(slow)
    seen.watch("search block 1/6: tree (2/3)")
    assert seen.watch.left_s() == 30.0 * 7


def test_a_budget_bounds_the_time_left() -> None:
    seen = Seen(budget_s=11.0)
    seen.made(launch(1), launch(2), launch(3), launch(4))
    seen.watch("search block 1/6: tree (1/3)")
    assert seen.watch.left_s() == 3.0
    seen.made(launch(5), launch(6))
    seen.watch("search block 1/6: tree (2/3)")
    assert seen.watch.left_s() == 0.0


def test_more_launches_than_planned_are_no_negative_time() -> None:
    seen = Seen()
    seen.made(*(launch(number) for number in range(12)))
    seen.watch("combine block 9: a+b (1)")
    assert seen.watch.left_s() == 0.0
    assert "launch 13 of up to 12" in seen.lines[-1]


def test_the_leader_is_asked_for_between_blocks_only_and_from_the_third_block_on() -> None:
    seen = Seen()
    for block in range(1, 5):
        for place in range(3):
            seen.watch(f"search block {block}/6: tree ({place}/3)")
            seen.made(launch(len(seen.launches) + 1, block=block))
    seen.watch("search block 5/6: base (1/3)")
    assert seen.judged == 2
    assert seen.lines[-1].endswith("; tree leads 1.24 [1.14, 1.34]")


def test_without_a_terminal_one_line_a_block_will_do() -> None:
    seen = Seen(every_launch=False)
    for place in range(3):
        seen.watch(f"proof {place}/3: tree")
    for block in (1, 2):
        for place in range(3):
            seen.watch(f"search block {block}/6: tree ({place}/3)")
    seen.watch("block 2 will be left out: clocks fell")
    assert [line.split(":")[0] for line in seen.lines] == [
        "proof 0/3",
        "search block 1/6",
        "search block 2/6",
        "block 2 will be left out",
    ]


def test_events_tell_everything_once_and_in_order() -> None:
    seen = Seen()
    seen.watch("proof 1/2: base")
    seen.made(launch(1, "base", 0, "proof"))
    seen.watch("search block 1/6: tree (1/3)")
    seen.made(launch(2))
    seen.watch("no further block")
    seen.watch.finish()
    assert [(one.event, one.candidate, one.done) for one in seen.events] == [
        ("plan", "", 0),
        ("launch-begins", "base", 0),
        ("launch-ended", "base", 1),
        ("launch-begins", "tree", 1),
        ("launch-ended", "tree", 2),
        ("note", "", 2),
        ("ended", "", 2),
    ]
    assert seen.events[0].plan is not None
    assert [one.launch.number for one in seen.events if one.launch] == [1, 2]
    assert {one.run for one in seen.events} == {"20260101-000000-ab12"}
    assert BenchEvent.model_validate_json(seen.events[2].model_dump_json()).launch == seen.launches[0]


def test_only_candidates_can_lead_and_only_above_base() -> None:
    assert leader(verdict(current=2.0, default=3.0, tree=1.1, simple=1.3), plan()).name == "simple"  # type: ignore[union-attr]
    assert leader(verdict(tree=0.99), plan()) is None
    assert leader(verdict(current=2.0), plan()) is None
    assert leader(verdict(), plan()) is None


def test_nobody_listening_is_fine() -> None:
    watch = Watch(run(), lambda _: None, lambda _: verdict())
    watch("search block 1/6: tree (1/3)")
    watch.finish()


def test_an_interval_that_says_nothing_is_not_shown_in_digits() -> None:
    from fabricdoc.model.events import Best
    from fabricdoc.workflow.watching import _interval

    wide = Best(name="tree", score=Interval(ratio=1.96, low=1e-6, high=1e6, blocks=2))
    assert _interval(wide) == "1.96 [wide open]"
