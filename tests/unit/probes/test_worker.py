"""A worker's words and its failures, without any other rank."""

from __future__ import annotations

import json
import os
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from fabricdoc.probes import worker
from fabricdoc.probes.collectives import Shape
from fabricdoc.probes.events import parse_event
from fabricdoc.probes.worker import Task, Voice, one_line, run_rank

pytestmark = pytest.mark.unit

WORK: dict[str, Any] = {"shapes": [{"op": "all_reduce", "size": 8, "dtype": "bfloat16"}], "views": ["eager"]}


def task(**changes: Any) -> Task:
    fields = {"number": 1, "backend": "gloo", "world": 1, "rank": 0, "local_rank": 0, "deadline_s": 5.0}
    return Task(**{**fields, "started_s": time.monotonic(), "work": WORK, **changes})


def spoken(read_fd: int, write_fd: int) -> list[dict[str, Any]]:
    os.close(write_fd)
    said = b""
    while chunk := os.read(read_fd, 65536):
        said += chunk
    os.close(read_fd)
    return [parse_event(line) for line in said.splitlines()]


def test_every_word_of_a_worker_is_one_its_agent_knows() -> None:
    read_fd, write_fd = os.pipe()
    voice = Voice(write_fd, time.monotonic() - 1)
    voice.phase("init")
    voice.say("store", port=40000)
    voice.phase("measure")
    voice.say("cell", view="eager", op="all_reduce", size=8, dtype="bfloat16", samples=[1.5], correct=True)
    voice.end("failed", "why")
    events = spoken(read_fd, write_fd)
    assert [event["event"] for event in events] == ["phase", "store", "phase", "cell", "end"]
    assert 1 <= events[0]["at_s"] <= events[2]["at_s"] < 60
    assert set(events[-1]["timings_s"]) == {"fork", "init", "measure"}
    assert events[-1]["timings_s"]["fork"] >= 1


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (RuntimeError("Connection closed by peer\nat somewhere"), "RuntimeError: Connection closed by peer"),
        (ValueError("\n  \n"), "ValueError: no message"),
        (
            RuntimeError(
                "NCCL error in: x.cpp:94\nncclSystemError: a call failed.\nLast error:\n socketStartConnect: timed out"
            ),
            "RuntimeError: NCCL error in: x.cpp:94; last error: socketStartConnect: timed out",
        ),
        (RuntimeError("Last error:"), "RuntimeError: Last error:"),
    ],
)
def test_a_reason_is_one_line(problem: Exception, line: str) -> None:
    assert one_line(problem) == line


