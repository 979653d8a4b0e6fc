"""The plan of a bench from a request, a looked-at fabric and agents that said hello; starts nothing.

Chooses the backend, the rails, the candidates that can be tried here, the shapes and the rendezvous, and says in notes
what the user should read first.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from fabricdoc.bench import (
    GRID,
    Arms,
    Ground,
    bare_default,
    base_candidate,
    best_first,
    check_budget,
    current_candidate,
    engine_named,
    gpu_direct_of,
    grid_shapes,
    lacking,
    left_out,
    load_candidates,
    make_plan,
    merge_shapes,
    offered,
    parse_current,
    placed,
    rail_candidates,
    refused,
    remarks,
    sets_of,
)
from fabricdoc.checks import is_gb10
from fabricdoc.errors import InconclusiveError, NodeError, UsageError
from fabricdoc.fabric import Rail, rails_of
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.profile import Profile
from fabricdoc.model.run import Backend, Candidate, NodeContext, NotOffered, Rank, Run, Shape
from fabricdoc.serving import load_profile, shapes_for
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.arms import blocks_of
from fabricdoc.workflow.current import read_on_nodes
from fabricdoc.workflow.readiness import refuse_few_gpus, refuse_mixed_nccl
from fabricdoc.workflow.requests import Request, refuse_without_nccl

DEFAULT_SETS: Mapping[str, tuple[str, ...]] = {"gloo": (), "nccl": ("decode",)}
Hello = Mapping[str, Mapping[str, Any]]
ReadCurrent = Callable[..., dict[str, dict[str, str]]]


class Greeted(Protocol):
    """Agents that have said hello."""

    @property
    def hello(self) -> dict[str, dict[str, Any]]:
        """What each node's agent said of its python, torch and NCCL."""


@dataclass(frozen=True)
class Prepared:
    """Everything decided before the first launch. `notes` are sentences the user should read first.

    `resumes`: the run is a stored one, whose launches are gone through before new ones are made.
    """

    run: Run
    profile: Profile
    master: str
    notes: tuple[str, ...] = ()
    resumes: bool = False


@dataclass(frozen=True)
class Field:
    """What candidates are chosen from: the backend, the rails (base's first), the ground, the nodes by name."""

    backend: Backend
    rails: tuple[Rail, ...]
    ground: Ground
    names: tuple[str, ...]


@dataclass(frozen=True)
class Chosen:
    """The candidates of a plan, those left out with the reason, and what the user should know of them."""

    candidates: tuple[Candidate, ...]
    not_offered: tuple[NotOffered, ...] = ()
    notes: tuple[str, ...] = ()


def prepare(request: Request, fabric: Fabric, agents: Greeted) -> Prepared:
    """Plan the run. Raises UsageError for one node or a budget too small, InconclusiveError without a common rail,
    NodeError where NCCL is missing or not the same everywhere."""
    refuse_incomplete(request, fabric)
    profile = load_profile(request.profile, request.presets)
    field = field_of(request, fabric, agents.hello)
    chosen = choose(request, field, fabric, profile)
    blocks, enough = blocks_of(
        request.blocks, request.effect, sum(one.role == "candidate" for one in chosen.candidates)
    )
    ranks = [
        Rank(rank=index * request.ranks_per_node + local, node=name, local_rank=local)
        for index, name in enumerate(field.names)
        for local in range(request.ranks_per_node)
    ]
    plan = make_plan(
        backend=field.backend,
        ranks=ranks,
        candidates=chosen.candidates,
        shapes=shapes_of(request, profile),
        blocks=blocks,
        seed=request.seed if request.seed is not None else secrets.randbits(31),
        profile=request.profile,
        objective=request.objective,
        unified_memory=[node.name for node in fabric.nodes if has_unified_memory(node)],
        not_offered=chosen.not_offered,
        search=request.search,
        budget_s=request.budget_s,
        arms=Arms(request.path, request.skew, request.gemm),
        deadlines_s=request.deadlines_s,
    )
    run = Run(id=new_run_id(), plan=plan, nodes=contexts(request.specs, fabric, agents.hello), links=fabric.links)
    notes = (*chosen.notes, *_inherited(agents.hello), *filter(None, [enough, check_budget(plan)]))
    return Prepared(run, profile, request.master or master_of(field.rails, field.names[0]), notes)


