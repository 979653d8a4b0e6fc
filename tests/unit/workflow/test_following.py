"""After a bench that could not tell: the one thing to run next that can say more, or nothing."""

from __future__ import annotations

import pytest

from fabricdoc.model.run import Candidate, Launch, Plan, Run
from fabricdoc.model.verdict import CandidateVerdict, Verdict
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.following import CHOOSING, NextBench, blocks_to_ask, next_bench
from fabricdoc.workflow.requests import Request

pytestmark = pytest.mark.unit

SPECS = (NodeSpec("alpha", "a"), NodeSpec("beta", "b"))


def verdict(*found: tuple[str, str, int | None], blocks: int = 6, conclusive: bool = False) -> Verdict:
    """A verdict on candidates: name, judgement, and the blocks that each would need."""
    candidates = tuple(
        CandidateVerdict.model_validate({"name": name, "verdict": how, "reason": "", "blocks_needed": needed})
        for name, how, needed in found
    )
    return Verdict(
        run="r", objective="mix", profile="p", backend="gloo", choice="base", reason="", conclusive=conclusive,
        blocks=blocks, floor=0.0, smallest_effect=0.0, candidates=candidates,
    )  # fmt: skip


def run(*base: str, blocks: int = 6, backend: str = "gloo", status: str = "complete", reason: str = "") -> Run:
    """A run whose base launches ended so."""
    launches = tuple(
        Launch.model_construct(candidate="base", status=how, cells=(), number=number) for number, how in enumerate(base)
    )
    plan = Plan.model_construct(backend=backend, blocks=blocks, candidates=(Candidate(name="base", role="base"),))
    return Run.model_construct(id="r", status=status, reason=reason, plan=plan, launches=launches)


def test_a_conclusive_run_needs_nothing() -> None:
    assert next_bench(Request(SPECS), run(), verdict(("a", "same", None), conclusive=True), 2) is None


def test_where_no_number_of_blocks_helps_the_nodes_have_to_be_idle_and_the_words_stay() -> None:
    hopeless = verdict(("a", "inconclusive", None), ("b", "inconclusive", None))
    assert next_bench(Request(SPECS), run("ok"), hopeless, 2) == NextBench("measure again, on idle nodes")


def test_where_more_blocks_help_their_number_is_named() -> None:
    noisy = verdict(("a", "inconclusive", 40), ("b", "inconclusive", 14), ("c", "same", 9))
    after = next_bench(Request(SPECS), run("ok"), noisy, 2)
    assert after == NextBench("measure the 14 blocks that this noise calls for", blocks=14)
    many = next_bench(Request(SPECS), run("ok"), verdict(("a", "inconclusive", 816)), 2)
    assert many is not None
    assert (many.why, many.blocks) == ("measure the 816 blocks that this noise calls for; idle nodes need fewer", 816)
    assert next_bench(Request(SPECS, blocks=20), run(blocks=20), noisy, 2) == NextBench("measure again, on idle nodes")


def test_a_plan_too_short_for_a_verdict_gets_the_blocks_of_one() -> None:
    after = next_bench(Request(SPECS, blocks=1), run(blocks=1), verdict(("a", "inconclusive", None), blocks=1), 2)
    assert after == NextBench("measure the blocks that a verdict needs", blocks=6)


@pytest.mark.parametrize(("status", "reason"), [("complete", "the time budget left no room"), ("failed", "")])
def test_a_run_that_was_cut_is_measured_to_the_end(status: str, reason: str) -> None:
    cut = run("ok", status=status, reason=reason)
    assert next_bench(Request(SPECS), cut, verdict(("a", "inconclusive", None), blocks=2), 2) == NextBench(
        "measure to the end", blocks=6
    )


def test_base_that_broke_is_mended_first_whatever_the_candidates_did() -> None:
    mend = NextBench("measure again, once base is mended")
    gone = verdict(("a", "failed", None), blocks=0)
    assert next_bench(Request(SPECS), run("failed"), gone, 2) == mend
    assert next_bench(Request(SPECS), run("ok", "incorrect", "ok"), verdict(("a", "same", None)), 2) == mend
    limped = next_bench(Request(SPECS), run("ok", "timeout", "ok"), verdict(("a", "inconclusive", None), blocks=5), 2)
    assert limped == NextBench("measure again, on idle nodes"), "there were blocks enough without it"


def test_with_nobody_left_the_same_is_asked_without_those_that_fell_out() -> None:
    gone = verdict(("default", "failed", None), ("tos", "incorrect", None), blocks=0)
    asked = Request(SPECS, candidates=("./tos.toml",))
    after = next_bench(asked, run("ok", backend="nccl"), gone, 1)
    assert after == NextBench("measure without the candidates that fell out", without=CHOOSING)
    rails = next_bench(Request(SPECS, candidates=("gloo",)), run("ok"), gone, 2)
    assert rails is not None
    assert (rails.without, rails.adding) == (CHOOSING, ("--both-nics",)), "gloo has no set to fall back to"


@pytest.mark.parametrize(
    ("request_", "backend", "rails"),
    [
        (Request(SPECS), "gloo", 1),
        (Request(SPECS, both_nics=True), "gloo", 2),
        (Request(SPECS), "nccl", 1),
        (Request(SPECS, candidates=("decode",)), "nccl", 1),
    ],
)
def test_where_nothing_else_can_be_compared_no_bench_is_proposed(request_: Request, backend: str, rails: int) -> None:
    gone = verdict(("default", "failed", None), blocks=0)
    assert next_bench(request_, run("ok", backend=backend), gone, rails) is None


def test_the_blocks_to_ask_settle_one_of_the_open_ones() -> None:
    nothing_known = verdict(("a", "inconclusive", None), ("b", "better", None))
    assert blocks_to_ask(nothing_known, 3) == 6, "nothing known: what any verdict needs"
    told = verdict(("a", "inconclusive", 40), ("b", "inconclusive", 14), ("c", "better", 9))
    assert blocks_to_ask(told, 3) == 14, "those that are settled do not count"
    assert blocks_to_ask(told, 20) == 20


def test_a_run_that_was_taken_up_goes_on_as_it_was_begun() -> None:
    noisy = verdict(("a", "inconclusive", 14))
    begun = run("ok").model_copy(update={"command": ("bench", "--nodes", "a,b")})
    assert next_bench(Request(SPECS), begun, noisy, 2, resumed=True) == next_bench(Request(SPECS), begun, noisy, 2)


def test_of_a_run_taken_up_no_option_is_dropped_and_without_its_command_nothing_is_said() -> None:
    noisy, gone = verdict(("a", "inconclusive", 14)), verdict(("a", "failed", None))
    begun = run("ok").model_copy(update={"command": ("bench", "--nodes", "a,b")})
    assert next_bench(Request(SPECS), begun, gone, 2, resumed=True) is None
    assert next_bench(Request(SPECS), run("ok").model_copy(update={"command": ()}), noisy, 2, resumed=True) is None
