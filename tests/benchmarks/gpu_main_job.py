"""The main job on real NCCL: two nodes in one machine, one GPU through MPS (or one GPU each), socket rails.

    python tests/benchmarks/gpu_main_job.py tune  --objective decode --keep DIR   bench, verdict, preset
    python tests/benchmarks/gpu_main_job.py fresh --keep DIR                      the exported preset, launched afresh
    python tests/benchmarks/gpu_main_job.py rails --keep DIR                      one 4 Gbit/s rail against two
    python tests/benchmarks/gpu_main_job.py judge --store FILE                    a stored run judged again

Prints machine, versions, command, every launch, and per candidate the ratio to base with its interval. Needs root,
a torch with NCCL and an idle NVIDIA GPU. It shows what the tool finds on sockets over veth: RoCE, GPUDirect and
DMA-BUF take no part. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fabricdoc.bench import Agents, Bench, make_plan, paired_interval  # noqa: E402
from fabricdoc.demo.gpu import share_gpus  # noqa: E402
from fabricdoc.export import render  # noqa: E402
from fabricdoc.lab import LabSpec, open_lab  # noqa: E402
from fabricdoc.model.run import Candidate, Launch, Run  # noqa: E402
from fabricdoc.model.verdict import Verdict  # noqa: E402
from fabricdoc.serving import load_profile  # noqa: E402
from fabricdoc.store import RunStore  # noqa: E402
from fabricdoc.transport import NodeSpec  # noqa: E402
from fabricdoc.tuning import judge, preset_to_toml, read_preset  # noqa: E402
from fabricdoc.workflow import Request, look, measure, opened_agents, prepare  # noqa: E402

PROFILE = str(Path(__file__).with_name("layer_all_reduces.toml"))
CANDIDATES = tuple(f"decode:{name}" for name in ("ring-tree", "simple", "one-channel", "two-channels"))
SIZES = (8, 1024, 4096, 8192, 16384, 20480, 32768, 65536)
BIG = 41943040
SHOWN = (*SIZES, BIG)
FRESH_BLOCKS = 10


def say(text: str = "") -> None:
    """One line of the record."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


BEGAN = time.monotonic()


def progress(text: str) -> None:
    """Where it is, on stderr, with the seconds since the start."""
    sys.stderr.write(f"{time.monotonic() - BEGAN:6.1f} {text}\n")