def shapes_of(request: Request, profile: Profile) -> tuple[Shape, ...]:
    """What is timed: the profile's shapes, and the grid (or the user's sizes) in the user's ops and dtype."""
    grid = grid_shapes(request.sizes or GRID, request.ops, request.dtype)
    merged = merge_shapes(shapes_for(profile), grid)
    return tuple(placed(shape, in_place=not request.out_of_place) for shape in merged)


def field_of(request: Request, fabric: Fabric, hello: Hello) -> Field:
    """Where the bench stands. Raises NodeError for mixed NCCL builds and for fewer GPUs than ranks."""
    backend = choose_backend(request.backend, hello)
    if backend == "gloo":
        refuse_without_nccl(request)
    rails = rails_of(fabric)
    rails = best_first(rails, fabric) if request.weighs_rails else rails
    names = tuple(node.name for node in fabric.nodes)
    with_hcas = bool(rails) and all(port.hca for rail in rails for port in rail.ports)
    platforms = ("gb10",) if fabric.nodes and all(is_gb10(node) for node in fabric.nodes) else ()
    if backend == "gloo":
        return Field(backend, rails, Ground(nodes=names, rails=len(rails), platforms=platforms), names)
    refuse_mixed_nccl(hello)
    refuse_few_gpus(hello, request.ranks_per_node)
    ground = Ground(
        nodes=names,
        nccl=tuple(dict.fromkeys(str(said.get("nccl") or "") for said in hello.values())),
        rails=len(rails),
        network="ib" if with_hcas else "socket",
        platforms=platforms,
        gpu_direct=gpu_direct_of(fabric.nodes, platforms, with_hcas=with_hcas),
    )
    return Field(backend, rails, ground, names)


def choose(request: Request, field: Field, fabric: Fabric, profile: Profile) -> Chosen:
    """Base, default, current, the rails and the sets asked for: what can be tried here, and what can't and why."""
    engine = request.engine or profile.engine
    set_by_engine = engine_named(engine, request.presets) if engine else None
    single = request.weighs_rails or field.backend == "gloo"
    base = base_candidate(field.backend, field.rails, field.names, single=single, engine=set_by_engine)
    current = _current(request, field)
    fixed = (base, bare_default(), *current.candidates, *_rails(request, field, fabric))
    sets = request.sets or (() if request.weighs_rails else DEFAULT_SETS[field.backend])
    loaded = load_candidates(sets, backend=field.backend, extra_dirs=request.presets) if sets else ()
    kept, left = offered(loaded, field.ground)
    taken = {candidate.name for candidate in fixed}
    notes = (*current.notes, *_out_of_work(request, field, fabric), *_other_sets(request, field, sets))
    return Chosen(
        (*fixed, *(candidate for candidate in kept if candidate.name not in taken)),
        (*current.not_offered, *left),
        notes,
    )


def _current(request: Request, field: Field) -> Chosen:
    """The user's settings of today as a candidate, where he named them."""
    if request.current is None:
        return Chosen(())
    source = parse_current(request.current)
    values = read_on_nodes(source, request.specs)
    candidate = current_candidate(source, values)
    out = left_out(values)
    notes = [f"current: {', '.join(out)} is not taken over: the bench sets it itself"] if out else []
    notes += [f"current: {remark}" for remark in remarks(candidate, field.ground.nccl)]
    why_not = refused(candidate, field.names)
    if why_not is not None:
        return Chosen((), (why_not,), tuple(notes))
    return Chosen((candidate,), (), tuple(notes))


