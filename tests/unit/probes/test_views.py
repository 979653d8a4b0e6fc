"""What is called, captured and timed in each view, with a collective and a GPU that only take notes."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import clocks, views
from fabricdoc.probes.plans import Plan
from fabricdoc.probes.plants import Flip, Planted
from fabricdoc.probes.views import Extras, Sampled

pytestmark = pytest.mark.unit


class Notes:
    """A collective that writes down what is done to it; wrong when compared after other calls than were foreseen."""

    def __init__(self, chain: int = 1000) -> None:
        self.chain = chain
        self.log: list[str] = []
        self.since = 0
        self.foreseen: set[int] = set()
        self.bad = 0
        self.flips: list[int] = []

    def foresee(self, made: Any) -> None:
        self.foreseen |= set(made)

    def restart(self) -> None:
        self.log.append("restart")
        self.since = 0

    def call(self) -> None:
        self.log.append("call")
        self.since += 1
        assert self.since <= self.chain, "the chain ran past exactness"

    def compare(self) -> None:
        self.log.append("compare")
        assert self.since in self.foreseen, "nothing may be copied to the GPU while capturing"

    def flip(self) -> None:
        self.flips.append(self.log.count("call"))
        self.bad += 1

    def wrong(self) -> int:
        count, self.bad = self.bad, 0
        return count


class StepClock(clocks.HostClock):
    """Every collective call takes 10 µs, read from the notes; a mark is the number of calls so far."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes

    def mark(self) -> int:
        self.notes.log.append("mark")
        return self.notes.log.count("call") * 10_000


def measure(notes: Notes, view: str, plan: Plan, extras: Extras | None = None) -> Sampled:
    watch = views.Stopwatch("gloo", lambda: notes.log.append("barrier"))
    watch._clock = StepClock(notes)
    return watch.ready(notes, view, plan, extras or Extras()).measure()  # type: ignore[arg-type]


def test_eager_times_each_call_after_an_untimed_one_and_compares_in_the_end() -> None:
    notes = Notes()
    sampled = measure(notes, "eager", Plan(3, 1, 0, 1))
    calls = ["call", "mark"] * 3
    assert notes.log == ["barrier", "restart", "call", "mark", *calls, "compare"]
    assert (sampled.samples, sampled.wrong, sampled.waits) == ([10.0, 10.0, 10.0], 0, None)


def test_throughput_has_one_mean_per_repetition() -> None:
    notes = Notes()
    sampled = measure(notes, "throughput", Plan(4, 3, 0, 1))
    assert notes.log[:10] == ["barrier", "restart", "call", "mark", "call", "call", "call", "call", "mark", "compare"]
    assert (sampled.samples, sampled.wrong) == ([10.0] * 3, 0)
    assert notes.log.count("barrier") == notes.log.count("compare") == 3


def test_a_proof_makes_no_leading_call() -> None:
    notes = Notes()
    assert len(measure(notes, "eager", Plan(1, 1, 0, 0)).samples) == 1
    assert notes.log.count("call") == 1


@given(
    chain=st.integers(1, 60),
    calls=st.integers(1, 150),
    view=st.sampled_from(["eager", "throughput"]),
    lead=st.integers(0, 1),
)
def test_long_series_restart_and_compare_outside_the_timed_part(chain: int, calls: int, view: str, lead: int) -> None:
    notes = Notes(chain)
    sampled = measure(notes, view, Plan(calls, 2, 0, lead))
    assert sampled.samples == [10.0] * (2 * calls if view == "eager" else 2)
    inside = False
    for here, following in itertools.pairwise(notes.log):
        if here == "call" and following in ("restart", "compare", "barrier"):
            assert not inside or view == "throughput", "a timed call must be followed by its mark"
        inside = here == "mark" and following == "call"
        if here == "restart":
            assert following in ("mark", "call")
        if following == "restart":
            assert here in ("compare", "barrier", "call"), "no result goes uncompared but those of leading calls"


@given(chain=st.integers(1, 40), calls=st.integers(1, 90), at=st.integers(1, 120))
def test_a_planted_flip_comes_after_its_call_or_the_last(chain: int, calls: int, at: int) -> None:
    notes = Notes(chain)
    sampled = measure(notes, "eager", Plan(calls, 2, 0, 0), Extras(Planted(flip=Flip(at))))
    assert notes.flips == [min(at, calls), calls + min(at, calls)]
    assert sampled.wrong == 2


def test_a_planted_spin_is_part_of_every_call() -> None:
    notes = Notes()
    spin = lambda: notes.log.append("spin")  # noqa: E731
    measure(notes, "eager", Plan(2, 1, 0, 1), Extras(Planted(spin=spin)))  # type: ignore[arg-type]
    assert notes.log == [
        "barrier",
        "restart",
        "call",
        "mark",
        "spin",
        "call",
        "mark",
        "spin",
        "call",
        "mark",
        "compare",
    ]


