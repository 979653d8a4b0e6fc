"""The three ways a collective is timed, never mixed: graph, eager, throughput. Gives samples in µs per call.

graph: dependent calls captured in one CUDA graph with an external event after each, so every replay yields a time per
call; where torch can't record external events, one sample per replay: its mean. Those events add 5 to 7 µs a call
(one H200, beside nccl-tests 2.19.6), so the calls are captured once more with events around each segment alone:
`bare` gives the mean per call of its replays, as nccl-tests -G does. eager: the same calls one by one.
throughput: calls from 1 MiB up, back to back, one sample per repetition: total / calls. On gloo a call blocks, so the
host clock is read between calls and there is no graph. Unless only a proof is wanted, one call that is not timed
leads each timed series: it takes up the skew with which the ranks arrive. A series longer than a chain stays exact
(see payload) begins again from the payload. That copy, and the comparison of every result that ends each segment
(inside the graph where there is one), lie outside every timed interval. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import payload
from .arms import Step
from .clocks import Clock, DeviceClock, HostClock, NoClock, external_clock
from .collectives import Collective
from .plans import Plan
from .plants import NOTHING, Planted

Barrier = Callable[[], None]


@dataclass(frozen=True)
class Extras:
    """What else lies in a series: planted faults, a product before each call, gates before each call."""

    planted: Planted = NOTHING
    gemm: Step | None = None
    gate: Step | None = None


@dataclass
class Sampled:
    """Samples in µs per call; with gates also how long this rank waited before each; how many elements were wrong."""

    samples: list[float]
    wrong: int = 0
    waits: list[float] | None = None


def warm_up(collective: Collective, calls: int) -> None:
    """`calls` untimed calls, so that lazy connections and clocks are settled before anything is timed."""
    for part in payload.segments(calls, collective.chain):
        collective.restart()
        for _ in range(part):
            collective.call()


class Stopwatch:
    """Times one collective in any view on one backend; made once per launch."""

    def __init__(self, backend: str, barrier: Barrier) -> None:
        self._barrier = barrier
        self._clock: Clock = HostClock() if backend == "gloo" else DeviceClock()
        self._graph_clock = external_clock() if backend == "nccl" else None

    def ready(self, collective: Collective, view: str, plan: Plan, extras: Extras = Extras()) -> Series:
        """A series to be measured; the graph view is captured by this."""
        if view != "graph":
            return Series(collective, view, plan, extras, self._barrier, self._clock)
        clock = self._graph_clock or NoClock()
        if self._graph_clock is None and (extras.gemm or extras.gate):
            raise RuntimeError(
                "this torch has no external events: what lies between captured calls can't be told apart"
            )
        return CapturedSeries(collective, view, plan, extras, self._barrier, clock, self._clock)

    def bare(self, collective: Collective, plan: Plan, planted: Planted = NOTHING) -> CapturedSeries | None:
        """The calls of the graph view captured without an event after each; None where the view itself has none."""
        if self._graph_clock is None:
            return None
        extras = Extras(planted)
        return CapturedSeries(collective, "throughput", plan, extras, self._barrier, self._graph_clock, self._clock)


@dataclass(frozen=True)
class Marks:
    """The points around one timed span: `gates` before and after each gate, where there are any."""

    begin: Any
    end: Any
    gates: tuple[Any, ...] = ()


class Series:
    """The calls of one view of one shape, run as often as wanted."""

    def __init__(
        self, collective: Collective, view: str, plan: Plan, extras: Extras, barrier: Barrier, clock: Clock
    ) -> None:
        self._collective = collective
        self._every = view != "throughput"
        self._replays = plan.replays
        self._plan = plan
        self._extras = extras
        self._barrier = barrier
        self._clock = clock
        collective.foresee([done for _, done in _segments(plan, collective.chain)])

    def measure(self) -> Sampled:
        """Run all of it; a rank that does must have its peers do the same."""
        result = Sampled([], waits=[] if self._extras.gate else None)
        for _ in range(self._replays):
            self._barrier()
            self._once(result)
        result.wrong = self._collective.wrong()
        return result

    def repeat(self) -> int:
        """Run it once, untimed; how many elements were wrong."""
        self._run()
        return self._collective.wrong()

    def _once(self, result: Sampled) -> None:
        self._read(self._run(), result)

    def _read(self, spans: list[Marks], result: Sampled) -> None:
        self._clock.settle()
        times = [self._clock.between_us(span.begin, span.end) for span in spans]
        result.samples += [round(time, 3) for time in (times if self._every else [sum(times) / self._plan.calls])]
        if result.waits is not None:
            result.waits += [self._wait(span.gates) for span in spans]

    def _wait(self, gates: tuple[Any, ...]) -> float:
        first, second, end = gates
        longer = self._clock.between_us(first, second) - self._clock.between_us(second, end)
        return round(max(0.0, longer), 3)

    def _run(self) -> list[Marks]:
        """Run (or capture) the untimed leading calls and the timed ones; the marks around each, or each segment."""
        self._clock.begin()
        spans: list[Marks] = []
        number = 0
        for lead, done in _segments(self._plan, self._collective.chain):
            self._collective.restart()
            for _ in range(abs(lead)):
                self._collective.call()
            if lead < 0:
                self._collective.restart()
            number = self._segment(spans, number, done - max(lead, 0))
            self._collective.compare()
        return spans

    def _segment(self, spans: list[Marks], number: int, calls: int) -> int:
        begin = self._clock.mark()
        for left in range(calls - 1, -1, -1):
            begin, gates = self._between(begin)
            self._extras.planted.before()
            self._collective.call()
            number += 1
            if self._every or left == 0:
                end = self._clock.mark()
                spans.append(Marks(begin, end, gates))
                begin = end
            self._extras.planted.after(self._collective, number, self._plan.calls)
        return number

    def _between(self, begin: Any) -> tuple[Any, tuple[Any, ...]]:
        """What lies before a timed call, if anything: its new begin, and the marks around the gates."""
        if not self._every or not (self._extras.gemm or self._extras.gate):
            return begin, ()
        if self._extras.gemm:
            self._extras.gemm()
        marks = [self._clock.mark()]
        for gate in (self._extras.gate,) * 2 if self._extras.gate else ():
            gate()
            marks.append(self._clock.mark())
        return marks[-1], tuple(marks) if self._extras.gate else ()


class CapturedSeries(Series):
    """The same calls in one CUDA graph, replayed."""

    def __init__(
        self,
        collective: Collective,
        view: str,
        plan: Plan,
        extras: Extras,
        barrier: Barrier,
        clock: Clock,
        outside: Clock,
    ) -> None:
        import torch

        super().__init__(collective, view, plan, extras, barrier, clock)
        self._outside = outside
        self._graph = torch.cuda.CUDAGraph()
        # thread_local: torch's watchdog thread may query its own events while this thread captures
        with torch.cuda.graph(self._graph, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"):
            self._spans = self._run()

    def repeat(self) -> int:
        """Replay it once, untimed; how many elements were wrong."""
        self._graph.replay()
        return self._collective.wrong()

    def _once(self, result: Sampled) -> None:
        if isinstance(self._clock, NoClock):
            result.samples.append(self._mean())
            return
        self._graph.replay()
        self._read(self._spans, result)

    def _mean(self) -> float:
        self._outside.begin()
        start = self._outside.mark()
        self._graph.replay()
        end = self._outside.mark()
        self._outside.settle()
        return round(self._outside.between_us(start, end) / (self._plan.calls + self._plan.lead), 3)


def _segments(plan: Plan, chain: int) -> list[tuple[int, int]]:
    """Per segment: its untimed leading calls, and how many calls it makes since its payload was put back.

    Leading calls that would make the first segment longer than the chain are negative: the payload is put back after.
    """
    parts = payload.segments(plan.calls, chain)
    fits = bool(parts) and plan.lead + parts[0] <= chain
    leads = [plan.lead if fits else -plan.lead] + [0] * (len(parts) - 1)
    return [(lead, part + max(lead, 0)) for lead, part in zip(leads, parts, strict=False)]
