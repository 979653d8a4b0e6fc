"""What a user asks a bench for, and what of it can be refused before a node is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fabricdoc.bench import engine_named, load_candidates, parse_current, read_file
from fabricdoc.errors import UsageError
from fabricdoc.model.profile import StepTime
from fabricdoc.model.run import Backend, Dtype, Objective, Op, Search
from fabricdoc.model.run import Path as MeasuredPath
from fabricdoc.serving import load_profile
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.judging import check_weights

BOTH_NICS = "both-nics"


@dataclass(frozen=True)
class Request:
    """What the user asked to be measured. `sizes` in bytes replace the grid; `seed` None draws one.

    `ops`, `dtype` are the grid's; `out_of_place` holds for every shape; `current` is what --current was given;
    `engine` names whose own variables belong to base, "" leaves it to the profile. `effect` (a ratio minus 1) is the
    smallest difference that `blocks` must be enough for. `path`, `skew`, `gemm`, `deadlines_s` as in the plan.
    `weights` of decode and prefill count under mix; `step` is what the user knows of a decode step, where the profile
    does not say it.
    """

    specs: Sequence[NodeSpec]
    backend: str = "auto"
    candidates: Sequence[str] = ()
    current: str | None = None
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
    ops: Sequence[Op] = ("all_reduce",)
    dtype: Dtype = "bfloat16"
    out_of_place: bool = False
    search: Search = "grid"
    engine: str = ""
    effect: float | None = None
    path: MeasuredPath = "torch"
    skew: bool = False
    gemm: tuple[int, int, int] | None = None
    deadlines_s: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] | None = None
    step: StepTime | None = None
    command: Sequence[str] = ()

    @property
    def sets(self) -> tuple[str, ...]:
        """The candidate sets asked for, without the one that is made from the rails."""
        return tuple(name for name in self.candidates if name != BOTH_NICS)

    @property
    def weighs_rails(self) -> bool:
        """Whether single rails are weighed against all of them: --both-nics, or that set by its name."""
        return self.both_nics or BOTH_NICS in self.candidates


def refuse_without_nccl(request: Request) -> None:
    """UsageError for what only NCCL has: its own calls."""
    if request.path != "torch":
        raise UsageError(
            f"--path {request.path} times NCCL's own calls, and this bench runs gloo",
            fix="leave --path out, or measure with --backend nccl",
            id="path-without-nccl",
        )


def check_request(request: Request) -> None:
    """Refuse what can be refused before a node is looked at: backend, profile, engine, candidates, settings file."""
    if request.backend not in ("auto", "nccl", "gloo"):
        raise UsageError(f"unknown backend: {request.backend!r}", fix="choose one of auto, nccl, gloo")
    if request.backend == "gloo":
        refuse_without_nccl(request)
    load_profile(request.profile, request.presets)
    check_weights(request.weights, request.objective)
    if request.engine:
        engine_named(request.engine, request.presets)
    if request.current is not None:
        source = parse_current(request.current)
        if source.kind == "file" and not Path(source.value).is_absolute():
            read_file(Path(source.value))
    if request.sets:
        _refuse_unknown_sets(request)


def _refuse_unknown_sets(request: Request) -> None:
    """What is no set of this backend; where the nodes have yet to choose one, what is none of NCCL's nor of gloo's."""
    if request.backend != "auto":
        backend: Backend = "nccl" if request.backend == "nccl" else "gloo"
        load_candidates(request.sets, backend=backend, extra_dirs=request.presets)
        return
    try:
        load_candidates(request.sets, backend="nccl", extra_dirs=request.presets)
    except UsageError as error:
        try:
            load_candidates(request.sets, backend="gloo", extra_dirs=request.presets)
        except UsageError:
            raise error from None
