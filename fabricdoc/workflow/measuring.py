"""From nodes to a measured run with its verdict and preset: prepare (nothing starts), then measure."""

from __future__ import annotations

import secrets
import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fabricdoc.bench import (
    CONFIRMED,
    GRID,
    Agents,
    Bench,
    applicable,
    bare_default,
    base_candidate,
    grid_shapes,
    load_candidates,
    make_plan,
    merge_shapes,
    rail_candidates,
    read_current,
    run_bench,
)
from fabricdoc.errors import InconclusiveError, NodeError, StoppedError, UsageError
from fabricdoc.fabric import Rail, rails_of
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.profile import Profile
from fabricdoc.model.run import Backend, Candidate, NodeContext, Objective, Rank, Run
from fabricdoc.model.verdict import Verdict
from fabricdoc.nccl import parse_release
from fabricdoc.serving import load_profile, shapes_for
from fabricdoc.store import RunStore, default_path
from fabricdoc.transport import NodeSpec
from fabricdoc.tuning import judge
from fabricdoc.workflow.recommending import Recommended, recommend

Progress = Callable[[str], None]
DEFAULT_SETS = {"gloo": (), "nccl": ("decode",)}


@dataclass(frozen=True)
class Request:
    """What the user asked to be measured. `sizes` in bytes replace the grid; `seed` None draws one."""

    specs: Sequence[NodeSpec]
    backend: str = "auto"
    candidates: Sequence[str] = ()
    current: Path | None = None
    both_nics: bool = False
    profile: str = "dense-small-tp2"
    objective: Objective = "mix"
    blocks: int = 6
    budget_s: float | None = None
    sizes: Sequence[int] = ()
    seed: int | None = None
    master: str | None = None
    ranks_per_node: int = 1
    presets: Sequence[Path] = ()


@dataclass(frozen=True)
class Prepared:
    """Everything decided before the first launch. `notes` are sentences the user should read first."""

    run: Run
    profile: Profile
    master: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """A finished run with what was concluded from it."""

    run: Run
    recommended: Recommended


def opened_agents(request: Request, fabric: Fabric, progress: Progress) -> Agents:
    """Bench agents for every node of the fabric (enter it to start them); refuses a fabric with nothing to measure."""
    _refuse_incomplete(request, fabric)
    check_request(request)
    progress("starting the bench agents (importing torch)")
    return Agents(request.specs)


def check_request(request: Request) -> None:
    """Refuse what can be refused before a node is looked at: backend, profile, candidates, env file."""
    if request.backend not in ("auto", "nccl", "gloo"):
        raise UsageError(f"unknown backend: {request.backend!r}", fix="choose one of auto, nccl, gloo")
    load_profile(request.profile, request.presets)
    if request.current is not None:
        read_current(request.current)
    if request.candidates and request.backend != "auto":
        backend: Backend = "nccl" if request.backend == "nccl" else "gloo"
        load_candidates(request.candidates, backend=backend, extra_dirs=request.presets)


def prepare(request: Request, fabric: Fabric, agents: Agents) -> Prepared:
    """Plan the run. Raises UsageError for one node, InconclusiveError without a common rail, NodeError."""
    _refuse_incomplete(request, fabric)
    names = [node.name for node in fabric.nodes]
    backend = choose_backend(request.backend, agents.hello)
    rails = rails_of(fabric)
    candidates, notes = _candidates(request, backend, rails, names, agents.hello)
    profile = load_profile(request.profile, request.presets)
    ranks = [
        Rank(rank=index * request.ranks_per_node + local, node=name, local_rank=local)
        for index, name in enumerate(names)
        for local in range(request.ranks_per_node)
    ]
    plan = make_plan(
        backend=backend,
        ranks=ranks,
        candidates=candidates,
        shapes=merge_shapes(shapes_for(profile), grid_shapes(request.sizes or GRID)),
        blocks=request.blocks,
        seed=request.seed if request.seed is not None else secrets.randbits(31),
        profile=request.profile,
        objective=request.objective,
        unified_memory=[node.name for node in fabric.nodes if has_unified_memory(node)],
    )
    run = Run(id=new_run_id(), plan=plan, nodes=_contexts(request.specs, fabric, agents.hello), links=fabric.links)
    return Prepared(run, profile, request.master or _master(rails, names[0]), (*notes, *_inherited(agents.hello)))


def measure(
    request: Request, fabric: Fabric, agents: Agents, prepared: Prepared, store: RunStore, progress: Progress
) -> Measured:
    """Run the plan, then judge it and build the preset; all three documents are stored under the run's id."""
    bench = Bench(
        agents=agents,
        store=store,
        run=prepared.run,
        master=prepared.master,
        progress=progress,
        rescue_folders=(Path(), Path(tempfile.gettempdir())),
        budget_s=request.budget_s,
    )

    def contenders(so_far: Run) -> Sequence[str]:
        eligible = {c.name for c in prepared.run.plan.candidates if c.role == "candidate"}
        ranked = best_first(judge(so_far, prepared.profile, request.objective))
        return [name for name in ranked if name in eligible][:CONFIRMED]

    try:
        run = run_bench(bench, contenders)
    except KeyboardInterrupt:
        raise _stopped(bench) from None
    store.save_document(run.id, "fabric", fabric.model_dump_json())
    return Measured(run, recommend(store, run.id, objective=request.objective, presets=request.presets))


