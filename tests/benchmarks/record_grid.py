"""Record a full grid of settings on real NCCL between two lab nodes, for `search_regret.py`.

    python tests/benchmarks/record_grid.py GRID.json [--blocks 12] [--seconds 540] [--sizes 20480]

96 settings (grid.py AXES) and base twice, every one launched once in every block in random order, on two network
namespaces that share one GPU through MPS (or have one each), as `gpu_main_job.py` does. About one second a launch: 12
blocks take some 20 minutes. It stops after --seconds at the end of a launch and, called again with the same file, goes
on where it stopped, so that a short lease can be used again and again. Needs root, a torch with NCCL and an idle
NVIDIA GPU. What is recorded is the decode stage of layer_all_reduces.toml (the graph view at its size). RoCE takes no
part. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fabricdoc.bench.launch import Place, run_launch  # noqa: E402
from fabricdoc.bench.plan import block_order, grid_shapes  # noqa: E402
from fabricdoc.model.run import Candidate, Launch, Plan  # noqa: E402
from fabricdoc.workflow import Request, look, opened_agents, prepare  # noqa: E402
from tests.benchmarks.gpu_main_job import PROFILE, nodes, progress  # noqa: E402
from tests.benchmarks.grid import AXES, SCHEMA, SECOND, settings_of  # noqa: E402

SEED = 20261130


def begun(path: Path) -> dict[str, Any]:
    """What the file holds, or a new recording."""
    if path.exists():
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content
    made = f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}"
    return {"schema": SCHEMA, "made": made, "profile": Path(PROFILE).name, "objective": "decode", "axes": AXES,
            "seed": SEED, "nodes": [], "blocks": [], "failed": {}}  # fmt: skip


def keep(path: Path, content: dict[str, Any]) -> None:
    """Write beside, then rename: a kill leaves the file as it was."""
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(content, indent=1), encoding="utf-8")
    draft.rename(path)


def time_of(launch: Launch, size: int) -> float | None:
    """The logarithm of the graph view's median in µs at that size; None where the launch has none."""
    found = [cell.median_us for cell in launch.cells if cell.view == "graph" and cell.size == size]
    return round(math.log(found[0]), 5) if launch.status == "ok" and found else None


def record(path: Path, blocks: int, seconds: float, sizes: tuple[int, ...]) -> int:
    """Launch until all blocks are there or the time is over; the number of launches made."""
    content, ends, made = begun(path), time.monotonic() + seconds, 0
    with ExitStack() as stack:
        specs = nodes(stack, None)
        request = Request(specs=specs, backend="nccl", profile=PROFILE, objective="decode", sizes=sizes, seed=SEED)
        fabric = look(specs, lambda _: None)
        agents = stack.enter_context(opened_agents(request, fabric, lambda _: None))
        prepared = prepare(request, fabric, agents)
        base = next(one for one in prepared.run.plan.candidates if one.role == "base")
        plan = small_plan(prepared.run.plan, base, sizes)
        content["nodes"] = [node.model_dump(mode="json") for node in prepared.run.nodes]
        for number in range(1, blocks + 1):
            if len(content["blocks"]) < number:
                content["blocks"].append({})
            block = content["blocks"][number - 1]
            for position, (name, candidate) in enumerate(named(block_order(plan.candidates, number, SEED))):
                if name in block or name in content["failed"]:
                    continue
                if time.monotonic() > ends:
                    return made
                launch, _ = run_launch(
                    agents, plan, candidate, Place(made + 1, "search", number, position), prepared.master
                )
                taken(content, block, name, launch, sizes[0])
                made += 1
                progress(
                    f"block {number}/{blocks} {position + 1}/{len(plan.candidates) + 1} {name}: {launch.seconds:.1f} s"
                )
                keep(path, content)
    return made


def named(order: tuple[Candidate, ...]) -> list[tuple[str, Candidate]]:
    """Every launch of a block under its name in the file: base's second one has its own."""
    seen: set[str] = set()
    found = []
    for one in order:
        found.append((SECOND if one.name in seen else one.name, one))
        seen.add(one.name)
    return found


def taken(content: dict[str, Any], block: dict[str, float], name: str, launch: Launch, size: int) -> None:
    """Keep a launch's time, or the reason why the setting is not launched again."""
    value = time_of(launch, size)
    if value is not None:
        block[name] = value
    elif name not in ("base", SECOND):
        content["failed"][name] = f"{launch.status}: {launch.reason}"


def small_plan(plan: Plan, base: Candidate, sizes: tuple[int, ...]) -> Plan:
    """The prepared plan with the grid's settings, the recorded sizes and the graph view alone."""
    changes = {"candidates": (base, *settings_of(AXES)), "shapes": grid_shapes(sizes), "views": ("graph",)}
    return plan.model_copy(update=changes)


def main() -> int:
    """Record, and say how far it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grid", type=Path)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--sizes", type=lambda text: tuple(int(size) for size in text.split(",")), default=(20480,))
    given = parser.parse_args()
    made = record(given.grid, given.blocks, given.seconds, given.sizes)
    content = begun(given.grid)
    wanted = given.blocks * (len(settings_of(AXES)) - len(content["failed"]) + 2)
    there = sum(len(block) for block in content["blocks"])
    sys.stdout.write(f"{made} launches made; {there} of {wanted} are there; failed: {content['failed'] or 'none'}\n")
    return int(there < wanted)


if __name__ == "__main__":
    sys.exit(main())
