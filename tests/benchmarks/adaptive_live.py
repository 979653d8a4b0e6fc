"""An adaptive search on real NCCL, live, and its choice beside the best of a recorded grid in the same blocks.

    python tests/benchmarks/adaptive_live.py search  --keep DIR [--seconds 520]
    python tests/benchmarks/adaptive_live.py compare --keep DIR [--seconds 520] --grid results/grid_h200.json

search: a whole bench with `--search adaptive` over the choices of grid.py AXES (eight single settings, whose unions it
makes itself), base's two launches in every block, the profile of the recorded grid. It stops after --seconds at the end
of a launch; called again with the same folder it goes on with the same run. About 150 launches of 1.3 s.
compare: base, the search's choice and the setting with the best mean of the recorded grid, launched side by side in
fresh blocks; prints both intervals against base and whether they overlap. Kept block by block, so it can go on too.
Exit status 1 while something is left to do. Two lab nodes on one GPU through MPS (or one each), root, a torch with NCCL
and an idle NVIDIA GPU. RoCE takes no part. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fabricdoc.bench.launch import Place, run_launch  # noqa: E402
from fabricdoc.bench.plan import block_order, grid_shapes  # noqa: E402
from fabricdoc.bench.statistics import block_interval  # noqa: E402
from fabricdoc.errors import StoppedError  # noqa: E402
from fabricdoc.model.run import Candidate, Plan, Run  # noqa: E402
from fabricdoc.model.verdict import Interval  # noqa: E402
from fabricdoc.store import RunStore  # noqa: E402
from fabricdoc.tuning import judge  # noqa: E402
from fabricdoc.workflow import Prepared, Request, look, measure, opened_agents, prepare  # noqa: E402
from tests.benchmarks.gpu_main_job import PROFILE, conclude, nodes, progress, say  # noqa: E402
from tests.benchmarks.grid import AXES, SECOND, means_of, read_grid, settings_of, single_candidates  # noqa: E402
from tests.benchmarks.record_grid import keep as written  # noqa: E402
from tests.benchmarks.record_grid import named, time_of  # noqa: E402

SEED = 20261130
SIZE = 20480
BLOCKS = 12
RUN = "adaptive.sqlite"
COMPARED = "adaptive-compared.json"


def until_then(until: float) -> Callable[[str], None]:
    """A progress callback that ends the run as Ctrl-C would, once the time is over."""

    def tell(text: str) -> None:
        progress(text)
        if time.monotonic() > until:
            raise KeyboardInterrupt

    return tell


def request_for(stack: ExitStack) -> Request:
    """The bench that is asked for, on two lab nodes."""
    return Request(specs=nodes(stack, None), backend="nccl", profile=PROFILE, objective="decode", sizes=(SIZE,),
                   search="adaptive", seed=SEED)  # fmt: skip


def search(keep: Path, until: float) -> bool:
    """Search, or go on with it; whether it came to its end."""
    with RunStore.open(keep / RUN, write=True) as store, ExitStack() as stack:
        begun = store.load() if store.latest_id() else None
        if begun is not None and begun.status == "complete":
            say(f"the search is complete: {len(begun.launches)} launches")
            return True
        request = request_for(stack)
        fabric = look(request.specs, lambda _: None)
        agents = stack.enter_context(opened_agents(request, fabric, lambda _: None))
        prepared = taken_up(prepare(request, fabric, agents), begun)
        try:
            done = measure(request, fabric, agents, prepared, store, until_then(until))
        except StoppedError as stopped:
            say(f"{stopped.message}; call again")
            return False
        conclude(done.run, done.recommended.verdict)
        return True


def taken_up(prepared: Prepared, begun: Run | None) -> Prepared:
    """The prepared bench with the grid's choices as its candidates, or the run that was begun, on the nodes of now.

    Lab nodes are made anew for every call, so `bench --resume`, which wants the same nodes, would refuse.
    """
    if begun is not None:
        return replace(prepared, run=begun, resumes=True)
    return replace(prepared, run=prepared.run.model_copy(update={"plan": small(prepared.run.plan)}))


def small(plan: Plan) -> Plan:
    """The plan with base and the grid's single choices, one size and the graph view."""
    base = next(one for one in plan.candidates if one.role == "base")
    changes = {"candidates": (base, *single_candidates(AXES)), "shapes": grid_shapes((SIZE,)), "views": ("graph",)}
    return plan.model_copy(update=changes)


