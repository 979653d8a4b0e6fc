"""The three ways a collective is timed, never mixed: graph, eager, throughput. Gives samples in µs per call.

graph: dependent calls captured in one CUDA graph with an external event after each, so every replay yields a time per
call; where torch can't record external events, one sample per replay: its mean. eager: the same calls one by one.
throughput: calls from 1 MiB up, back to back, one sample per repetition: total / calls. On gloo a call blocks, so the
host clock is read between calls and there is no graph. Unless only a proof is wanted, one call that is not timed
leads each timed series: it takes up the skew with which the ranks arrive. A series longer than a chain stays exact
(see payload) begins again from the payload; that copy is outside every timed interval. Judges nothing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from . import payload
from .collectives import Collective, Shape

VIEWS = ("graph", "eager", "throughput")
THROUGHPUT_FROM = 1 << 20
REPETITIONS = 3
_FEWEST_CALLS = 5
_DEFAULT_CALLS = {"graph": 50, "eager": 100, "throughput": 20}


class Clock(Protocol):
    """Marks points in a series of calls and gives the time between two of them."""

    def begin(self) -> None:
        """A new series: earlier marks may be used again."""

    def mark(self) -> Any:
        """A point after all calls so far."""

    def settle(self) -> None:
        """Wait until every mark has been passed."""

    def between_us(self, earlier: Any, later: Any) -> float:
        """Microseconds from one mark to the other; after `settle`."""


class HostClock:
    """perf_counter_ns: right where a call blocks until it is done (gloo)."""

    def begin(self) -> None:
        """Nothing to prepare."""

    def mark(self) -> int:
        """Now, in nanoseconds."""
        return time.perf_counter_ns()

    def settle(self) -> None:
        """Blocking calls are already done."""

    def between_us(self, earlier: int, later: int) -> float:
        """Microseconds between two marks."""
        return (later - earlier) / 1000


class DeviceClock:
    """CUDA events on the current stream, used again from series to series so that none is made while measuring.

    `external` events become record nodes of a captured graph, passed at every replay; TypeError where torch has none.
    """

    def __init__(self, *, external: bool = False) -> None:
        self._options = {"enable_timing": True, **({"external": True} if external else {})}
        self._events: list[Any] = [self._event()]
        self._used = 0

    def _event(self) -> Any:
        import torch

        return torch.cuda.Event(**self._options)

    def begin(self) -> None:
        """A new series: every event may be recorded again."""
        self._used = 0

    def mark(self) -> Any:
        """Record the next event on the current stream."""
        if self._used == len(self._events):
            self._events.append(self._event())
        event = self._events[self._used]
        self._used += 1
        event.record()
        return event

    def settle(self) -> None:
        """Wait for the GPU."""
        import torch

        torch.cuda.synchronize()

    def between_us(self, earlier: Any, later: Any) -> float:
        """Microseconds between two recorded events (resolution about 0.5 µs)."""
        return float(earlier.elapsed_time(later)) * 1000


@dataclass(frozen=True)
class Plan:
    """How often a shape is called in a view. `replays` counts graph replays or repetitions, `lead` untimed calls."""

    calls: int
    replays: int
    warmup: int
    lead: int


def plan_for(shape: Shape, view: str, work: Mapping[str, Any]) -> Plan:
    """The counts asked for, cut so that calls * replays * bytes stays in `budget_bytes`, but never under 5 calls.

    A proof wants few lines in the log, not samples: one call, nothing before it.
    """
    if work.get("proof", False):
        return Plan(calls=1, replays=1, warmup=0, lead=0)
    asked = int(work.get("calls", {}).get(view, _DEFAULT_CALLS[view]))
    fit = int(work.get("budget_bytes", 1 << 28)) // shape.size
    calls = max(min(asked, _FEWEST_CALLS), min(asked, fit), 1)
    wanted = {"graph": int(work.get("replays", 4)), "eager": 1, "throughput": REPETITIONS}[view]
    replays = wanted if view == "throughput" else max(1, min(wanted, fit // calls))
    return Plan(calls=calls, replays=replays, warmup=min(int(work.get("warmup", 20)), calls), lead=1)


def possible(backend: str, view: str, shape: Shape) -> bool:
    """Whether this view of this shape exists: gloo has no graphs, throughput begins at 1 MiB."""
    if view == "graph":
        return backend == "nccl"
    return view == "eager" or (view == "throughput" and shape.size >= THROUGHPUT_FROM)


def warm_up(collective: Collective, calls: int) -> None:
    """`calls` untimed calls, so that lazy connections and clocks are settled before anything is timed."""
    for part in payload.segments(calls, collective.chain):
        collective.restart()
        for _ in range(part):
            collective.call()


Barrier = Callable[[], None]
Sampled = tuple[list[float], bool]  # samples in µs per call; whether the last series left exactly the right result


class Stopwatch:
    """Times one collective in any view on one backend; made once per launch."""

    def __init__(self, backend: str, barrier: Barrier) -> None:
        self._barrier = barrier
        self._clock: Clock = HostClock() if backend == "gloo" else DeviceClock()
        self._graph_clock = _external_clock() if backend == "nccl" else None

    def measure(self, collective: Collective, view: str, plan: Plan) -> Sampled:
        """Samples of one view, and whether the result after the last timed call was bit-exact."""
        if view == "graph":
            return self._graph(collective, plan)
        if view == "eager":
            return self._eager(collective, plan)
        return self._throughput(collective, plan)

    def _eager(self, collective: Collective, plan: Plan) -> Sampled:
        self._barrier()
        rows, done = _series(collective, plan.calls, plan.lead, self._clock)
        return _per_call(rows, self._clock), collective.correct(done)

    def _throughput(self, collective: Collective, plan: Plan) -> Sampled:
        samples = []
        for _ in range(plan.replays):
            self._barrier()
            rows, done = _series(collective, plan.calls, plan.lead, self._clock, every=False)
            samples.append(round(sum(_spans(rows, self._clock)) / plan.calls, 3))
        return samples, collective.correct(done)

    def _graph(self, collective: Collective, plan: Plan) -> Sampled:
        import torch

        graph = torch.cuda.CUDAGraph()
        # thread_local: torch's watchdog thread may query its own events while this thread captures
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"):
            rows, done = _series(collective, plan.calls, plan.lead, self._graph_clock or _NoClock())
        samples: list[float] = []
        for _ in range(plan.replays):
            self._barrier()
            if self._graph_clock:
                graph.replay()
                samples += _per_call(rows, self._graph_clock)
            else:
                samples.append(_replay_mean(graph, plan, self._clock))
        return samples, collective.correct(done)


class _NoClock(HostClock):
    """Marks nothing: for a graph whose replays are timed from outside."""

    def mark(self) -> int:
        """No point in time."""
        return 0


def _external_clock() -> DeviceClock | None:
    try:
        return DeviceClock(external=True)
    except TypeError:
        return None


def _series(
    collective: Collective, calls: int, lead: int, clock: Clock, *, every: bool = True
) -> tuple[list[list[Any]], int]:
    """Run (or capture) lead + calls; a row of marks per segment, after each call or only at its ends.

    The second value: how many calls the last segment made since its restart, which decides the expected result.
    """
    clock.begin()
    rows: list[list[Any]] = []
    done = 0
    for index, part in enumerate(payload.segments(calls, collective.chain)):
        collective.restart()
        done = part + (_lead_in(collective, lead, part) if index == 0 else 0)
        row = [clock.mark()]
        for left in range(part - 1, -1, -1):
            collective.call()
            if every or left == 0:
                row.append(clock.mark())
        rows.append(row)
    return rows, done


def _lead_in(collective: Collective, lead: int, part: int) -> int:
    """Make the untimed calls before `part` timed ones; how many of them count into the same chain."""
    for _ in range(lead):
        collective.call()
    if lead + part <= collective.chain:
        return lead
    collective.restart()
    return 0


def _spans(rows: list[list[Any]], clock: Clock) -> list[float]:
    clock.settle()
    return [clock.between_us(a, b) for row in rows for a, b in itertools.pairwise(row)]


def _per_call(rows: list[list[Any]], clock: Clock) -> list[float]:
    return [round(span, 3) for span in _spans(rows, clock)]


def _replay_mean(graph: Any, plan: Plan, clock: Clock) -> float:
    clock.begin()
    start = clock.mark()
    graph.replay()
    end = clock.mark()
    clock.settle()
    return round(clock.between_us(start, end) / (plan.calls + plan.lead), 3)
