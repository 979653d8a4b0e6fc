"""What a forked rank does: meet the others, prove every shape, time every view, tell the agent, end.

Runs in a process of its own with the candidate's environment already set. It speaks JSON lines to its agent over a
pipe (`events` lists them). It keeps no deadline (the agent does) and knows no other node than through the store.

work: {"shapes": [{"op", "size", "dtype", "in_place"}], "views": [...], "calls": {view: N}, "replays", "warmup",
"budget_bytes", "proof": bool; and where wanted "path": "torch" | "direct" (NCCL's own calls) | "both" (eager calls in
both ways), "skew": bool (gates), "gemm": {"m", "n", "k"} before each call, "soak_s": seconds over all shapes, "plant":
faults for tests}.
"""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

from . import payload
from .arms import Step, gate_of, gemm_of
from .calls import PATHS, Calls, TorchCalls, needs_direct
from .collectives import Collective, Workspace
from .joining import announce, connect, device_of, init_group, meet
from .nccl_direct import DirectCalls
from .plans import VIEWS, Plan, plans_for
from .plants import Plant, Planted
from .rendezvous import Steps
from .shapes import Shape, shape_of
from .task import Task
from .views import Extras, Sampled, Stopwatch, warm_up
from .voice import Voice, one_line

SKEW_VIEWS = ("eager", "graph")
_AGREE_EVERY_S = 0.2


def run_rank(task: Task, commands_fd: int, events_fd: int) -> int:
    """Do the task; exit status 0 or 1. Any failure becomes one line of reason and a traceback in the log."""
    voice = Voice(events_fd, task.started_s)
    gc.disable()  # no pause of the collector in a timed call, no object freed in a capture
    try:
        _work(task, voice, commands_fd)
    except Exception as problem:  # noqa: BLE001 - whatever torch or NCCL raises is this rank's result, not ours to choose
        traceback.print_exc()
        voice.end("failed", one_line(problem))
        return 1
    finally:
        gc.enable()
    voice.end("ok", "")
    return 0


def prepare(work: Mapping[str, Any], world: int, ranks: Iterable[int]) -> None:
    """Work out the payloads of a launch before its ranks are forked, once for all launches of the same kind."""
    kinds = {item.get("dtype") for item in work.get("shapes", ()) if isinstance(item, Mapping)}
    for bits in sorted({payload.SIGNIFICAND_BITS[kind] for kind in kinds if kind in payload.SIGNIFICAND_BITS}):
        payload.total(world, bits)
        for rank in ranks:
            payload.contribution(rank, world, bits)
    payload.shard(0)


def _work(task: Task, voice: Voice, commands_fd: int) -> None:
    import torch

    torch.set_num_threads(1)
    shapes = shapes_of(task.work, task.backend)
    voice.phase("rendezvous")
    store = announce(task, voice)
    voice.phase("init")
    device = device_of(task)  # the GPU's context is made while the controller passes on where the store is
    voice.phase("rendezvous")
    store = meet(task, store, commands_fd)
    steps = Steps(store, task.rank, task.world)
    voice.phase("init")
    init_group(task, store, device)
    voice.phase("connect")
    connect(device)
    steps.barrier()
    bench = Measuring(task, voice, steps, device, shapes)
    bench.check()
    bench.measure()
    if task.work.get("soak_s"):
        bench.soak(float(task.work["soak_s"]))
    voice.phase("done")
    steps.farewell()


def shapes_of(work: Mapping[str, Any], backend: str) -> list[Shape]:
    """What is to be measured, each once; ValueError for an op, dtype, view, path or form that is unknown here."""
    unknown = [view for view in work["views"] if view not in VIEWS]
    if unknown:
        raise ValueError(f"unknown views {unknown}; known: {', '.join(VIEWS)}")
    path = work.get("path", "torch")
    if path not in PATHS or (path != "torch" and backend != "nccl"):
        raise ValueError(f"no path {path!r} on {backend}; known: {', '.join(PATHS)}, and direct means NCCL's own calls")
    shapes = list(dict.fromkeys(shape_of(item) for item in work["shapes"]))
    for shape in shapes:
        needs_direct(shape, backend)
    return shapes


