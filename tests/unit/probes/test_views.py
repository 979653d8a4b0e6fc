"""What is called, captured and timed in each view, with a collective and a GPU that only take notes."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import clocks, views
from fabricdoc.probes.plans import Plan

pytestmark = pytest.mark.unit


class Notes:
    """A collective that writes down what is done to it; correct only for the calls really made since its restart."""

    def __init__(self, chain: int = 1000) -> None:
        self.chain = chain
        self.log: list[str] = []
        self.since = 0
        self.asked: list[int] = []

    def restart(self) -> None:
        self.log.append("restart")
        self.since = 0

    def call(self) -> None:
        self.log.append("call")
        self.since += 1
        assert self.since <= self.chain, "the chain ran past exactness"

    def correct(self, calls: int) -> bool:
        self.asked.append(calls)
        return calls == self.since


class StepClock(clocks.HostClock):
    """Every collective call takes 10 µs, read from the notes; a mark is the number of calls so far."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes

    def mark(self) -> int:
        self.notes.log.append("mark")
        return self.notes.log.count("call") * 10_000


def stopwatch(notes: Notes) -> views.Stopwatch:
    made = views.Stopwatch("gloo", lambda: notes.log.append("barrier"))
    made._clock = StepClock(notes)
    return made


def test_eager_times_each_call_after_an_untimed_one() -> None:
    notes = Notes()
    samples, right = stopwatch(notes).measure(notes, "eager", Plan(3, 1, 0, 1))
    assert notes.log == ["barrier", "restart", "call", "mark", "call", "mark", "call", "mark", "call", "mark"]
    assert (samples, right) == ([10.0, 10.0, 10.0], True)


def test_throughput_has_one_mean_per_repetition() -> None:
    notes = Notes()
    samples, right = stopwatch(notes).measure(notes, "throughput", Plan(4, 3, 0, 1))
    assert notes.log[:9] == ["barrier", "restart", "call", "mark", "call", "call", "call", "call", "mark"]
    assert (samples, right) == ([10.0] * 3, True)
    assert notes.log.count("barrier") == 3


def test_a_proof_makes_no_leading_call() -> None:
    notes = Notes()
    samples, right = stopwatch(notes).measure(notes, "eager", Plan(1, 1, 0, 0))
    assert notes.log.count("call") == 1
    assert right and len(samples) == 1


@given(
    chain=st.integers(1, 60),
    calls=st.integers(1, 150),
    view=st.sampled_from(["eager", "throughput"]),
    lead=st.integers(0, 1),
)
def test_long_series_restart_outside_the_timed_part(chain: int, calls: int, view: str, lead: int) -> None:
    notes = Notes(chain)
    samples, right = stopwatch(notes).measure(notes, view, Plan(calls, 2, 0, lead))
    assert right, "the expected result belongs to the calls since the last restart"
    assert samples == [10.0] * (calls if view == "eager" else 2)
    at = [index for index, entry in enumerate(notes.log) if entry == "restart"]
    for here in at:
        following = notes.log[here + 1 : here + 3]
        assert following[0] == "mark" or following == ["call", "mark"] or following == ["call", "restart"]


def test_a_wrong_result_is_told() -> None:
    notes = Notes()
    notes.correct = lambda calls: False  # type: ignore[method-assign]
    assert stopwatch(notes).measure(notes, "eager", Plan(3, 1, 0, 1))[1] is False


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
    samples, right = watch.measure(notes, "graph", Plan(10, 4, 0, 1))
    assert samples == pytest.approx([20.0] * 40)
    assert right
    assert notes.log.count("call") == 4 * 11
    assert notes.log.count("restart") == 4 * restarts, "every replay begins again from the payload"
    assert gpu.captures == [{"stream": "side", "capture_error_mode": "thread_local"}]
    assert len(barriers) == 4
    assert gpu.synchronized >= 4, "events are read only after the GPU has passed them"


def test_without_external_events_a_replay_gives_its_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(external=False)
    gpu.install(monkeypatch)
    notes = GpuNotes(gpu)
    samples, right = views.Stopwatch("nccl", lambda: None).measure(notes, "graph", Plan(10, 4, 0, 1))
    assert samples == pytest.approx([20.0] * 4)
    assert right


def test_eager_calls_on_a_gpu_are_timed_by_events_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu()
    gpu.install(monkeypatch)
    notes = GpuNotes(gpu)
    watch = views.Stopwatch("nccl", lambda: None)
    first = watch.measure(notes, "eager", Plan(5, 1, 0, 1))
    made = gpu.made
    assert first == (pytest.approx([20.0] * 5), True)
    assert watch.measure(notes, "eager", Plan(5, 1, 0, 1)) == (pytest.approx([20.0] * 5), True)
    assert gpu.made == made