def header(run: Run) -> None:
    """Date, command, machine, versions."""
    say(f"date      {datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    say(f"command   python {' '.join(sys.argv)}")
    for node in run.nodes:
        say(f"{node.name:9} kernel {node.kernel}, torch {node.torch}, NCCL {node.nccl}, driver {node.nvidia_driver}")
        say(f"          GPUs {', '.join(node.gpus)}; {platform.machine()}")
    say(f"plan      {run.plan.blocks} blocks, base twice in each, seed {run.plan.seed}")
    say(f"profile   {Path(run.plan.profile).name}")


def medians(launch: Launch, view: str) -> dict[int, float]:
    """All-reduce medians of a launch, by size in bytes, in µs."""
    return {c.size: c.median_us for c in launch.cells if c.view == view and c.op == "all_reduce"}


def every_launch(launches: Sequence[Launch], view: str = "graph") -> None:
    """A line per launch: medians of the shown sizes."""
    say(f"\nevery launch, all_reduce {view} median in µs (max over ranks, over calls)")
    say("  no round   blk candidate         s   " + "".join(f"{size:>10}" for size in SHOWN))
    for launch in launches:
        cells = medians(launch, view)
        row = "".join(f"{cells[size]:>10.1f}" if size in cells else f"{'-':>10}" for size in SHOWN)
        word = "" if launch.status == "ok" else f"  {launch.status}: {launch.reason}"
        place = f"{launch.number:4} {launch.round:7} {launch.block:3} {launch.candidate:16}"
        say(f"{place} {launch.seconds:4.1f} {row}{word}")


def ratios(verdict: Verdict, view: str = "graph") -> None:
    """Per candidate: ratio to base with interval, per size."""
    say(f"\nratio to base (above 1 is faster), interval corrected for {len(verdict.candidates)} candidates, {view}")
    for candidate in verdict.candidates:
        score = candidate.score
        text = f"{score.ratio:.3f} [{score.low:.3f}, {score.high:.3f}]" if score else "-"
        again = "" if candidate.confirmed is None else f", confirmed {candidate.confirmed}"
        say(f"{candidate.name:17} {candidate.verdict:12} score {text}{again}; {candidate.reason}")
        for cell in candidate.cells:
            if cell.view == view and cell.op == "all_reduce" and cell.size in SHOWN:
                i = cell.interval
                say(
                    f"    {cell.size:>9} B  {cell.base_us:>9.1f} -> {cell.candidate_us:>9.1f} µs  "
                    f"{i.ratio:.3f} [{i.low:.3f}, {i.high:.3f}]  {i.blocks} blocks  {cell.verdict}"
                )


def tune(objective: str, keep: Path, *, rate_mbit: int | None, both: bool, sizes: Sequence[int], blocks: int) -> None:
    """Bench, judge and leave the preset and one env file per node in `keep`."""
    with ExitStack() as stack:
        specs = nodes(stack, rate_mbit)
        request = Request(
            specs=specs,
            backend="nccl",
            both_nics=both,
            candidates=() if both else CANDIDATES,
            profile=PROFILE,
            objective=objective,  # type: ignore[arg-type]
            sizes=sizes,
            blocks=blocks,
            seed=20261129,
        )
        fabric = look(specs, lambda _: None)
        store = RunStore.open(keep / f"{objective}-{'rails' if both else 'tune'}.sqlite", write=True)
        agents = stack.enter_context(opened_agents(request, fabric, lambda _: None))
        began = time.monotonic()
        prepared = prepare(request, fabric, agents)
        done = measure(request, fabric, agents, prepared, store, progress)
        say(f"measured in {time.monotonic() - began:.0f} s, {len(done.run.launches)} launches")
    conclude(done.run, done.recommended.verdict)
    leave(done.recommended.preset, keep)


def conclude(run: Run, verdict: Verdict) -> None:
    """Everything about a run: where, every launch, every ratio, the choice and what it costs."""
    header(run)
    every_launch(run.launches)
    ratios(verdict)
    ratios(verdict, "throughput")
    say(f"\nobjective {verdict.objective}: choice {verdict.choice}. {verdict.reason}")
    say(f"floor {verdict.floor:.3f}, smallest effect {verdict.smallest_effect:.3f}, conclusive {verdict.conclusive}")
    for sentence in verdict.trade:
        say(f"trade: {sentence}")


def leave(preset: object, keep: Path) -> None:
    """The preset as TOML and NODE.env files."""
    from fabricdoc.model.preset import Preset

    if not isinstance(preset, Preset):
        say("no preset")
        return
    (keep / "preset.toml").write_text(preset_to_toml(preset))
    for node in preset.nodes:
        text = render(preset, node, "docker-env")
        (keep / f"{node.name}.env").write_text(text)
        say(f"--- {node.name}.env\n{text}---")


def nodes(stack: ExitStack, rate_mbit: int | None) -> list[NodeSpec]:
    """Two lab nodes with a GPU each, or sharing one."""
    share = share_gpus(stack, 2)
    lab = stack.enter_context(open_lab(LabSpec(rate_mbit=rate_mbit)))
    return [
        NodeSpec(name=n.name, target=n.target, ports=n.ports, env=share.environment(i)) for i, n in enumerate(lab.nodes)
    ]


def from_env_file(path: Path) -> dict[str, str]:
    """Read an exported env file back as docker --env-file does."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def fresh(keep: Path) -> None:
    """Launch base and the exported env files afresh, in random order, base twice a block."""
    preset = read_preset(keep / "preset.toml")
    exported = Candidate(
        name="preset",
        node_variables={node.name: from_env_file(keep / f"{node.name}.env") for node in preset.nodes},
        on_base=False,
    )
    with ExitStack() as stack:
        specs = nodes(stack, None)
        request = Request(specs=specs, backend="nccl", profile=PROFILE, objective="decode", sizes=SIZES)
        fabric = look(specs, lambda _: None)
        agents = stack.enter_context(opened_agents(request, fabric, lambda _: None))
        prepared = prepare(request, fabric, agents)
        bench = fresh_bench(prepared.run, prepared.master, agents, exported, keep)
        for block in range(1, FRESH_BLOCKS + 1):
            progress(f"fresh block {block}/{FRESH_BLOCKS}")
            bench.block(bench.plan.candidates, "search", block, FRESH_BLOCKS)
    header(bench.run)
    every_launch(bench.launches)
    report_fresh(bench.launches)


def fresh_bench(run: Run, master: str, agents: Agents, exported: Candidate, keep: Path) -> Bench:
    """A bench of base and the exported set alone."""
    base = next(c for c in run.plan.candidates if c.role == "base")
    plan = make_plan(
        backend="nccl",
        ranks=run.plan.ranks,
        candidates=(base, exported),
        shapes=run.plan.shapes,
        blocks=FRESH_BLOCKS,
        seed=7,
        profile=PROFILE,
        objective="decode",
    )
    store = RunStore.open(keep / "fresh.sqlite", write=True)
    fresh_run = run.model_copy(update={"plan": plan})
    store.begin(fresh_run)
    return Bench(agents, store, fresh_run, master, lambda _: None, (keep,))


def report_fresh(launches: Sequence[Launch]) -> None:
    """Ratio of base to preset per size, over blocks."""
    import math

    say(f"\nthe exported preset launched afresh against base, {FRESH_BLOCKS} blocks, 95 % interval")
    for size in SHOWN:
        logs = []
        for block in range(1, FRESH_BLOCKS + 1):
            these = [x for x in launches if x.block == block and x.status == "ok"]
            base = [math.log(medians(x, "graph")[size]) for x in these if x.candidate == "base"]
            mine = [math.log(medians(x, "graph")[size]) for x in these if x.candidate == "preset"]
            if len(base) == 2 and len(mine) == 1:
                logs.append(sum(base) / 2 - mine[0])
        i = paired_interval(logs)
        say(f"    {size:>9} B  {i.ratio:.3f} [{i.low:.3f}, {i.high:.3f}]  {i.blocks} blocks")


def main() -> int:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["tune", "fresh", "rails", "judge"])
    parser.add_argument("--objective", default="mix")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--keep", type=Path, default=Path("gpu-main-job"))
    parser.add_argument("--store", type=Path)
    words = parser.parse_args()
    if words.part == "judge":
        run = RunStore.open(words.store).load()
        conclude(run, judge(run, load_profile(PROFILE), run.plan.objective))
        return 0
    words.keep.mkdir(parents=True, exist_ok=True)
    if words.part == "fresh":
        fresh(words.keep)
        return 0
    rails = words.part == "rails"
    sizes = (8, 20480) if rails else SIZES
    rate = 4000 if rails else None
    tune(words.objective, words.keep, rate_mbit=rate, both=rails, sizes=sizes, blocks=words.blocks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
