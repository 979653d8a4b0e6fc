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
from collections.abc import Callable
from typing import Any

from . import payload
from .clocks import Clock, DeviceClock, HostClock, NoClock, external_clock
from .collectives import Collective
from .plans import Plan


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
        self._graph_clock = external_clock() if backend == "nccl" else None

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
            rows, done = _series(collective, plan.calls, plan.lead, self._graph_clock or NoClock())
        samples: list[float] = []
        for _ in range(plan.replays):
            self._barrier()
            if self._graph_clock:
                graph.replay()
                samples += _per_call(rows, self._graph_clock)
            else:
                samples.append(_replay_mean(graph, plan, self._clock))
        return samples, collective.correct(done)


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