def compare(keep: Path, until: float, grid: Path) -> bool:
    """Launch base, the search's choice and the grid's best in fresh blocks; whether all blocks are there."""
    with RunStore.open(keep / RUN) as store:
        run = store.load()
    from fabricdoc.serving import load_profile

    choice = judge(run, load_profile(PROFILE), "decode").choice
    means = means_of(read_grid(grid).blocks)
    best = min(means, key=lambda name: means[name])
    path = keep / COMPARED
    content: dict[str, Any] = {"choice": choice, "best": best, "blocks": []}
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else content
    if not fill(content, path, until, run):
        say(f"{len(content['blocks'])} of {BLOCKS} blocks begun: call again")
        return False
    report(content, len(run.launches), (len(settings_of(AXES)) + 2) * BLOCKS)
    return True


def fill(content: dict[str, Any], path: Path, until: float, run: Run) -> bool:
    """Make the launches that are missing; False where the time was over before."""
    known = {one.name: one for one in (*run.plan.candidates, *settings_of(AXES))}
    wanted = [known[name] for name in dict.fromkeys(("base", content["choice"], content["best"]))]
    with ExitStack() as stack:
        request = request_for(stack)
        fabric = look(request.specs, lambda _: None)
        agents = stack.enter_context(opened_agents(request, fabric, lambda _: None))
        prepared = prepare(request, fabric, agents)
        plan = small(prepared.run.plan).model_copy(update={"candidates": tuple(based(wanted, prepared))})
        for number in range(1, BLOCKS + 1):
            if len(content["blocks"]) < number:
                content["blocks"].append({})
            block = content["blocks"][number - 1]
            for position, (name, one) in enumerate(named(block_order(plan.candidates, number, SEED))):
                if name in block:
                    continue
                if time.monotonic() > until:
                    return False
                place = Place(100 * number + position, "confirm", number, position)
                launch, _ = run_launch(agents, plan, one, place, prepared.master)
                block[name] = time_of(launch, SIZE)
                written(path, content)
                progress(f"block {number}/{BLOCKS} {name}: {launch.status} {launch.reason}")
    return True


def based(wanted: list[Candidate], prepared: Prepared) -> list[Candidate]:
    """The candidates with base as it is on the nodes of now."""
    base = next(one for one in prepared.run.plan.candidates if one.role == "base")
    return [base if one.role == "base" else one for one in wanted]


def interval_of(blocks: list[dict[str, float | None]], name: str) -> Interval:
    """The ratio of base to a setting over the blocks that have all of it; base itself is 1."""
    if name == "base":
        return Interval(ratio=1.0, low=1.0, high=1.0, blocks=0)
    whole = [block for block in blocks if None not in (block.get("base"), block.get(SECOND), block.get(name))]
    return block_interval([[block["base"] - block[name], block[SECOND] - block[name]] for block in whole])  # type: ignore[operator]


def report(content: dict[str, Any], launches: int, grid_launches: int) -> None:
    """Every block, both intervals, and whether they overlap."""
    say(f"\nsearch: {launches} launches, the grid's {grid_launches} ({100 * launches / grid_launches:.0f} %)")
    for block in content["blocks"]:
        say("  ".join(f"{name} {math.exp(value):.1f}" for name, value in sorted(block.items()) if value is not None))
    names = dict.fromkeys((content["choice"], content["best"]))
    found = {name: interval_of(content["blocks"], name) for name in names}
    for name, one in found.items():
        told = " and ".join(role for role in ("choice", "best") if content[role] == name)
        say(f"{told} {name}: {one.ratio:.3f} [{one.low:.3f}, {one.high:.3f}] against base, {one.blocks} blocks")
    one, other = found[content["choice"]], found[content["best"]]
    overlap = one.low <= other.high and other.low <= one.high
    say(f"the intervals overlap: {'yes' if overlap else 'NO'}")


def main() -> int:
    """Run one part; 1 while something is left to do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["search", "compare"])
    parser.add_argument("--keep", type=Path, default=Path("adaptive"))
    parser.add_argument("--seconds", type=float, default=520.0)
    parser.add_argument("--grid", type=Path, default=Path(__file__).with_name("results") / "grid_h200.json")
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + given.seconds
    done = search(given.keep, until) if given.part == "search" else compare(given.keep, until, given.grid)
    return int(not done)


if __name__ == "__main__":
    sys.exit(main())