def test_a_product_lies_before_each_call_and_outside_its_time() -> None:
    notes = Notes()
    gemm = lambda: notes.log.append("gemm")  # noqa: E731
    sampled = measure(notes, "eager", Plan(2, 1, 0, 0), Extras(gemm=gemm))
    step = ["gemm", "mark", "call", "mark"]
    assert notes.log == ["barrier", "restart", "mark", *step, *step, "compare"]
    assert sampled.samples == [10.0, 10.0]


def test_gates_tell_how_long_a_rank_waited_and_are_no_part_of_a_sample() -> None:
    notes = Notes()
    waited = itertools.chain([7, 2], [2, 9], [4, 4])

    class GateClock(StepClock):
        at = 0

        def mark(self) -> int:
            return super().mark() + 1000 * self.at

    clock = GateClock(notes)

    def gate() -> None:
        clock.at += next(waited)

    watch = views.Stopwatch("gloo", lambda: None)
    watch._clock = clock
    sampled = watch.ready(notes, "eager", Plan(3, 1, 0, 0), Extras(gate=gate)).measure()  # type: ignore[arg-type]
    assert sampled.waits == [5.0, 0.0, 0.0]
    assert sampled.samples == [10.0, 10.0, 10.0]


def test_nothing_lies_between_calls_of_the_throughput_view() -> None:
    notes = Notes()
    measure(notes, "throughput", Plan(3, 1, 0, 0), Extras(gemm=lambda: notes.log.append("gemm")))
    assert "gemm" not in notes.log


def test_a_series_repeated_in_a_soak_is_compared_each_time() -> None:
    notes = Notes(4)
    series = views.Stopwatch("gloo", lambda: None).ready(notes, "eager", Plan(8, 1, 0, 1), Extras())  # type: ignore[arg-type]
    assert [series.repeat() for _ in range(3)] == [0, 0, 0]
    assert notes.log.count("compare") == 6
    notes.bad = 2
    assert series.repeat() == 2


@given(chain=st.integers(1, 50), calls=st.integers(0, 200))
def test_warming_up_keeps_the_chain_exact(chain: int, calls: int) -> None:
    notes = Notes(chain)
    views.warm_up(notes, calls)  # type: ignore[arg-type]
    assert notes.log.count("call") == calls


class Gpu:
    """Stands in for torch.cuda: captured steps run again at each replay, events note a time of their own."""

    def __init__(self, *, external: bool = True) -> None:
        self.external = external
        self.now_ms = 0.0
        self.captured: list[Any] | None = None
        self.captures: list[dict[str, Any]] = []
        self.made = 0
        self.synchronized = 0

    def run(self, step: Any) -> None:
        if self.captured is None:
            step()
        else:
            self.captured.append(step)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        torch = pytest.importorskip("torch")
        gpu = self

        class Event:
            def __init__(self, enable_timing: bool = False, **options: bool) -> None:
                if options.get("external") and not gpu.external:
                    raise TypeError("unexpected keyword external")
                assert enable_timing
                self.options = options
                self.at_ms = -1.0
                gpu.made += 1

            def record(self) -> None:
                assert (gpu.captured is not None) == bool(self.options), "external events belong in graphs, others not"
                gpu.run(self._pass)

            def _pass(self) -> None:
                self.at_ms = gpu.now_ms

            def elapsed_time(self, later: Event) -> float:
                return later.at_ms - self.at_ms

        class Graph:
            def replay(self) -> None:
                for step in self.steps:
                    step()

        @contextmanager
        def graph(made: Any, **options: Any) -> Any:
            gpu.captures.append(options)
            gpu.captured = made.steps = []
            yield
            gpu.captured = None

        fake = SimpleNamespace(
            Event=Event, CUDAGraph=Graph, graph=graph, synchronize=self._synchronize, current_stream=lambda: "side"
        )
        monkeypatch.setattr(torch, "cuda", fake)

    def _synchronize(self) -> None:
        self.synchronized += 1


class GpuNotes(Notes):
    """A collective whose work is enqueued on that GPU; each call costs 20 µs there."""

    def __init__(self, gpu: Gpu, chain: int = 1000) -> None:
        super().__init__(chain)
        self.gpu = gpu

    def restart(self) -> None:
        self.gpu.run(super().restart)

    def call(self) -> None:
        self.gpu.run(self._call)

    def compare(self) -> None:
        self.gpu.run(super().compare)

    def flip(self) -> None:
        self.gpu.run(super().flip)

    def _call(self) -> None:
        super().call()
        self.gpu.now_ms += 0.020


