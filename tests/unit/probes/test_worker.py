"""What a worker makes of its task, its failures, and what it tells, with one rank and stand-ins for the rest."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import payload, worker
from fabricdoc.probes.shapes import Shape
from fabricdoc.probes.task import Task
from fabricdoc.probes.voice import Voice
from fabricdoc.probes.worker import Measuring, checked, run_rank, shapes_of
from tests.unit.probes.test_views import Notes
from tests.unit.probes.test_voice import spoken

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.unit

WORK: dict[str, Any] = {"shapes": [{"op": "all_reduce", "size": 8, "dtype": "bfloat16"}], "views": ["eager"]}
LARGE = {"shapes": [{"op": "all_reduce", "size": 1 << 20, "dtype": "bfloat16"}], "warmup": 2}


def task(**changes: Any) -> Task:
    fields = {"number": 1, "backend": "gloo", "world": 1, "rank": 0, "local_rank": 0, "deadline_s": 5.0}
    return Task(**{**fields, "started_s": time.monotonic(), "work": WORK, **changes})


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        ({**WORK, "views": ["eager", "naked"]}, "unknown views ['naked']; known: graph, eager, throughput"),
        ({**WORK, "shapes": [{"op": "reduce", "size": 8, "dtype": "bfloat16"}]}, "unknown op 'reduce'"),
        ({"views": []}, "KeyError: 'shapes'"),
        ({**WORK, "path": "direct"}, "no path 'direct' on gloo"),
        ({**WORK, "path": "both"}, "no path 'both' on gloo"),
        (
            {**WORK, "shapes": [{"op": "broadcast", "size": 8, "dtype": "int32", "in_place": False}]},
            "torch.distributed has broadcast in place only, and gloo no other way",
        ),
        (
            {**WORK, "shapes": [{"op": "all_to_all", "size": 8, "dtype": "int32", "in_place": True}]},
            "all_to_all has no form in place",
        ),
    ],
)
def test_work_it_does_not_know_fails_with_the_reason(
    work: dict[str, Any], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    read_fd, write_fd = os.pipe()
    assert run_rank(task(work=work), -1, write_fd) == 1
    (end,) = spoken(read_fd, write_fd)
    assert (end["event"], end["status"]) == ("end", "failed")
    assert reason in end["reason"]
    assert "Traceback" in capsys.readouterr().err


def test_a_shape_named_twice_is_measured_once() -> None:
    twice = {**WORK, "shapes": [*WORK["shapes"], {**WORK["shapes"][0], "in_place": True}]}
    assert shapes_of(twice, "gloo") == [Shape("all_reduce", 8, "bfloat16")]


class Together:
    """Stands for the other ranks."""

    def __init__(self, answers: list[int] | None = None) -> None:
        self.answers = answers
        self.asked: list[int] = []

    def barrier(self) -> None:
        return

    def agree(self, number: int) -> int:
        self.asked.append(number)
        return self.answers.pop(0) if self.answers is not None else number

    def share(self, name: str, data: bytes) -> bytes:
        return data


class Watched(Measuring):
    """Measures notes instead of tensors: `bad` of them wrong in the check."""

    def __init__(self, work: dict[str, Any], write_fd: int, together: Together, bad: list[int] | None = None) -> None:
        given = task(work={**WORK, **LARGE, **work})
        super().__init__(
            given,
            Voice(write_fd, 0.0),
            together,  # type: ignore[arg-type]
            torch.device("cpu"),
            shapes_of(given.work, "gloo"),
        )
        self.bad = bad or []

    def _collective(self, shape: Shape) -> Any:
        one = Notes()
        one.shape = shape  # type: ignore[attr-defined]
        one.bad = self.bad.pop(0) if self.bad else 0
        return one


@pytest.mark.parametrize(("checked_wrong", "timed_wrong"), [(0, 0), (3, 0), (0, 2), (3, 2)])
def test_a_cell_is_correct_only_if_check_and_measurement_both_were(checked_wrong: int, timed_wrong: int) -> None:
    read_fd, write_fd = os.pipe()
    work = {"views": ["throughput", "graph", "eager"], "calls": {"eager": 7, "throughput": 6}}
    bench = Watched(work, write_fd, Together(), [checked_wrong, timed_wrong])
    bench.check()
    bench.measure()
    events = spoken(read_fd, write_fd)
    cells = [event for event in events if event["event"] == "cell"]
    assert [(cell["view"], len(cell["samples"])) for cell in cells] == [("eager", 7), ("throughput", 3)]
    assert [cell["wrong"] for cell in cells] == [checked_wrong + timed_wrong, checked_wrong]
    assert all(cell["correct"] is (cell["wrong"] == 0) for cell in cells)
    phases = [(event["phase"], event["what"]) for event in events if event["event"] == "phase"]
    assert phases == [
        ("check", ""),
        ("measure", "all_reduce 1048576 B bfloat16, warm-up"),
        ("measure", "all_reduce 1048576 B bfloat16, eager"),
        ("measure", "all_reduce 1048576 B bfloat16, throughput"),
    ]


def test_gates_are_an_arm_of_their_own_and_what_is_wrong_in_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    gates: list[int] = []
    monkeypatch.setattr(worker, "gate_of", lambda device: lambda: gates.append(1))
    read_fd, write_fd = os.pipe()
    plant = {"flip": {"rank": 0, "call": 2}}
    bench = Watched({"skew": True, "calls": {"eager": 4}, "plant": plant}, write_fd, Together())
    bench.check()
    bench.measure()
    cell, skew = [event for event in spoken(read_fd, write_fd) if event["event"] in ("cell", "skew")]
    assert cell["wrong"] == 2, "once in either arm"
    assert (len(skew["waits"]), len(skew["gated"])) == (4, 4)
    assert len(gates) == 8


def test_nccls_own_calls_are_timed_after_torchs_in_the_eager_view_alone() -> None:
    read_fd, write_fd = os.pipe()
    plant = {"flip": {"rank": 0, "call": 2}}
    work = {"views": ["throughput", "graph", "eager"], "calls": {"eager": 4}, "plant": plant, "warmup": 2}
    bench = Watched(work, write_fd, Together())
    own = object()
    bench._own, bench._task.work["path"] = own, "both"  # type: ignore[assignment,index]
    taken: list[object] = []

    class Space:
        def collective(self, shape: Shape, calls: object) -> Any:
            taken.append(calls)
            return bench._collective(shape)

    bench._space = Space()  # type: ignore[assignment]
    bench.check()
    bench.measure()
    events = spoken(read_fd, write_fd)
    (direct,) = [event for event in events if event["event"] == "direct"]
    assert (direct["view"], len(direct["samples"]), direct["wrong"]) == ("eager", 4, 1)
    assert taken == [own]
    phases = [event["what"] for event in events if event["event"] == "phase"]
    assert phases[-1] == "all_reduce 1048576 B bfloat16, eager, by NCCL's own calls"
    assert [event["event"] for event in events if event["event"] in ("cell", "direct")] == ["cell", "cell", "direct"]


@pytest.mark.parametrize(
    ("where", "flipped"), [({"size": 1 << 20}, 1), ({"op": "all_gather"}, 0), ({"view": "graph"}, 0)]
)
def test_a_plant_can_be_narrowed_down(where: dict[str, Any], flipped: int) -> None:
    read_fd, write_fd = os.pipe()
    bench = Watched({"plant": {"flip": {"rank": 0, "call": 2}, **where}}, write_fd, Together())
    bench.check()
    bench.measure()
    (cell,) = [event for event in spoken(read_fd, write_fd) if event["event"] == "cell"]
    assert cell["wrong"] == flipped


def test_a_soak_goes_on_as_long_as_the_first_rank_says_and_tells_what_was_wrong() -> None:
    read_fd, write_fd = os.pipe()
    together = Together([3, 2, 0])
    bench = Watched({"calls": {"eager": 5}, "plant": {"flip": {"rank": 0, "call": 1}}}, write_fd, together)
    bench.soak(60.0)
    said = spoken(read_fd, write_fd)
    assert said[0] == {**said[0], "event": "phase", "phase": "soak", "what": "all_reduce 1048576 B bfloat16"}
    assert (said[1]["event"], said[1]["calls"], said[1]["wrong"]) == ("soak", (1 + 3 + 2) * 5, 6)
    assert len(together.asked) == 3 and min(together.asked) >= 1


@pytest.mark.long
@given(left_s=st.floats(-5, 1000), each_s=st.floats(0, 100))
def test_ranks_agree_again_every_moment_and_stop_in_time(left_s: float, each_s: float) -> None:
    rounds = worker._rounds(left_s, each_s)
    assert (rounds == 0) == (left_s <= 0)
    assert rounds <= 1 or rounds * max(each_s, 1e-5) <= min(left_s, 0.2) * 1.001


def test_the_check_compares_after_exactly_one_call() -> None:
    one = Notes()
    assert checked(one) == 0  # type: ignore[arg-type]
    assert one.log == ["restart", "call", "compare"]


def test_payloads_are_worked_out_before_the_fork_whatever_the_work_says() -> None:
    payload.contribution.cache_clear()
    payload.total.cache_clear()
    worker.prepare({"shapes": [{"dtype": "float16"}, {"dtype": "nothing"}, "no shape", {}]}, 2, [0])
    assert payload.contribution.cache_info().currsize == 2
    misses = payload.contribution.cache_info().misses
    payload.contribution(0, 2, payload.SIGNIFICAND_BITS["float16"])
    assert payload.contribution.cache_info().misses == misses
    worker.prepare({}, 2, [])


def test_no_garbage_is_collected_while_a_rank_works(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(worker, "_work", lambda *_words: seen.append(gc.isenabled()))
    read_fd, write_fd = os.pipe()
    assert run_rank(task(), -1, write_fd) == 0
    spoken(read_fd, write_fd)
    assert (seen, gc.isenabled()) == ([False], True)