class Measuring:
    """All shapes of a launch on this rank, in the same order as on every other."""

    def __init__(self, task: Task, voice: Voice, steps: Steps, device: Any, shapes: list[Shape]) -> None:
        self._task = task
        self._voice = voice
        self._steps = steps
        self._device = device
        self._plans = {shape: plans_for(task.backend, shape, task.work) for shape in shapes}
        self._own: Calls | None = None
        self._paths = self._open_paths(shapes)
        needs = {
            shape: max(plan.calls + plan.lead for plan in plans.values())
            for shape, plans in self._plans.items()
            if plans
        }
        self._space = Workspace({shape: needs.get(shape, 1) for shape in shapes}, task.rank, task.world, device)
        self._wrong: dict[Shape, int] = {}
        self._plant = Plant(task.work.get("plant", {}), task.rank, task.backend)
        self._gemm: dict[str, Step | None] = {}

    def _open_paths(self, shapes: list[Shape]) -> dict[Shape, Calls]:
        """Through torch, or NCCL's own calls where they are asked for or torch has none."""
        task, through = self._task, TorchCalls(self._task.rank, self._task.world)
        path = task.work.get("path", "torch")
        direct = {shape for shape in shapes if path == "direct" or needs_direct(shape, task.backend)}
        if not direct and path != "both":
            return dict.fromkeys(shapes, through)
        self._own = own = DirectCalls(task.rank, task.world, self._steps.share, _current_stream)
        return {shape: own if shape in direct else through for shape in shapes}

    def _collective(self, shape: Shape) -> Collective:
        return self._space.collective(shape, self._paths[shape])

    def check(self) -> None:
        """One call of every shape, compared element by element."""
        self._voice.phase("check")
        for shape in self._plans:
            self._wrong[shape] = checked(self._collective(shape))
        self._steps.barrier()

    def measure(self) -> None:
        """Time every shape in every view asked for that exists, and send a cell for each."""
        stopwatch = Stopwatch(self._task.backend, self._steps.barrier)
        for shape, plans in self._plans.items():
            self._voice.phase("measure", f"{shape}, warm-up")
            collective = self._collective(shape)
            warm_up(collective, max((plan.warmup for plan in plans.values()), default=0))
            for view, plan in plans.items():
                self._view(stopwatch, collective, view, plan)
            if "eager" in plans and self._task.work.get("path") == "both" and self._paths[shape] is not self._own:
                self._by_itself(stopwatch, shape, plans["eager"])

    def _view(self, stopwatch: Stopwatch, collective: Collective, view: str, plan: Plan) -> None:
        shape = collective.shape
        planted, gemm = self._plant.within(shape, view), self._product(shape) if view != "throughput" else None
        sampled = self._timed(stopwatch, collective, view, plan, Extras(planted, gemm))
        bare = self._bare(stopwatch, collective, plan, planted) if view == "graph" else None
        gates = self._task.work.get("skew") and view in SKEW_VIEWS
        gated = gates and self._timed(stopwatch, collective, view, plan, Extras(planted, gemm, gate_of(self._device)))
        wrong = self._wrong[shape] + sum(series.wrong for series in (sampled, bare, gated) if series)
        fields = {"view": view, **shape.as_fields()}
        samples = {"samples": sampled.samples, "replays": bare.samples if bare else []}
        self._voice.say("cell", **fields, **samples, correct=wrong == 0, wrong=wrong)
        if gated:
            self._voice.say("skew", **fields, waits=gated.waits, gated=gated.samples)

    def _by_itself(self, stopwatch: Stopwatch, shape: Shape, plan: Plan) -> None:
        """The eager view once more with NCCL called by its own functions. Last: it takes the shape's memory over."""
        assert self._own is not None
        collective = self._space.collective(shape, self._own)
        warm_up(collective, plan.warmup)
        extras = Extras(self._plant.within(shape, "eager"), self._product(shape))
        sampled = self._timed(stopwatch, collective, "eager", plan, extras, "by NCCL's own calls")
        self._voice.say("direct", view="eager", **shape.as_fields(), samples=sampled.samples, wrong=sampled.wrong)

    def _timed(
        self, stopwatch: Stopwatch, collective: Collective, view: str, plan: Plan, extras: Extras, how: str = ""
    ) -> Sampled:
        what = f"{collective.shape}, {', '.join(filter(None, (view, how, 'gated' if extras.gate else '')))}"
        if view == "graph":
            self._voice.phase("capture", what)
        series = stopwatch.ready(collective, view, plan, extras)
        self._voice.phase("measure", what)
        return series.measure()

    def _bare(self, stopwatch: Stopwatch, collective: Collective, plan: Plan, planted: Planted) -> Sampled | None:
        """The mean per call of each replay without events between calls; a proof needs none."""
        if self._task.work.get("proof"):
            return None
        self._voice.phase("capture", f"{collective.shape}, without events")
        series = stopwatch.bare(collective, plan, planted)
        self._voice.phase("measure", f"{collective.shape}, without events")
        return series.measure() if series else None

    def _product(self, shape: Shape) -> Step | None:
        if shape.dtype not in self._gemm:
            self._gemm[shape.dtype] = gemm_of(self._task.work.get("gemm"), shape.dtype, self._device)
        return self._gemm[shape.dtype]

    def soak(self, seconds: float) -> None:
        """Call every shape again and again with every result compared: `seconds` in all, as much for each shape."""
        stopwatch = Stopwatch(self._task.backend, self._steps.barrier)
        for shape, plans in self._plans.items():
            self._voice.phase("soak", str(shape))
            if plans:
                self._soak(stopwatch, shape, plans, seconds / len(self._plans))

    def _soak(self, stopwatch: Stopwatch, shape: Shape, plans: dict[str, Plan], seconds: float) -> None:
        view, plan = next(iter(plans.items()))
        series = stopwatch.ready(self._collective(shape), view, plan, Extras(self._plant.within(shape, "soak")))
        end, rounds, wrong, count = time.monotonic() + seconds, 0, 0, 1
        while count:
            began = time.monotonic()
            wrong += sum(series.repeat() for _ in range(count))
            rounds += count
            each = (time.monotonic() - began) / count
            count = self._steps.agree(_rounds(end - time.monotonic(), each))
        self._voice.say("soak", **shape.as_fields(), calls=rounds * plan.calls, wrong=wrong)


def _rounds(left_s: float, each_s: float) -> int:
    """How many more rounds before the ranks agree again: about 0.2 s of them, none when the time is over."""
    return 0 if left_s <= 0 else max(1, int(min(left_s, _AGREE_EVERY_S) / max(each_s, 1e-5)))


def checked(collective: Collective) -> int:
    """One call, compared element by element: how many were wrong."""
    collective.foresee([1])
    collective.restart()
    collective.call()
    collective.compare()
    return collective.wrong()


def _current_stream() -> int:
    import torch

    return int(torch.cuda.current_stream().cuda_stream)
