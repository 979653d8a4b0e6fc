"""What a forked rank does: meet the others, prove every shape, time every view, tell the agent, end.

Runs in a process of its own with the candidate's environment already set. It speaks JSON lines to its agent over a
pipe: {"event": store | phase | cell | end, ...}. It keeps no deadline (the agent does) and knows no other node than
through the store. torch is imported inside functions; the agent has loaded it before the fork.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from .collectives import Collective, Shape, Workspace
from .plans import VIEWS, plan_for, possible
from .rendezvous import Steps, join_store, open_store
from .views import Stopwatch, warm_up

_SLACK_S = 60.0  # torch's own limits lie behind the agent's deadline, so that the agent's report comes first
_REASON_LENGTH = 500


@dataclass(frozen=True)
class Task:
    """One rank of one launch. `started_s` is time.monotonic() when the agent received it; `work` as in the protocol."""

    number: int
    backend: str
    world: int
    rank: int
    local_rank: int
    deadline_s: float
    started_s: float
    work: Mapping[str, Any]


@dataclass
class Voice:
    """The worker's end of the pipe to its agent, and how long each phase took."""

    fd: int
    started_s: float
    timings_s: dict[str, float] = field(default_factory=dict)
    _phase: str = "fork"
    _since_s: float = -1.0

    def say(self, event: str, **fields: Any) -> None:
        """Send one event as a line; OSError when the agent is gone."""
        view = memoryview(json.dumps({"event": event, **fields}, separators=(",", ":")).encode() + b"\n")
        while view:
            view = view[os.write(self.fd, view) :]

    def phase(self, name: str) -> None:
        """Enter a phase: init, connect, check, measure or done."""
        now = time.monotonic()
        self._close_phase(now)
        self._phase, self._since_s = name, now
        self.say("phase", phase=name, at_s=round(now - self.started_s, 3))

    def end(self, status: str, reason: str) -> None:
        """The last event: ok or failed, with one line of reason."""
        self._close_phase(time.monotonic())
        self.say("end", status=status, reason=reason, timings_s=self.timings_s)

    def _close_phase(self, now: float) -> None:
        since = self.started_s if self._since_s < 0 else self._since_s
        self.timings_s[self._phase] = round(now - since, 4)


def run_rank(task: Task, commands_fd: int, events_fd: int) -> int:
    """Do the task; exit status 0 or 1. Any failure becomes one line of reason and a traceback in the log."""
    voice = Voice(events_fd, task.started_s)
    try:
        _work(task, voice, commands_fd)
    except Exception as problem:  # noqa: BLE001 - whatever torch or NCCL raises is this rank's result, not ours to choose
        traceback.print_exc()
        voice.end("failed", one_line(problem))
        return 1
    voice.end("ok", "")
    return 0


def one_line(problem: BaseException) -> str:
    """An exception as one bounded line: its type, its first line, and NCCL's last error where there is one."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()] or ["no message"]
    said = lines[lines.index("Last error:") + 1 :][:1] if "Last error:" in lines else []
    return f"{type(problem).__name__}: {'; last error: '.join([lines[0], *said])}"[:_REASON_LENGTH]


def _work(task: Task, voice: Voice, commands_fd: int) -> None:
    import torch

    torch.set_num_threads(1)
    shapes = _shapes(task.work)
    voice.phase("init")
    store = _meet(task, voice, commands_fd)
    steps = Steps(store, task.rank, task.world)
    device = _device(task)
    _init_group(task, store, device)
    voice.phase("connect")
    _connect(device)
    steps.barrier()
    voice.phase("check")
    space = Workspace(shapes, task.rank, task.world, device)
    proved = [_check(space.collective(shape)) for shape in shapes]
    steps.barrier()
    voice.phase("measure")
    stopwatch = Stopwatch(task.backend, steps.barrier)
    for shape, right in zip(shapes, proved, strict=True):
        _measure(task, voice, stopwatch, space.collective(shape), right)
    voice.phase("done")
    steps.farewell()


def _shapes(work: Mapping[str, Any]) -> list[Shape]:
    """What is to be measured; ValueError for an op, dtype or view that is unknown here."""
    unknown = [view for view in work["views"] if view not in VIEWS]
    if unknown:
        raise ValueError(f"unknown views {unknown}; known: {', '.join(VIEWS)}")
    return [Shape(**item) for item in work["shapes"]]


def _meet(task: Task, voice: Voice, commands_fd: int) -> Any:
    """The store of this launch: rank 0 opens it and says where; all wait for the controller's word to join."""
    limit_s = task.deadline_s + _SLACK_S
    store = open_store(limit_s) if task.rank == 0 else None
    if store is not None:
        voice.say("store", port=store.port)
    order = _read_order(commands_fd)
    return store or join_store(order["address"], order["port"], limit_s)


def _read_order(fd: int) -> dict[str, Any]:
    data = b""
    while not data.endswith(b"\n"):
        chunk = os.read(fd, 4096)
        if not chunk:
            raise EOFError("the agent closed the pipe before it said where the store is")
        data += chunk
    order: dict[str, Any] = json.loads(data)
    return order


def _device(task: Task) -> Any:
    import torch

    if task.backend == "gloo":
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if count == 0:
        raise RuntimeError("torch sees no CUDA device in the rank process")
    device = torch.device("cuda", task.local_rank % count)
    torch.cuda.set_device(device)
    # never the default stream: a graph can't be captured on it, and calls warmed elsewhere would be warmed in vain
    torch.cuda.set_stream(torch.cuda.Stream())
    return device


def _init_group(task: Task, store: Any, device: Any) -> None:
    import torch.distributed as dist

    dist.init_process_group(
        task.backend,
        store=dist.PrefixStore(f"launch/{task.number}", store),
        rank=task.rank,
        world_size=task.world,
        timeout=timedelta(seconds=task.deadline_s + _SLACK_S),
        device_id=device if task.backend == "nccl" else None,
    )


def _connect(device: Any) -> None:
    """The first all-reduce: connections are made lazily, so this is where an unreachable peer shows."""
    import torch
    import torch.distributed as dist

    warm = torch.ones(1, device=device)
    dist.all_reduce(warm)
    if warm.item() != dist.get_world_size():
        raise ArithmeticError(f"the first all-reduce of ones over {dist.get_world_size()} ranks gave {warm.item()}")


def _check(collective: Collective) -> bool:
    """One call, compared element by element."""
    collective.restart()
    collective.call()
    return collective.correct(1)


def _measure(task: Task, voice: Voice, stopwatch: Stopwatch, collective: Collective, right: bool) -> None:
    """Time one shape in every view asked for that exists, and send a cell for each."""
    shape = collective.shape
    views = [view for view in VIEWS if view in task.work["views"] and possible(task.backend, view, shape)]
    plans = [plan_for(shape, view, task.work) for view in views]
    warm_up(collective, max((plan.warmup for plan in plans), default=0))
    for view, plan in zip(views, plans, strict=True):
        samples, exact = stopwatch.measure(collective, view, plan)
        cell = {"view": view, "op": shape.op, "size": shape.size, "dtype": shape.dtype}
        voice.say("cell", **cell, samples=samples, correct=right and exact)