def _stopped(bench: Bench) -> StoppedError:
    """Ctrl-C after the run was begun: what is kept, and how to look at it."""
    kept = len(bench.launches)
    if not kept:
        return StoppedError("stopped before the first launch was measured")
    where = "" if bench.store.path == default_path() else f" --store {shlex.quote(str(bench.store.path))}"
    return StoppedError(
        f"stopped; {kept} launch{'' if kept == 1 else 'es'} measured so far {'is' if kept == 1 else 'are'} kept",
        fix=f"look at them: fabricdoc runs show {bench.run.id}{where}",
    )


def best_first(verdict: Verdict) -> list[str]:
    """The better candidates of a verdict, the largest gain on the score first."""
    better = [(c.score.ratio, c.name) for c in verdict.candidates if c.verdict == "better" and c.score is not None]
    return [name for _, name in sorted(better, reverse=True)]


def _refuse_incomplete(request: Request, fabric: Fabric) -> None:
    if fabric.failed:
        lost = fabric.failed[0]
        raise NodeError(lost.message, fix=lost.fix, id=lost.id)
    if len(fabric.nodes) < 2:
        raise UsageError(
            "one node: there is nothing between nodes to measure",
            fix=f"fabricdoc bench --nodes {request.specs[0].target if request.specs else 'local'},OTHER_HOST",
            id="one-node",
        )


def choose_backend(wanted: str, hello: dict[str, dict[str, Any]]) -> Backend:
    """nccl where every node has a GPU and an NCCL torch, else gloo; a wanted nccl that can't run is an error."""
    without = [n for n, h in hello.items() if int(h.get("gpus") or 0) < 1 or "nccl" not in h.get("backends", ())]
    if wanted == "nccl" and without:
        raise NodeError(
            f"no NCCL on {', '.join(without)}: no GPU, or a torch without NCCL",
            fix="name a python whose torch has CUDA with --python, or measure with --backend gloo",
            id="nccl-unavailable",
        )
    if wanted == "gloo" or (wanted == "auto" and without):
        return "gloo"
    return "nccl"


def _candidates(
    request: Request, backend: Backend, rails: Sequence[Rail], names: Sequence[str], hello: dict[str, dict[str, Any]]
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    single = request.both_nics or backend == "gloo"
    base = base_candidate(backend, rails, names, single=single)
    chosen: list[Candidate] = [base, bare_default()]
    if request.current is not None:
        chosen.append(read_current(request.current))
    if request.both_nics:
        if len(rails) < 2:
            raise InconclusiveError(
                f"--both-nics needs two rails that reach every node, and the cable map shows {len(rails)}",
                fix="run `fabricdoc cables` to see what the second port lacks",
                id="one-rail",
            )
        chosen.extend(rail_candidates(backend, rails, names))
    sets = request.candidates or (() if request.both_nics else DEFAULT_SETS[backend])
    loaded = load_candidates(sets, backend=backend, extra_dirs=request.presets) if sets else ()
    oldest = min(
        (str(h.get("nccl") or "0.0") for h in hello.values()),
        key=lambda v: parse_release(v) or (0, 0, 0),
        default="0.0",
    )
    with_hcas = bool(rails) and all(port.hca for rail in rails for port in rail.ports)
    kept, dropped = applicable(loaded, nccl_version=oldest, rails=len(rails), hca=with_hcas)
    taken = {candidate.name for candidate in chosen}
    chosen.extend(candidate for candidate in kept if candidate.name not in taken)
    return tuple(chosen), tuple(f"not measured: {name}: {why}" for name, why in dropped)


def _master(rails: Sequence[Rail], first: str) -> str:
    ip = rails[0].port(first).ip if rails else None
    if ip is None:
        raise InconclusiveError(
            f"{first} has no IPv4 address on its first proven link", fix="name one with --master-addr", id="no-master"
        )
    return ip


def _contexts(specs: Sequence[NodeSpec], fabric: Fabric, hello: dict[str, dict[str, Any]]) -> tuple[NodeContext, ...]:
    pythons = {spec.name: spec.python for spec in specs}
    return tuple(_context(node, pythons[node.name], hello[node.name]) for node in fabric.nodes)


def _context(node: Node, python: str, hello: dict[str, Any]) -> NodeContext:
    gpus = () if isinstance(node.gpus, Unknown) else node.gpus
    nccl: Fact[str] = str(hello["nccl"]) if hello.get("nccl") else Unknown(unknown="this torch has no NCCL")
    return NodeContext(
        name=node.name,
        target=node.target,
        python=python,
        hostname=node.host.hostname,
        kernel=node.host.kernel,
        torch=str(hello["torch"]),
        nccl=nccl,
        nvidia_driver=node.host.nvidia_driver,
        gpus=tuple(gpu.name if isinstance(gpu.name, str) else "unknown" for gpu in gpus),
    )


def _inherited(hello: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    notes = []
    for node, answer in hello.items():
        kept = ", ".join(f"{name}={value}" for name, value in sorted((answer.get("environment") or {}).items()))
        if kept:
            notes.append(f"{node}: kept from the environment, as a server started there would: {kept}")
    return tuple(notes)


def has_unified_memory(node: Node) -> bool:
    """Whether a GPU of the node has no memory of its own (GB10: NVML then knows no memory size)."""
    gpus = () if isinstance(node.gpus, Unknown) else node.gpus
    return any(isinstance(gpu.memory_bytes, Unknown) for gpu in gpus)


def new_run_id() -> str:
    """A run's id: UTC time to the second and four random hex digits; sorts by time."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(2)
