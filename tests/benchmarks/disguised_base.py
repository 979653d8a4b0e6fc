"""Live A/A: base in disguise as every candidate, through the whole bench. Nothing may win.

    python tests/benchmarks/disguised_base.py --runs 5 --keep DIR

Two nodes in one machine, one GPU through MPS (or one each), one socket rail. Every candidate of a run is base's own
environment under another name, so a winner is a false one. Each run is a whole bench: proof, blocks with base twice,
confirmation of what would win, verdict. Prints machine, versions, every launch's 20 KiB median, the verdicts.
Needs root, a torch with NCCL, an idle NVIDIA GPU. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fabricdoc.model.run import Candidate, Run  # noqa: E402
from fabricdoc.model.verdict import Verdict  # noqa: E402
from fabricdoc.store import RunStore  # noqa: E402
from fabricdoc.workflow import Request, look, measure, opened_agents, prepare  # noqa: E402
from tests.benchmarks.gpu_main_job import PROFILE, header, medians, nodes, progress, say  # noqa: E402

SIZES = (8, 1024, 4096, 8192, 20480, 65536)
DISGUISES = 4
SHOWN = 20480


def disguised(plan_candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Base, and base again under other names."""
    base = next(one for one in plan_candidates if one.role == "base")
    names = [f"disguise-{index + 1}" for index in range(DISGUISES)]
    return (base, *(Candidate(name=name, why="base's own environment", source="this script") for name in names))


def one_run(number: int, blocks: int, keep: Path) -> tuple[Run, Verdict]:
    """A whole bench of base against itself."""
    with ExitStack() as stack:
        specs = nodes(stack, None)
        request = Request(
            specs=specs, backend="nccl", profile=PROFILE, objective="decode", sizes=SIZES, blocks=blocks, seed=number
        )
        fabric = look(specs, lambda _: None)
        agents = stack.enter_context(opened_agents(request, fabric, lambda _: None))
        prepared = prepare(request, fabric, agents)
        plan = prepared.run.plan.model_copy(
            update={
                "candidates": disguised(prepared.run.plan.candidates),
                "shapes": tuple(shape for shape in prepared.run.plan.shapes if shape.size <= max(SIZES)),
            }
        )
        prepared = replace(prepared, run=prepared.run.model_copy(update={"plan": plan}))
        store = RunStore.open(keep / f"disguised-{number}.sqlite", write=True)
        done = measure(request, fabric, agents, prepared, store, progress)
    return done.run, done.recommended.verdict


def report(number: int, run: Run, verdict: Verdict) -> bool:
    """Print a run; whether something won."""
    say(f"\nrun {number}: {len(run.launches)} launches; graph median at 20 KiB in µs, block by block")
    for name in dict.fromkeys(launch.candidate for launch in run.launches):
        mine = [x for x in run.launches if x.candidate == name and x.round != "proof"]
        values = " ".join(f"{medians(x, 'graph').get(SHOWN, float('nan')):6.1f}" for x in mine)
        say(f"    {name:12} {values}")
    for one in verdict.candidates:
        score = f"{one.score.ratio:.3f} [{one.score.low:.3f}, {one.score.high:.3f}]" if one.score else "-"
        say(f"    {one.name:12} {one.verdict:12} {score}")
    say(f"    choice {verdict.choice}; A/A floor {verdict.floor:.3f}, smallest effect {verdict.smallest_effect:.3f}")
    return verdict.choice != "base"


def main() -> int:
    """Some runs, and how many had a winner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--keep", type=Path, default=Path("disguised"))
    words = parser.parse_args()
    words.keep.mkdir(parents=True, exist_ok=True)
    winners, began = 0, time.monotonic()
    for number in range(1, words.runs + 1):
        run, verdict = one_run(number, words.blocks, words.keep)
        if number == 1:
            header(run)
        winners += report(number, run, verdict)
    say(f"\n{winners} of {words.runs} runs had a winner; {time.monotonic() - began:.0f} s")
    return 1 if winners else 0


if __name__ == "__main__":
    sys.exit(main())
