"""The bench to ask for after one that could not tell: with more blocks, without what fell out, or the same once more.

What kept the verdict from being conclusive says which. Only what changes in the command line; the words the user wrote
are the command's to keep. Judges nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabricdoc.bench import DECIDING_BLOCKS
from fabricdoc.model.run import Run
from fabricdoc.model.verdict import Verdict
from fabricdoc.tuning import BLOCKS_TO_SPEAK, failed, incorrect
from fabricdoc.workflow.choosing import DEFAULT_SETS
from fabricdoc.workflow.requests import Request

MANY = 60
"""Blocks from which on it is better to look for what makes the nodes noisy."""
GONE = ("failed", "incorrect")
CHOOSING = ("--candidates", "--current", "--both-nics")


@dataclass(frozen=True)
class NextBench:
    """The same command again, and why: `blocks` in place of every limit (None: limits as they were), `without` options
    that chose candidates, `adding` words."""

    why: str
    blocks: int | None = None
    without: tuple[str, ...] = ()
    adding: tuple[str, ...] = ()


def next_bench(request: Request, run: Run, verdict: Verdict, rails: int, *, resumed: bool = False) -> NextBench | None:
    """What to measure next after a run that came to no conclusion; None where no bench would say more.

    `rails` are those that the cables prove. More blocks are named only where their number is known to help. What was
    asked of a `resumed` run stands in its command alone: one without has no next, and no option that chose is dropped.
    """
    if verdict.conclusive or (resumed and (not run.command or _nobody_left(verdict))):
        return None
    if _base_broke(run, verdict):
        return NextBench("measure again, once base is mended")
    if _nobody_left(verdict):
        return _without_them(request, run, rails)
    if run.reason or run.status != "complete":
        return NextBench("measure to the end", blocks=max(DECIDING_BLOCKS, request.blocks))
    if run.plan.blocks < DECIDING_BLOCKS:
        return NextBench("measure the blocks that a verdict needs", blocks=blocks_to_ask(verdict, request.blocks))
    return _beyond_noise(request, run, verdict)


def blocks_to_ask(verdict: Verdict, asked: int) -> int:
    """The blocks that a run to the end should have: enough for a verdict, and for what its own noise calls for.

    The smallest number that settles a candidate which can't be told from base yet; never fewer than were asked for.
    """
    open_ = [one.blocks_needed for one in verdict.candidates if one.verdict == "inconclusive" and one.blocks_needed]
    return max(DECIDING_BLOCKS, asked, min(open_, default=0))


def _base_broke(run: Run, verdict: Verdict) -> bool:
    """Whether base gave wrong results, or failed so often that no verdict has its blocks."""
    base = {one.name for one in run.plan.candidates if one.role == "base"}
    own = [launch for launch in run.launches if launch.candidate in base]
    return bool(incorrect(own) or (verdict.blocks < BLOCKS_TO_SPEAK and failed(own)))


def _nobody_left(verdict: Verdict) -> bool:
    return bool(verdict.candidates) and all(one.verdict in GONE for one in verdict.candidates)


def _without_them(request: Request, run: Run, rails: int) -> NextBench | None:
    """The same without the candidates that fell out, where that leaves something to compare with base."""
    usual = DEFAULT_SETS[run.plan.backend]
    tried = request.sets or (() if request.weighs_rails else usual)
    asked = bool(request.candidates) or request.both_nics or request.current is not None
    if asked and set(usual) - set(tried):
        return NextBench("measure without the candidates that fell out", without=CHOOSING)
    if rails > 1 and not request.weighs_rails:
        why = "weigh one rail against all, without the candidates that fell out"
        return NextBench(why, without=CHOOSING, adding=("--both-nics",))
    return None


def _beyond_noise(request: Request, run: Run, verdict: Verdict) -> NextBench:
    """More blocks where their number is known to be enough; else the same once more, on nodes that are idle."""
    wanted = blocks_to_ask(verdict, request.blocks)
    if wanted > run.plan.blocks:
        fewer = "; idle nodes need fewer" if wanted > MANY else ""
        return NextBench(f"measure the {wanted} blocks that this noise calls for{fewer}", blocks=wanted)
    return NextBench("measure again, on idle nodes")
