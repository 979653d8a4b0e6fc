"""What an adaptive search loses against the full grid, and what it saves: replays on recorded launches.

    python tests/benchmarks/search_regret.py GRID.json [--replays 200] [--objective decode]
    python tests/benchmarks/search_regret.py --invented 3        the same on an invented grid, whose truth is known

Each replay halves the recorded blocks at random. The search (the real course of fabricdoc.bench, with the standings and
verdicts of fabricdoc.tuning) draws its launches from one half; the full grid's choice is the setting with the best mean
of that whole half; both choices are then held against the other half, which neither saw. Regret is the time of the
search's choice over the time of the better of base and the grid's choice, there, minus 1. Also printed: regret against
the setting that is best in the unseen half itself, which no search could know (it holds that half's luck too).
Exit status 1 when the median regret is above 2 %, the 95th percentile above 5 %, or more than 25 % of the grid's
launches were used. Launches nothing, needs no GPU. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fabricdoc.bench.course import Course, Step  # noqa: E402
from fabricdoc.bench.statistics import quantile  # noqa: E402
from fabricdoc.model.run import Candidate, Run  # noqa: E402
from fabricdoc.serving import load_profile  # noqa: E402
from fabricdoc.tuning import judge, standings  # noqa: E402
from tests.benchmarks.grid import SECOND, Grid, invented_grid, means_of, read_grid  # noqa: E402
from tests.benchmarks.recorded_launches import BASE, PROFILE, launch_of, plan_of, run_of  # noqa: E402

SIZE = 20480  # the grid holds one time per launch: it is told as this size's, which the profile's decode step sends
BLOCKS = 6
CONFIRMED = 2


class Replay(NamedTuple):
    """One replay: what was chosen, its regret against the grid's choice and the unseen best, and its launches."""

    choice: str
    regret: float
    unseen_regret: float
    launches: int
    grid_launches: int


def replay(grid: Grid, seed: int, true: Mapping[str, float] | None = None) -> Replay:
    """Search once on a random half of the blocks; with `true` log times (an invented grid) regret is held to those."""
    chance = random.Random(f"replay/{seed}")
    order = chance.sample(range(len(grid.blocks)), len(grid.blocks))
    seen = [grid.blocks[place] for place in sorted(order[: len(order) // 2])]
    unseen = [grid.blocks[place] for place in sorted(order[len(order) // 2 :])]
    run = searched(grid, seen, seed, chance)
    choice = judge(run, load_profile(PROFILE), "decode").choice
    known, truth = means_of(seen), dict(true or means_of(unseen))
    best = min((name for name in known if name in truth), key=lambda name: known[name])
    return Replay(
        choice,
        math.exp(truth[choice] - min(truth[best], truth["base"])) - 1.0,
        math.exp(truth[choice] - min(truth.values())) - 1.0,
        len(run.launches),
        len(seen) * (len(grid.settings) + 2),
    )


def searched(grid: Grid, seen: Sequence[Mapping[str, float]], seed: int, chance: random.Random) -> Run:
    """The run of an adaptive search whose launches are drawn from the seen blocks, a block for a block."""
    profile = load_profile(PROFILE)
    plan = plan_of(0, BLOCKS, seed, ())
    singles = tuple(Candidate(name=name, variables=dict(values)) for name, values in grid.singles.items())
    plan = plan.model_copy(update={"candidates": (BASE, *singles), "search": "adaptive", "objective": "decode"})

    def contenders(so_far: Run) -> list[str]:
        verdict = judge(so_far, profile, "decode")
        better = [(one.score.ratio, one.name) for one in verdict.candidates if one.verdict == "better" and one.score]
        return [name for _, name in sorted(better, reverse=True)][:CONFIRMED]

    course = Course(run_of(plan, ()), lambda *_: True, contenders, lambda so_far: standings(so_far, profile, "decode"))
    drawn: dict[int, Mapping[str, float]] = {}
    bases: dict[int, int] = {}
    for step in course.steps():
        block = drawn.setdefault(step.block, chance.choice(seen))
        course.launches.append(_launch(step, block, bases, len(course.launches) + 1))
    return course.so_far()


def _launch(step: Step, block: Mapping[str, float], bases: dict[int, int], number: int):  # type: ignore[no-untyped-def]
    name = step.candidate.name
    if name == "base":
        bases[step.block] = bases.get(step.block, 0) + 1
        name = "base" if bases[step.block] % 2 else SECOND
    time = block.get(name)
    launch = launch_of(step.candidate.name, step.block, step.position, {} if time is None else {SIZE: time},
                       again=step.round == "confirm", number=number)  # fmt: skip
    return launch.model_copy(update={"round": step.round, "status": "ok" if time is not None else "failed"})


def say(text: str) -> None:
    """One line of the record."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def summary(replays: Sequence[Replay]) -> tuple[float, float, float]:
    """Median and 95th percentile of the regret, and the largest share of the grid's launches."""
    regrets = sorted(one.regret for one in replays)
    return quantile(regrets, 0.5), quantile(regrets, 0.95), max(one.launches / one.grid_launches for one in replays)


def main(words: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grid", type=Path, nargs="?")
    parser.add_argument("--invented", type=int, metavar="SEED")
    parser.add_argument("--replays", type=int, default=200)
    given = parser.parse_args(words)
    if (given.grid is None) == (given.invented is None):
        parser.error("name a recorded grid, or --invented SEED")
    grid, true = (read_grid(given.grid), None) if given.grid else invented_grid(given.invented)
    replays = [replay(grid, seed, true) for seed in range(given.replays)]
    middle, high, share = summary(replays)
    unseen = sorted(one.unseen_regret for one in replays)
    counts = sorted(one.launches for one in replays)
    chosen = sorted({(sum(one.choice == name for one in replays), name) for name in {one.choice for one in replays}})
    say(f"{len(grid.settings)} settings and base, {len(grid.blocks)} blocks, {given.replays} replays on halves of them")
    say(f"regret against the grid's own choice: median {100 * middle:.2f} %, p95 {100 * high:.2f} %")
    best = [100 * quantile(unseen, part) for part in (0.5, 0.95)]
    say(f"regret against the best there is in the unseen half: median {best[0]:.2f} %, p95 {best[1]:.2f} %")
    say(f"launches {counts[0]} to {counts[-1]}, the grid's {replays[0].grid_launches}: at most {100 * share:.1f} %")
    say("chosen: " + ", ".join(f"{name} {count}x" for count, name in reversed(chosen[-8:])))
    return int(middle > 0.02 or high > 0.05 or share > 0.25)


if __name__ == "__main__":
    sys.exit(main())