def test_a_reason_is_bounded() -> None:
    assert len(one_line(RuntimeError("x" * 10_000))) == 500


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        ({**WORK, "views": ["eager", "naked"]}, "unknown views ['naked']; known: graph, eager, throughput"),
        ({**WORK, "shapes": [{"op": "all_to_all", "size": 8, "dtype": "bfloat16"}]}, "unknown op 'all_to_all'"),
        ({"views": []}, "KeyError: 'shapes'"),
    ],
)
def test_work_it_does_not_know_fails_with_the_reason(
    work: dict[str, Any], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    read_fd, write_fd = os.pipe()
    assert run_rank(task(work=work), -1, write_fd) == 1
    (end,) = spoken(read_fd, write_fd)
    assert (end["event"], end["status"]) == ("end", "failed")
    assert reason in end["reason"]
    assert "Traceback" in capsys.readouterr().err


def test_an_agent_that_says_nothing_more_is_an_error() -> None:
    read_fd, write_fd = os.pipe()
    os.write(write_fd, b'{"address": "10.77.0.1", ')
    os.write(write_fd, b'"port": 43211}\n')
    assert worker._read_order(read_fd) == {"address": "10.77.0.1", "port": 43211}
    os.close(write_fd)
    with pytest.raises(EOFError, match="before it said where the store is"):
        worker._read_order(read_fd)
    os.close(read_fd)


class Collective:
    """Stands for one shape; remembers whether it was warmed and how long its chain ran."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.chain = 100
        self.calls = 0

    def restart(self) -> None:
        self.calls = 0

    def call(self) -> None:
        self.calls += 1

    def correct(self, calls: int) -> bool:
        return calls == self.calls


@pytest.mark.parametrize(("right", "exact"), [(True, True), (False, True), (True, False), (False, False)])
def test_a_cell_is_correct_only_if_check_and_measurement_both_were(right: bool, exact: bool) -> None:
    class Watch:
        def measure(self, collective: Any, view: str, plan: Any) -> tuple[list[float], bool]:
            return [float(plan.calls)], exact

    read_fd, write_fd = os.pipe()
    one = Collective(Shape("all_reduce", 1 << 20, "bfloat16"))
    work = {**WORK, "views": ["throughput", "graph", "eager"], "calls": {"eager": 7, "throughput": 6}}
    worker._measure(task(work=work), Voice(write_fd, 0.0), Watch(), one, right)  # type: ignore[arg-type]
    cells = spoken(read_fd, write_fd)
    assert [(cell["view"], cell["samples"]) for cell in cells] == [("eager", [7.0]), ("throughput", [6.0])]
    assert {cell["correct"] for cell in cells} == {right and exact}


def test_the_check_compares_after_exactly_one_call() -> None:
    one = Collective(Shape("all_reduce", 8, "bfloat16"))
    one.calls = 5
    assert worker._check(one) is True  # type: ignore[arg-type]


def test_a_phase_that_was_never_entered_has_no_time() -> None:
    read_fd, write_fd = os.pipe()
    voice = Voice(write_fd, time.monotonic())
    voice.end("ok", "")
    (end,) = spoken(read_fd, write_fd)
    assert set(end["timings_s"]) == {"fork"} and end["reason"] == ""


def test_a_long_word_goes_out_whole_through_a_small_pipe() -> None:
    read_fd, write_fd = os.pipe()
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.extend(iter(lambda: os.read(read_fd, 4096), b"")))
    reader.start()
    Voice(write_fd, 0.0).say("cell", samples=[1.25] * 100_000)
    os.close(write_fd)
    reader.join(20)
    os.close(read_fd)
    assert json.loads(b"".join(said))["samples"] == [1.25] * 100_000


def test_an_agent_that_is_gone_is_an_error_of_the_pipe() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    with pytest.raises(OSError):
        Voice(write_fd, 0.0).say("phase", phase="init", at_s=0.0)
    os.close(write_fd)


def test_only_the_first_rank_opens_the_store_and_the_others_go_where_they_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joined: list[tuple[str, int]] = []

    class Store:
        port = 40123

    monkeypatch.setattr(worker, "open_store", lambda _limit_s: Store())
    monkeypatch.setattr(worker, "join_store", lambda address, port, _limit_s: joined.append((address, port)))
    for rank, said in ((0, ["store"]), (1, [])):
        commands, orders = os.pipe()
        os.write(orders, b'{"address": "10.77.0.1", "port": 40123}\n')
        read_fd, write_fd = os.pipe()
        worker._meet(task(world=2, rank=rank), Voice(write_fd, 0.0), commands)
        assert [event["event"] for event in spoken(read_fd, write_fd)] == said
        os.close(commands)
        os.close(orders)
    assert joined == [("10.77.0.1", 40123)]


def test_a_rank_without_a_gpu_says_so_and_one_with_takes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    assert worker._device(task()) == torch.device("cpu")
    taken: list[Any] = []
    cuda = SimpleNamespace(
        device_count=lambda: 0, set_device=taken.append, Stream=lambda: "new", set_stream=taken.append
    )
    monkeypatch.setattr(torch, "cuda", cuda)
    with pytest.raises(RuntimeError, match="sees no CUDA device"):
        worker._device(task(backend="nccl"))
    cuda.device_count = lambda: 2
    assert worker._device(task(backend="nccl", local_rank=3)) == torch.device("cuda", 1)
    assert taken == [torch.device("cuda", 1), "new"], "never on the default stream"


@pytest.mark.parametrize(("ranks", "answer", "right"), [(2, 2.0, True), (2, 1.0, False), (4, 2.0, False)])
def test_the_first_all_reduce_must_count_the_ranks(
    ranks: int, answer: float, right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("torch.distributed.all_reduce", lambda one: one.fill_(answer))
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: ranks)
    if right:
        worker._connect(torch.device("cpu"))
    else:
        with pytest.raises(ArithmeticError, match=f"over {ranks} ranks gave {answer}"):
            worker._connect(torch.device("cpu"))
