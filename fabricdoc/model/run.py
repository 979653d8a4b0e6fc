"""The run document: what was planned, and every launch with its proof and its cells.

All times are microseconds unless the name says seconds. A cell summarises the calls of one view, op and
size of one launch: median, p95 and p99 over calls of the maximum over ranks (never an average over ranks).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import NOT_READ, Document, Fact, Frozen
from fabricdoc.model.fabric import Link
from fabricdoc.model.paths import ChannelPath, HcaSeen

View = Literal["graph", "eager", "throughput"]
Op = Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv"]
Dtype = Literal["bfloat16", "float16", "float32", "int32"]
Backend = Literal["gloo", "nccl"]
Objective = Literal["decode", "prefill", "mix"]
Target = Literal["network", "rails", "algorithm", "protocol", "channels", "gpu_direct", "none"]
Search = Literal["grid", "adaptive"]
Path = Literal["torch", "direct", "both"]
Round = Literal["proof", "search", "combine", "confirm", "drop"]


class Candidate(Frozen):
    """A named set of environment variables.

    `variables` are equal on every node; `node_variables` are keyed by node name and win. With `on_base` they
    are laid over base's variables; without (default, current) they stand alone. `targets` is what the set
    means to change, so that proof can say whether it did. `set_name` is the file of presets/candidates it came from;
    `risk` is one sentence on what may go wrong with it, empty where nothing is known. `fresh_agent`: its variables are
    read when torch is loaded, not when NCCL starts (LD_PRELOAD, OMP_*), so it needs an agent of its own.
    """

    name: str
    role: Literal["base", "default", "current", "candidate"] = "candidate"
    variables: dict[str, str] = {}
    node_variables: dict[str, dict[str, str]] = {}
    on_base: bool = True
    targets: tuple[Target, ...] = ("none",)
    why: str = ""
    source: str = ""
    set_name: str = ""
    risk: str = ""
    fresh_agent: bool = False


class NotOffered(Frozen):
    """A candidate of an asked set that this fabric, platform or NCCL rules out, and why, in one sentence."""

    name: str
    set_name: str
    reason: str


class Shape(Frozen):
    """One collective to time; `size` in bytes is the message as nccl-tests counts it.

    all_reduce, broadcast, send_recv: the message; all_gather: the whole output; reduce_scatter, all_to_all: the whole
    input of one rank. `in_place` as nccl-tests means it; where it is false input and output are two buffers.
    """

    op: Op
    size: int
    dtype: Dtype = "bfloat16"
    in_place: bool = True
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

    `unified_memory` names the nodes whose GPU shares the host's memory: they keep more of it free. `not_offered` are
    the candidates of the asked sets that were left out, each with its reason. `budget_s` is the user's limit of time.
    `path` is how collectives are called: through torch, by NCCL's own functions (direct), or eager ones in both ways.
    `skew`: arrival skew is measured by gates; `gemm` is a matrix product (m, n, k) before every timed call.
    `deadlines_s` are the user's own limits in seconds, by phase, and "launch" for all of a launch. `weights` are those
    of decode and prefill under objective mix, empty where none may lose.
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
    not_offered: tuple[NotOffered, ...] = ()
    search: Search = "grid"
    budget_s: float | None = None
    path: Path = "torch"
    skew: bool = False
    gemm: tuple[int, int, int] | None = None
    deadlines_s: dict[str, float] = {}
    weights: dict[str, float] = {}


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
    cables one rail has another name on each node, so only the latter tells one rail from two. `hcas` and `channels` say
    it port by port and channel by channel. `ll128` tells per op whether NCCL's own table (TUNING, rank 0) leaves LL128
    on; ops that the table lacks are absent. `mismatches` are sentences on what differs between ranks and must not.
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
    hcas: tuple[HcaSeen, ...] = ()
    channels: tuple[ChannelPath, ...] = ()
    ll128: dict[str, bool] = {}
    mismatches: tuple[str, ...] = ()


class Cell(Frozen):
    """Summary of one view, op and size of one launch (see the module header).

    `skew_us` is the median over calls of how much later the last rank entered than the first, where it was measured.
    `replay_us` (graph view) is the mean per call of a replay without an event after each call, the slowest rank's,
    median over replays: what `nccl-tests -G 1` prints. The events that make `median_us` and the quantiles visible add
    5 to 7 µs a call (measured on one H200 beside nccl-tests 2.19.6), the same for every candidate.
    `direct_us` (eager view) is the same median with NCCL called by its own functions, where both ways were asked for:
    what `median_us` has more is torch's share.
    """

    view: View
    op: Op
    size: int
    dtype: str
    in_place: bool = True
    calls: int
    median_us: float
    p95_us: float
    p99_us: float
    max_us: float
    correct: bool
    skew_us: float | None = None
    replay_us: float | None = None
    direct_us: float | None = None


class Stack(Frozen):
    """Where a rank that hung stood: the lines of its Python stack, innermost call last."""

    rank: int
    lines: tuple[str, ...]


class NodeState(Frozen):
    """What could disturb a launch on one node, before and after it.

    `sm_clock_mhz` (before, after) of its first GPU; `other_gpu_processes` are pids that are not ours; `port_bytes` is
    what each port (device/port or netdev) sent and received meanwhile; `port_errors` the error counters that moved.
    """

    node: str
    sm_clock_mhz: Fact[tuple[int, int]] = NOT_READ
    throttled: Fact[tuple[str, ...]] = NOT_READ
    other_gpu_processes: Fact[tuple[int, ...]] = NOT_READ
    load_1min: Fact[float] = NOT_READ
    port_bytes: dict[str, tuple[int, int]] = {}
    port_errors: dict[str, int] = {}


LaunchStatus = Literal["ok", "failed", "incorrect", "timeout", "interrupted"]


class Launch(Frozen):
    """One fresh start of all rank processes under one candidate.

    `stacks` holds where each rank stood that hung. `states` says what each node was while the
    launch ran; `disturbed` is the reason why its whole block must not be judged, empty where nothing was seen.
    """

    number: int
    round: Round
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
    stacks: tuple[Stack, ...] = ()
    states: tuple[NodeState, ...] = ()
    disturbed: str = ""


class NodeContext(Frozen):
    """What a node was when it was measured: the material of the fingerprint. `python` is the one the ranks ran in.

    `environment` is what every rank inherited there: NCCL's variables and a few others (probes/environment), by its
    agent's environment and NCCL's files; null in a run that kept none of it.
    """

    name: str
    target: str
    python: str = "python3"
    hostname: Fact[str]
    kernel: Fact[str]
    torch: Fact[str]
    nccl: Fact[str]
    nvidia_driver: Fact[str]
    gpus: tuple[str, ...] = ()
    environment: dict[str, str] | None = None


class Run(Document):
    """A whole bench. `status` is complete, interrupted (work so far kept) or running (or killed).

    `resumed` are the times (UTC) at which it was taken up again. `command` are the words it was begun with, without the
    program's name; empty where no command began it.
    """

    kind: ClassVar[str] = "run"

    id: str
    status: Literal["running", "complete", "interrupted", "failed"] = "running"
    reason: str = ""
    plan: Plan
    nodes: tuple[NodeContext, ...]
    links: Fact[tuple[Link, ...]] = ()
    launches: tuple[Launch, ...] = ()
    resumed: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
