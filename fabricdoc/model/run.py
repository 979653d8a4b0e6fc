"""The run document: what was planned, and every launch with its proof and its cells.

All times are microseconds unless the name says seconds. A cell summarises the calls of one view, op and
size of one launch: median, p95 and p99 over calls of the maximum over ranks (never an average over ranks).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import Document, Fact, Frozen
from fabricdoc.model.fabric import Link

View = Literal["graph", "eager", "throughput"]
Op = Literal["all_reduce", "all_gather"]
Backend = Literal["gloo", "nccl"]
Objective = Literal["decode", "prefill", "mix"]
Target = Literal["network", "rails", "algorithm", "protocol", "channels", "none"]


class Candidate(Frozen):
    """A named set of environment variables.

    `variables` are equal on every node; `node_variables` are keyed by node name and win. With `on_base` they
    are laid over base's variables; without (default, current) they stand alone. `targets` is what the set
    means to change, so that proof can say whether it did.
    """

    name: str
    role: Literal["base", "default", "current", "candidate"] = "candidate"
    variables: dict[str, str] = {}
    node_variables: dict[str, dict[str, str]] = {}
    on_base: bool = True
    targets: tuple[Target, ...] = ("none",)
    why: str = ""
    source: str = ""


class Shape(Frozen):
    """One collective to time: `size` in bytes is the message (all_reduce) or total output (all_gather)."""

    op: Op
    size: int
    dtype: Literal["bfloat16", "float32"] = "bfloat16"
    phase: Literal["decode", "prefill", "grid"] = "grid"
    count: float = 0.0


class Rank(Frozen):
    """Where a rank runs."""

    rank: int
    node: str
    local_rank: int


class Estimate(Frozen):
    """Bounds printed before a run starts."""

    launches: int
    seconds: float
    bytes_per_link: int
    memory_per_node: int


class Plan(Frozen):
    """Everything needed to repeat the run: candidates, shapes, views, blocks, order seed, limits.

    `unified_memory` names the nodes whose GPU shares the host's memory: they keep more of it free.
    """

    backend: Backend
    ranks: tuple[Rank, ...]
    candidates: tuple[Candidate, ...]
    shapes: tuple[Shape, ...]
    views: tuple[View, ...]
    blocks: int
    seed: int
    launch_deadline_s: float
    profile: str
    objective: Objective
    estimate: Estimate
    unified_memory: tuple[str, ...] = ()


class Choice(Frozen):
    """What NCCL chose for one op and size, as its TUNING lines say (nccl_facts 5, event tune.op)."""

    op: str
    size: int
    algorithm: str
    protocol: str
    channels: int


class Proof(Frozen):
    """What a launch really did, in grades: seen in what the library did, echoed as read, or none.

    `interfaces` are those of all ranks together; `rank_interfaces` those of each rank, in rank order. With crossed
    cables one rail has another name on each node, so only the latter tells one rail from two.
    """

    grade: Literal["seen", "echoed", "none"]
    version: Fact[str]
    network: Fact[str]
    interfaces: tuple[str, ...] = ()
    rank_interfaces: tuple[tuple[str, ...], ...] = ()
    gpu_direct: Fact[bool]
    choices: tuple[Choice, ...] = ()
    variables_read: dict[str, str] = {}
    warnings: tuple[str, ...] = ()


class Cell(Frozen):
    """Summary of one view, op and size of one launch (see the module header)."""

    view: View
    op: Op
    size: int
    dtype: str
    calls: int
    median_us: float
    p95_us: float
    p99_us: float
    max_us: float
    correct: bool


LaunchStatus = Literal["ok", "failed", "incorrect", "timeout", "interrupted"]


class Launch(Frozen):
    """One fresh start of all rank processes under one candidate."""

    number: int
    round: Literal["proof", "search", "confirm"]
    block: int
    position: int
    candidate: str
    status: LaunchStatus
    seconds: float
    started: str
    phase: str = ""
    rank: int | None = None
    reason: str = ""
    log_tail: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    proof: Proof | None = None
    timings_s: dict[str, float] = {}


class NodeContext(Frozen):
    """What a node was when it was measured: the material of the fingerprint. `python` is the one the ranks ran in."""

    name: str
    target: str
    python: str = "python3"
    hostname: Fact[str]
    kernel: Fact[str]
    torch: Fact[str]
    nccl: Fact[str]
    nvidia_driver: Fact[str]
    gpus: tuple[str, ...] = ()


class Run(Document):
    """A whole bench. `status` is complete, interrupted (work so far kept) or running (or killed)."""

    kind: ClassVar[str] = "run"

    id: str
    status: Literal["running", "complete", "interrupted", "failed"] = "running"
    reason: str = ""
    plan: Plan
    nodes: tuple[NodeContext, ...]
    links: Fact[tuple[Link, ...]] = ()
    launches: tuple[Launch, ...] = ()