@pytest.mark.parametrize(("chain", "restarts"), [(1000, 1), (7, 2), (1, 11)])
def test_a_graph_gives_a_time_per_call_of_every_replay(
    monkeypatch: pytest.MonkeyPatch, chain: int, restarts: int
) -> None:
    gpu = Gpu()
    gpu.install(monkeypatch)
    notes = GpuNotes(gpu, chain)
    barriers: list[int] = []
    watch = views.Stopwatch("nccl", lambda: barriers.append(len(notes.log)))
    series = watch.ready(notes, "graph", Plan(10, 4, 0, 1))  # type: ignore[arg-type]
    assert notes.log == [], "captured, not run"
    sampled = series.measure()
    assert sampled.samples == pytest.approx([20.0] * 40)
    assert notes.log.count("call") == 4 * 11
    assert notes.log.count("restart") == 4 * restarts, "every replay begins again from the payload"
    assert notes.log.count("compare") == 4 * (restarts - (chain == 1)), "and is compared inside the graph"
    assert gpu.captures == [{"stream": "side", "capture_error_mode": "thread_local"}]
    assert len(barriers) == 4
    assert gpu.synchronized >= 4, "events are read only after the GPU has passed them"


@pytest.mark.parametrize(("chain", "events"), [(1000, 2), (5, 4)])
def test_bare_replays_have_events_around_each_segment_alone(
    monkeypatch: pytest.MonkeyPatch, chain: int, events: int
) -> None:
    """Each event is a node between two calls, so the mean that other tools print needs a graph without them."""
    gpu = Gpu()
    gpu.install(monkeypatch)
    notes = GpuNotes(gpu, chain)
    watch = views.Stopwatch("nccl", lambda: None)
    made = gpu.made
    series = watch.bare(notes, Plan(10, 4, 0, 0), Planted(flip=Flip(10)))  # type: ignore[arg-type]
    assert series is not None
    assert notes.log == [], "captured, not run"
    sampled = series.measure()
    assert sampled.samples == pytest.approx([20.0] * 4), "one mean per replay"
    assert sampled.wrong == 4, "and the result of each is compared"
    assert gpu.made - made <= events


def test_there_are_no_bare_replays_where_the_view_has_no_events_to_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    Gpu(external=False).install(monkeypatch)
    assert views.Stopwatch("nccl", lambda: None).bare(Notes(), Plan(10, 4, 0, 1)) is None  # type: ignore[arg-type]
    assert views.Stopwatch("gloo", lambda: None).bare(Notes(), Plan(10, 4, 0, 1)) is None  # type: ignore[arg-type]


def test_without_external_events_a_replay_gives_its_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(external=False)
    gpu.install(monkeypatch)
    notes = GpuNotes(gpu)
    watch = views.Stopwatch("nccl", lambda: None)
    sampled = watch.ready(notes, "graph", Plan(10, 4, 0, 1)).measure()  # type: ignore[arg-type]
    assert sampled.samples == pytest.approx([20.0] * 4)
    with pytest.raises(RuntimeError, match="no external events"):
        watch.ready(notes, "graph", Plan(10, 4, 0, 1), Extras(gemm=lambda: None))  # type: ignore[arg-type]


def test_a_flip_and_a_spin_are_captured_and_come_with_every_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu()
    gpu.install(monkeypatch)
    notes = GpuNotes(gpu)

    def spin() -> None:
        gpu.run(lambda: setattr(gpu, "now_ms", gpu.now_ms + 0.005))

    planted = Planted(spin=spin, flip=Flip(3))  # type: ignore[arg-type]
    watch = views.Stopwatch("nccl", lambda: None)
    sampled = watch.ready(notes, "graph", Plan(5, 2, 0, 1), Extras(planted)).measure()  # type: ignore[arg-type]
    assert sampled.samples == pytest.approx([25.0] * 10)
    assert sampled.wrong == 2, "each replay counts anew, and none is forgotten"


def test_a_soak_replays_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu()
    gpu.install(monkeypatch)
    notes = GpuNotes(gpu)
    series = views.Stopwatch("nccl", lambda: None).ready(notes, "graph", Plan(5, 2, 0, 1))  # type: ignore[arg-type]
    assert [series.repeat() for _ in range(3)] == [0, 0, 0]
    assert notes.log.count("call") == 3 * 6


def test_eager_calls_on_a_gpu_are_timed_by_events_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu()
    gpu.install(monkeypatch)
    notes = GpuNotes(gpu)
    watch = views.Stopwatch("nccl", lambda: None)
    first = watch.ready(notes, "eager", Plan(5, 1, 0, 1)).measure()  # type: ignore[arg-type]
    made = gpu.made
    assert first.samples == pytest.approx([20.0] * 5)
    again = watch.ready(notes, "eager", Plan(5, 1, 0, 1)).measure()  # type: ignore[arg-type]
    assert again.samples == pytest.approx([20.0] * 5)
    assert gpu.made == made
