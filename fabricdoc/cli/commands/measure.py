"""`bench` and `recommend`: measure candidates between nodes, or judge stored measurements again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabricdoc.cli.options import (
    Hostfile,
    Json,
    Nodes,
    Ports,
    Presets,
    Python,
    RunArgument,
    Slurm,
    Store,
    open_store,
    resolve_nodes,
    split,
)
from fabricdoc.cli.terminal import screen, typed

if TYPE_CHECKING:
    from fabricdoc.bench import Agents
    from fabricdoc.model.fabric import Fabric
    from fabricdoc.report import Screen
    from fabricdoc.store import RunStore
    from fabricdoc.transport import NodeSpec
    from fabricdoc.workflow import NextBench, Prepared, Request

OBJECTIVES = "decode, prefill or mix"
Objective = Annotated[str, typer.Option("--objective", help=f"What the verdict is for: {OBJECTIVES}.")]
Candidates = Annotated[
    list[str], typer.Option("--candidates", help="Candidate sets, single candidates (SET:NAME) or files.")
]
Current = Annotated[
    str | None,
    typer.Option(
        "--current",
        metavar="FILE|container:NAME|pid:N",
        help="What you serve with today, read on every node and judged too. Per node: pid:NODE=N,NODE=N.",
    ),
]
BothNics = Annotated[bool, typer.Option("--both-nics", help="Weigh the first rail alone against all proven rails.")]
Profile = Annotated[str, typer.Option("--profile", help="The served model's traffic: a profile's name or file.")]
Blocks = Annotated[
    int, typer.Option("--blocks", min=1, max=999, help="Blocks of launches; at least 6 to call anything better.")
]
Effect = Annotated[
    str,
    typer.Option("--effect", metavar="PERCENT", help="Plan as many blocks as a difference like 5% needs to be seen."),
]
Skew = Annotated[
    bool, typer.Option("--skew", help="Also tell how much later the last rank arrives, by gates before each call.")
]
Gemm = Annotated[
    str, typer.Option("--gemm", metavar="MxNxK", help="A matrix product before every timed call, as a decode step has.")
]
CallPath = Annotated[
    str, typer.Option("--path", help="torch, direct (NCCL's own calls), or both: torch's share of an eager call shows.")
]
Deadline = Annotated[
    list[str],
    typer.Option(
        "--deadline",
        metavar="PHASE=TIME",
        help="Limit of rendezvous, init, connect, check, capture, measure, soak or done on a rank, or of a launch.",
    ),
]
Budget = Annotated[str, typer.Option("--budget", help="Start no further block after this time (90s, 10m, 1h).")]
Sizes = Annotated[list[str], typer.Option("--sizes", help="Message sizes beside the profile's own (8,20K,1M,42M).")]
Backend = Annotated[str, typer.Option("--backend", help="auto, nccl or gloo.")]
Ops = Annotated[
    list[str],
    typer.Option(
        "--ops",
        help="Collectives of the grid: all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_recv.",
    ),
]
Dtype = Annotated[str, typer.Option("--dtype", help="Type of the grid's elements: bfloat16, float16, float32, int32.")]
OutOfPlace = Annotated[bool, typer.Option("--out-of-place", help="Input and output are two buffers (vLLM's way).")]
Search = Annotated[str, typer.Option("--search", help="grid: every candidate in every block; adaptive: drop losers.")]
Engine = Annotated[
    str, typer.Option("--engine", help="sglang, vllm or trtllm: what it sets by itself becomes part of base.")
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the launch order (printed and stored).")]
Master = Annotated[
    str | None, typer.Option("--master-addr", help="Rendezvous address; default: node 0 on the first link.")
]
RanksPerNode = Annotated[int, typer.Option("--ranks-per-node", min=1, max=16, help="Rank processes on each node.")]
Resume = Annotated[
    str | None, typer.Option("--resume", metavar="RUN", help="Go on with a run that ended early, to the same plan.")
]
LIMITS = ("--blocks", "--budget", "--effect")
FLAGS = ("--both-nics", "--dry-run")
"""Options that take no word, of those that a command line may have to lose."""
RESUMABLE = ("resume", "nodes", "ports", "presets", "master_addr", "store", "as_json", "json_lines")
"""What may be said beside --resume: everything else is in the stored plan."""
JsonLines = Annotated[
    bool,
    typer.Option("--json-lines", help="Events as JSON lines on stdout while it runs, the verdict last."),
]
Weights = Annotated[
    str, typer.Option("--weights", help="Under mix: what decode and prefill count, like decode=0.7,prefill=0.3.")
]
StepMs = Annotated[
    float | None, typer.Option("--step-ms", help="A decode step's time without communication, to speak of tokens/s.")
]
Tokens = Annotated[float | None, typer.Option("--tokens-per-step", help="Tokens a decode step gives (default: 1).")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost, start nothing.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("bench", short_help="Measure candidates between nodes, and judge them.")(bench)
    app.command("recommend", short_help="Judge a stored run again.")(recommend)


def bench(
    context: typer.Context,
    nodes: Nodes = [],  # noqa: B006
    hostfile: Hostfile = None,
    slurm: Slurm = False,
    ports: Ports = [],  # noqa: B006
    candidates: Candidates = [],  # noqa: B006
    current: Current = None,
    both_nics: BothNics = False,
    profile: Profile = "dense-small-tp2",
    objective: Objective = "mix",
    blocks: Blocks = 6,
    effect: Effect = "",
    budget: Budget = "",
    sizes: Sizes = [],  # noqa: B006
    ops: Ops = [],  # noqa: B006
    dtype: Dtype = "bfloat16",
    out_of_place: OutOfPlace = False,
    search: Search = "grid",
    skew: Skew = False,
    gemm: Gemm = "",
    path: CallPath = "torch",
    deadline: Deadline = [],  # noqa: B006
    engine: Engine = "",
    weights: Weights = "",
    step_ms: StepMs = None,
    tokens_per_step: Tokens = None,
    backend: Backend = "auto",
    seed: Seed = None,
    master_addr: Master = None,
    ranks_per_node: RanksPerNode = 1,
    python: Python = "",
    store: Store = None,
    presets: Presets = [],  # noqa: B006
    resume: Resume = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    json_lines: JsonLines = False,
) -> int:
    """Measure collectives between nodes under candidate settings, judge them, and build the preset."""
    from fabricdoc import workflow

    out = screen(as_json=as_json, lines=json_lines)
    folders, address = workflow.read_folders(presets), workflow.read_address(master_addr)
    if resume is not None:
        return _resume(context, resume, nodes, ports, folders, address, store, out)
    specs = resolve_nodes(nodes, ports, python, hostfile, slurm=slurm)
    return _bench(_request(context.params, specs, folders, address), store, dry_run, out)


def _request(
    said: Mapping[str, Any], specs: Sequence[NodeSpec], folders: Sequence[Path], master: str | None
) -> Request:
    """The options of `bench` by their names, read into what they mean."""
    from fabricdoc import workflow

    return workflow.Request(
        specs=specs,
        backend=workflow.read_backend(said["backend"]),
        candidates=split(said["candidates"]),
        current=said["current"],
        both_nics=said["both_nics"],
        profile=said["profile"],
        objective=workflow.read_objective(said["objective"]),
        blocks=said["blocks"],
        budget_s=workflow.read_duration(said["budget"]),
        sizes=workflow.read_sizes(split(said["sizes"])),
        seed=said["seed"],
        master=master,
        ranks_per_node=said["ranks_per_node"],
        presets=folders,
        ops=workflow.read_ops(split(said["ops"])),
        dtype=workflow.read_dtype(said["dtype"]),
        out_of_place=said["out_of_place"],
        search=workflow.read_search(said["search"]),
        engine=said["engine"],
        effect=workflow.read_effect(said["effect"]),
        skew=said["skew"],
        gemm=workflow.read_gemm(said["gemm"]),
        path=workflow.read_path(said["path"]),
        deadlines_s=workflow.read_deadlines(split(said["deadline"])),
        weights=workflow.read_weights(said["weights"]),
        step=workflow.read_step(said["step_ms"], said["tokens_per_step"]),
        command=typed(),
    )


def again(words: Sequence[str], after: NextBench) -> str:
    """The same command line as what follows it changes it: without those options, with its blocks; ready to paste."""
    limits = () if after.blocks is None else LIMITS
    kept: list[str] = []
    skip = False
    for word in words:
        name = word.split("=")[0]
        if not skip and name not in (*limits, *after.without):
            kept.append(word)
        skip = not skip and word in (*limits, *after.without) and word not in FLAGS
    blocks = () if after.blocks is None else ("--blocks", str(after.blocks))
    return shlex.join(["fabricdoc", *kept, *after.adding, *blocks])


def _bench(request: Request, store: Path | None, dry_run: bool, out: Screen) -> int:
    from fabricdoc.workflow import check_request, look, opened_agents, prepare

    check_request(request)
    if dry_run:
        return _planned(request, out)
    with open_store(store, write=True) as kept:
        fabric = look(request.specs, out.progress, hashed=True)
        with opened_agents(request, fabric, out.progress) as agents:
            return _measured(request, fabric, agents, prepare(request, fabric, agents), kept, out)


def _planned(request: Request, out: Screen) -> int:
    """What would be measured, and what would hinder it; nothing is stored."""
    from fabricdoc.workflow import NextBench, look, opened_agents, prepare, unready

    fabric = look(request.specs, out.progress, hashed=True)
    with opened_agents(request, fabric, out.progress) as agents:
        prepared = prepare(request, fabric, agents)
        hindered = unready(request, fabric, prepared)
        out.notes((*prepared.notes, *hindered))
        out.document(prepared.run, part="plan")
        if not hindered:
            out.next_command(again(typed(), NextBench("", without=("--dry-run",))), "measure this")
        return 0


def _refuse_beside_resume(context: typer.Context) -> None:
    """A stored plan is not changed by options: one that would is refused."""
    given = [
        name
        for name in context.params
        if name not in RESUMABLE and str(context.get_parameter_source(name)) == "ParameterSource.COMMANDLINE"
    ]
    if given:
        option = "--" + given[0].replace("_", "-")
        raise typer.BadParameter(f"{option} is part of the stored plan: --resume goes on with that plan as it is")


def _resume(
    context: typer.Context,
    run: str,
    nodes: Sequence[str],
    ports: Sequence[str],
    presets: Sequence[Path],
    master: str | None,
    store: Path | None,
    out: Screen,
) -> int:
    from fabricdoc.workflow import look, nodes_of, opened_agents, prepare_again, resumed_request

    _refuse_beside_resume(context)
    with open_store(store, write=True, make=False) as kept:
        stored = kept.load(run)
        specs = resolve_nodes(nodes, ports) if nodes else nodes_of(stored, tuple(split(ports)))
        request = resumed_request(stored, specs, presets=presets, master=master)
        fabric = look(request.specs, out.progress, hashed=True)
        with opened_agents(request, fabric, out.progress) as agents:
            return _measured(request, fabric, agents, prepare_again(request, fabric, agents, stored), kept, out)


def _measured(request: Request, fabric: Fabric, agents: Agents, prepared: Prepared, kept: RunStore, out: Screen) -> int:
    """Measure what was prepared, and show what came of it."""
    from fabricdoc.fabric import rails_of
    from fabricdoc.report import telling, verdict_status
    from fabricdoc.workflow import base_ran, measure, next_bench

    out.plan(prepared.run.plan, prepared.notes)
    done = measure(request, fabric, agents, prepared, kept, out.progress, tell=out.event, every_launch=out.live)
    verdict = done.recommended.verdict
    out.sizes(done.run, verdict, telling(done.run, verdict))
    out.rails(done.run, done.rails)
    out.document(verdict)
    after = next_bench(request, done.run, verdict, len(rails_of(fabric)), resumed=prepared.resumes)
    if after is not None:
        out.next_command(again(done.run.command, after), after.why)
    if not verdict.conclusive and base_ran(done.run):
        out.next_command(f"fabricdoc recommend {done.run.id} --keep-base", "go on with base, what the cables prove")
    return verdict_status(verdict)


def recommend(
    run: RunArgument = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Judge for this profile instead.")] = None,
    objective: Annotated[str | None, typer.Option("--objective", help=f"Judge for {OBJECTIVES} instead.")] = None,
    weights: Weights = "",
    step_ms: StepMs = None,
    tokens_per_step: Tokens = None,
    valid_days: Annotated[
        int | None, typer.Option("--valid-days", min=0, max=3650, help="Measure again after so many days (0: never).")
    ] = None,
    keep_base: Annotated[
        bool, typer.Option("--keep-base", help="Make the preset of base, whatever the verdict: what the cables prove.")
    ] = False,
    store: Store = None,
    presets: Presets = [],  # noqa: B006
    as_json: Json = False,
) -> int:
    """Judge stored measurements again, without measuring."""
    from fabricdoc import workflow
    from fabricdoc.report import verdict_status

    out = screen(as_json=as_json)
    wanted = workflow.read_objective(objective) if objective else None
    folders = workflow.read_folders(presets)
    with open_store(store, write=True, make=False) as kept:
        answer = workflow.recommend(
            kept,
            run,
            profile=profile,
            objective=wanted,
            presets=folders,
            step=workflow.read_step(step_ms, tokens_per_step),
            weights=workflow.read_weights(weights),
            valid_days=valid_days,
            keep_base=keep_base,
        )
    out.document(answer.verdict)
    if keep_base and answer.preset is not None:
        out.next_command("fabricdoc export-env -o .", "write base's variables, one env file per node")
        return 0
    if not answer.verdict.conclusive and answer.ended != "complete":
        named = f" --store {shlex.quote(str(store))}" if store else ""
        out.next_command(f"fabricdoc bench --resume {answer.verdict.run}{named}", "measure the rest of this run")
    return verdict_status(answer.verdict)
