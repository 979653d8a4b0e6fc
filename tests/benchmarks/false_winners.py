"""How often a verdict errs: false winners in resampled A/A runs, and how often a planted effect is seen.

    python tests/benchmarks/false_winners.py [--runs 1000] [--candidates 5] [--blocks 6]

Runs are resampled from the recorded launches of tests/benchmarks/results (see recorded_launches.py), each one judged
as a bench's would be. Prints, per recorded run and way of resampling: false winners (chosen), candidates that looked
better before confirmation, the smallest detectable effect, and how many of the runs with a planted effect of twice
that saw it. Exit status 1 when more than 2 % of the A/A runs crown a winner, or fewer than 95 % see the effect.
Launches nothing, needs no GPU. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fabricdoc.model.run import Objective  # noqa: E402
from fabricdoc.serving import load_profile  # noqa: E402
from fabricdoc.tuning import judge  # noqa: E402
from tests.benchmarks.recorded_launches import PROFILE, Recorded, Resampler, recorded  # noqa: E402

KINDS = ("differences", "launches")


class Rates(NamedTuple):
    """What came of the runs of one source: counts, and the typical smallest effect (a ratio minus 1)."""

    source: str
    runs: int
    crowned: int
    looked_better: int
    inconclusive: int
    smallest: float
    planted: int
    seen: int


def rates(
    source: Recorded, kind: str, runs: int, planted: int, candidates: int, blocks: int, objective: Objective
) -> Rates:
    """Judge `runs` runs without an effect and `planted` ones with an effect of twice the smallest detectable one."""
    profile, sampler = load_profile(PROFILE), Resampler(source, kind, 1)
    verdicts = [judge(sampler.run(candidates, blocks), profile, objective) for _ in range(runs)]
    smallest = median(one.smallest_effect for one in verdicts)
    effects = {"c0": 1.0 + 2.0 * smallest}
    seen = 0
    for _ in range(planted):
        verdict = judge(sampler.run(candidates, blocks, effects), profile, objective)
        seen += verdict.candidates[0].verdict == "better"
    better = sum(any(c.verdict == "better" or c.confirmed is False for c in one.candidates) for one in verdicts)
    return Rates(
        f"{source.name} by {kind}", runs, sum(one.choice != "base" for one in verdicts), better,
        sum(not one.conclusive for one in verdicts), smallest, planted, seen,
    )  # fmt: skip


def sources() -> list[tuple[Recorded, str]]:
    """Every recorded run in both ways of resampling."""
    return [(source, kind) for source in recorded() for kind in KINDS]


def say(text: str) -> None:
    """One line of the record."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def line(one: Rates) -> str:
    """One source as a line."""
    return (
        f"{one.source:55} {one.crowned:4}/{one.runs:<5} {one.looked_better:6} {one.inconclusive:6}"
        f" {100 * one.smallest:7.1f} % {one.seen:6}/{one.planted}"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="A/A runs in all")
    parser.add_argument("--planted", type=int, default=200, help="runs with an effect, in all")
    parser.add_argument("--candidates", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--objective", choices=["decode", "prefill", "mix"], default="mix")
    given = parser.parse_args(words)
    every = sources()
    shares = [-(-count // len(every)) for count in (given.runs, given.planted)]
    say(
        f"{given.candidates} candidates, {given.blocks} blocks searched and as many to confirm,"
        f" objective {given.objective}"
    )
    say(f"{'launches of':55} {'winners':>10} {'better':>6} {'incon.':>6} {'smallest':>9} {'seen':>10}")
    found = []
    for source, kind in every:
        found.append(rates(source, kind, *shares, given.candidates, given.blocks, given.objective))
        say(line(found[-1]))
    runs, crowned = sum(one.runs for one in found), sum(one.crowned for one in found)
    planted, seen = sum(one.planted for one in found), sum(one.seen for one in found)
    say(f"false winners {crowned} of {runs} ({100 * crowned / runs:.2f} %)")
    say(f"an effect of twice the smallest seen in {seen} of {planted} ({100 * seen / planted:.1f} %)")
    return int(crowned > 0.02 * runs or seen < 0.95 * planted)


if __name__ == "__main__":
    sys.exit(main())