def _rails(request: Request, field: Field, fabric: Fabric) -> tuple[Candidate, ...]:
    """What weighs the rails; InconclusiveError where there are fewer than two, naming what other ports lack."""
    if not request.weighs_rails:
        return ()
    if len(field.rails) < 2:
        ports = lacking(fabric, field.rails)
        told = f": {'; '.join(ports[:8])}" if ports else ""
        raise InconclusiveError(
            f"--both-nics needs two rails that reach every node, and the cable map shows {len(field.rails)}{told}",
            fix="run `fabricdoc cables` to see what the second port lacks",
            id="one-rail",
        )
    return rail_candidates(field.backend, field.rails, field.names)


def _out_of_work(request: Request, field: Field, fabric: Fabric) -> tuple[str, ...]:
    """Ports that could have been a rail and are none, where rails are weighed."""
    if not request.weighs_rails:
        return ()
    return tuple(f"on no rail: {text}" for text in lacking(fabric, field.rails)[:8])


def _other_sets(request: Request, field: Field, sets: Sequence[str]) -> tuple[str, ...]:
    """Which sets could be asked for besides, where the user chose none."""
    if request.candidates or field.backend != "nccl":
        return ()
    fitting = []
    for name in sets_of(field.backend, request.presets):
        if name not in (*sets, "default"):
            kept, _ = offered(load_candidates([name], backend=field.backend, extra_dirs=request.presets), field.ground)
            fitting += [f"{name} ({len(kept)})"] if kept else []
    return (f"other sets for this fabric (--candidates): {', '.join(fitting)}",) if fitting else ()


def refuse_incomplete(request: Request, fabric: Fabric) -> None:
    """NodeError where a node could not be read, UsageError for a single one."""
    if fabric.failed:
        lost = fabric.failed[0]
        raise NodeError(lost.message, fix=lost.fix, id=lost.id)
    if len(fabric.nodes) < 2:
        raise UsageError(
            "one node: there is nothing between nodes to measure",
            fix=f"fabricdoc bench --nodes {request.specs[0].target if request.specs else 'local'},OTHER_HOST",
            id="one-node",
        )


def choose_backend(wanted: str, hello: Hello) -> Backend:
    """nccl where every node has a GPU and an NCCL torch, else gloo; a wanted nccl that can't run is an error."""
    without = [n for n, h in hello.items() if int(h.get("gpus") or 0) < 1 or "nccl" not in h.get("backends", ())]
    if wanted == "nccl" and without:
        told = "; ".join(f"{name}: {_why_no_nccl(hello[name])}" for name in without)
        raise NodeError(
            f"no NCCL on {', '.join(without)} ({told})",
            fix="name a python whose torch has CUDA with --python, or measure with --backend gloo",
            id="nccl-unavailable",
        )
    if wanted == "gloo" or (wanted == "auto" and without):
        return "gloo"
    return "nccl"


def _why_no_nccl(said: Mapping[str, Any]) -> str:
    if "nccl" not in said.get("backends", ()):
        return f"torch {said.get('torch')} has no NCCL (backends: {', '.join(said.get('backends', ())) or 'none'})"
    return "the NVIDIA driver shows no GPU"


def master_of(rails: Sequence[Rail], first: str) -> str:
    """Where the ranks meet: the first node's address on its first rail; InconclusiveError where it has none."""
    ip = rails[0].port(first).ip if rails else None
    if ip is None:
        raise InconclusiveError(
            f"{first} has no IPv4 address on its first proven link", fix="name one with --master-addr", id="no-master"
        )
    return ip


def contexts(specs: Sequence[NodeSpec], fabric: Fabric, hello: Hello) -> tuple[NodeContext, ...]:
    """What each node is now: the material of the fingerprint, and of what a resumed run is held against."""
    pythons = {spec.name: spec.python for spec in specs}
    return tuple(_context(node, pythons[node.name], hello[node.name]) for node in fabric.nodes)


def _context(node: Node, python: str, hello: Mapping[str, Any]) -> NodeContext:
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


def _inherited(hello: Hello) -> tuple[str, ...]:
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
