"""Two real agents, real torch, gloo over loopback: what a launch gives when all is well and when a rank is not.

Each agent is loaded once for the whole file. A launch whose environment holds SPOIL makes one rank misbehave: that is
done by a subclass of the collective inside these agents, not by the probes.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.procfs import children, is_gone

pytestmark = pytest.mark.lab

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0
SIZES = (8, 4096, 20480, 1 << 20)
OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv")
DTYPES = ("bfloat16", "float16", "float32", "int32")
NONCE = "c0ffee"

DRIVER = """
import os, signal, sys, time
import probes.agent as agent, probes.collectives as collectives
from probes.__main__ import run

place = {}
real = agent.run_rank

def run_rank(task, orders, events):
    place.update(rank=task.rank, events=events, calls=0)
    return real(task, orders, events)

class Spoiled(collectives.Collective):
    since = 0
    def restart(self):
        self.since = 0
        super().restart()
    def call(self):
        super().call()
        self.since += 1
        place["calls"] += 1
        spoil = os.environ.get("SPOIL", "") if place["rank"] == 1 else ""
        if spoil == "data" or (spoil == "late data" and self.since > 3):
            self._received[(self._made - 1) % len(self._slots), -1:].mul_(1.5)
        if place["calls"] == 30:
            if spoil in ("SIGKILL", "SIGSTOP"):
                os.kill(os.getpid(), getattr(signal, spoil))
            if spoil == "sleep":
                time.sleep(600)
            if spoil == "garbage":
                os.write(place["events"], b"Hello from a plugin\\n")
                time.sleep(600)

agent.run_rank, collectives.Collective = run_rank, Spoiled
sys.exit(run("agent", sys.argv[1]))
"""


class Node:
    """One agent of ours, as a controller would hold it."""

    def __init__(self) -> None:
        argv = [sys.executable, "-c", DRIVER, NONCE]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        self.heard: list[dict[str, Any]] = []
        self._buffer = b""

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def fileno(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def pump(self) -> list[dict[str, Any]]:
        chunk = os.read(self.fileno(), 65536)
        assert chunk, "the agent ended"
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        messages = [json.loads(line.removeprefix(f"\x1e{NONCE} ".encode())) for line in lines]
        self.heard += messages
        return messages


class Pair:
    """Two agents and launches over both."""

    def __init__(self) -> None:
        self.nodes = (Node(), Node())
        self.number = 0
        for node in self.nodes:
            node.send({"do": "hello"})
        self.until(lambda: all(node.heard for node in self.nodes))

    def launch(
        self,
        work: dict[str, Any],
        *,
        each: int = 1,
        deadline_s: float = 40,
        port: int = 0,
        stored: bool = True,
        **env: str,
    ) -> None:
        """Start `each` ranks on both nodes; node 0 has rank 0."""
        self.number += 1
        for index, node in enumerate(self.nodes):
            node.heard.clear()
            places = [{"rank": index + 2 * local, "local_rank": local} for local in range(each)]
            order = {"do": "launch", "number": self.number, "backend": "gloo", "world": 2 * each, "ranks": places}
            environment = {"GLOO_SOCKET_IFNAME": "lo", **env}
            node.send({**order, "env": environment, "unset": [], "deadline_s": deadline_s, "work": work})
        if not stored:
            return
        self.until(lambda: bool(self.events("store")))
        (store,) = self.events("store")
        for node in self.nodes:
            node.send({"do": "join", "number": self.number, "address": "127.0.0.1", "port": port or store["port"]})

    def until(self, reached: Callable[[], bool]) -> None:
        end = time.monotonic() + LIMIT_S
        while not reached():
            ready = select.select(self.nodes, [], [], max(0.0, end - time.monotonic()))[0]
            assert ready, "nothing more was heard"
            for node in ready:
                node.pump()

    def events(self, name: str) -> list[dict[str, Any]]:
        return [event for node in self.nodes for event in node.heard if event["event"] == name]

    def finish(self) -> dict[int, dict[str, Any]]:
        """The `rank_done` of every rank, once both nodes are done."""
        self.until(lambda: len(self.events("launch_done")) == 2)
        return {event["rank"]: event for event in self.events("rank_done")}

    def in_phase(self, phase: str, ranks: int = 2) -> None:
        self.until(lambda: len({e["rank"] for e in self.events("phase") if e["phase"] == phase}) == ranks)

    def end(self) -> None:
        for node in self.nodes:
            node.process.kill()
            node.process.wait()
            for stream in (node.process.stdin, node.process.stdout):
                assert stream is not None
                stream.close()


@pytest.fixture(scope="module")
def shared_pair() -> Iterator[Pair]:
    pytest.importorskip("torch", reason="ranks need torch")
    made = Pair()
    yield made
    made.end()


@pytest.fixture
def pair(shared_pair: Pair) -> Pair:
    """The agents are used again: no launch may have left a process."""
    assert all(children(node.process.pid) == [] for node in shared_pair.nodes)
    return shared_pair


def work_of(
    *sizes: int, dtype: str = "bfloat16", ops: tuple[str, ...] = ("all_reduce", "all_gather"), **changes: Any
) -> dict[str, Any]:
    shapes = [{"op": op, "size": size, "dtype": dtype} for op in ops for size in sizes]
    counts = {"calls": {"eager": 12, "throughput": 5}, "replays": 2, "warmup": 3}
    return {"shapes": shapes, "views": ["graph", "eager", "throughput"], **counts, **changes}


LONG = work_of(4096, calls={"eager": 3000}, warmup=20)


def test_cells_of_every_shape_and_possible_view(pair: Pair) -> None:
    pair.launch(work_of(*SIZES))
    ends = pair.finish()
    assert {end["status"] for end in ends.values()} == {"ok"}, ends
    cells = pair.events("cell")
    seen = {(cell["rank"], cell["view"], cell["op"], cell["size"]): cell for cell in cells}
    expected = {(rank, "eager", op, size) for rank in (0, 1) for op in ("all_reduce", "all_gather") for size in SIZES}
    expected |= {(rank, "throughput", op, 1 << 20) for rank in (0, 1) for op in ("all_reduce", "all_gather")}
    assert set(seen) == expected, "no graph on gloo, no throughput below 1 MiB"
    assert len(cells) == len(seen)
    assert all(cell["correct"] is True and cell["dtype"] == "bfloat16" for cell in cells)
    assert all(len(cell["samples"]) == (12 if cell["view"] == "eager" else 3) for cell in cells)
    assert all(0 < sample < 30e6 for cell in cells for sample in cell["samples"])
    phases = [event["phase"] for event in pair.nodes[1].heard if event["event"] == "phase"]
    assert list(dict.fromkeys(phases)) == ["rendezvous", "init", "connect", "check", "measure", "done"]
    assert ends[0]["timings_s"].keys() == {"fork", "rendezvous", "init", "connect", "check", "measure", "done"}
    overhead_s = sum(spent for phase, spent in ends[0]["timings_s"].items() if phase != "measure")
    assert overhead_s < 30, "a warm launch is little more than its measuring"


@pytest.mark.parametrize("each", [1, 2])
def test_every_op_and_form_that_gloo_has_is_bit_exact_in_every_dtype(pair: Pair, each: int) -> None:
    """In real gloo, two and four ranks; odd sizes do not divide."""
    forms = [(op, True) for op in OPS[:4]] + [(op, False) for op in OPS if op not in ("all_reduce", "broadcast")]
    shapes = [
        {"op": op, "size": size, "dtype": dtype, "in_place": in_place}
        for dtype in DTYPES
        for op, in_place in forms
        for size in (2, 20490)
    ]
    pair.launch({**work_of(), "shapes": shapes}, each=each)
    ends = pair.finish()
    assert {end["status"] for end in ends.values()} == {"ok"}, ends
    cells = pair.events("cell")
    assert len(cells) == 2 * each * len(shapes)
    seen = {(cell["dtype"], cell["op"], cell["in_place"]) for cell in cells}
    assert seen == {(dtype, *form) for dtype in DTYPES for form in forms}
    assert all(cell["correct"] is True and cell["wrong"] == 0 for cell in cells)


@pytest.mark.parametrize("op", ["all_reduce", "broadcast"])
def test_a_form_gloo_has_not_is_refused_in_words(pair: Pair, op: str) -> None:
    pair.launch({**work_of(), "shapes": [{"op": op, "size": 8, "dtype": "int32", "in_place": False}]}, stored=False)
    ends = pair.finish()
    assert {(end["status"], end["phase"]) for end in ends.values()} == {("failed", "fork")}
    assert all(f"torch.distributed has {op} in place only, and gloo no" in end["reason"] for end in ends.values())


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_more_ranks_and_chains_that_must_restart(pair: Pair, dtype: str) -> None:
    """World 6 stays exact for few calls only, so every series is cut; odd sizes do not divide."""
    pair.launch(work_of(2, 50, 20490, dtype=dtype), each=3)
    ends = pair.finish()
    assert sorted(ends) == [0, 1, 2, 3, 4, 5]
    assert {end["status"] for end in ends.values()} == {"ok"}, ends
    assert len(pair.events("cell")) == 6 * 2 * 3
    assert all(cell["correct"] for cell in pair.events("cell"))


def test_a_proof_is_short(pair: Pair) -> None:
    pair.launch(work_of(8, 4096, proof=True, calls={"eager": 500}))
    assert {end["status"] for end in pair.finish().values()} == {"ok"}
    assert all(len(cell["samples"]) == 1 and cell["correct"] for cell in pair.events("cell"))


@pytest.mark.parametrize(
    ("spoil", "op", "right"),
    [
        ("data", "all_reduce", False),
        ("data", "all_gather", False),
        ("late data", "all_reduce", False),
        ("", "all_reduce", True),
    ],
)
def test_one_wrong_element_on_one_rank_is_told(pair: Pair, spoil: str, op: str, right: bool) -> None:
    """Late: only after the check, in the middle of the timed calls."""
    pair.launch(work_of(8, 20480, ops=(op,), views=["eager"]), SPOIL=spoil)
    assert {end["status"] for end in pair.finish().values()} == {"ok"}
    cells = [cell for cell in pair.events("cell") if cell["rank"] == 1]
    assert [cell["correct"] for cell in cells] == [right] * 2


def test_a_bit_flipped_on_one_rank_in_the_middle_of_a_series_is_told_whatever_the_op(pair: Pair) -> None:
    """By that rank alone; a sum in place carries it to its peer."""
    plant = {"flip": {"rank": 1, "call": 7}, "size": 20480}
    shapes = [{"op": op, "size": size, "dtype": "bfloat16"} for op in OPS for size in (8, 20480)]
    pair.launch({**work_of(), "shapes": shapes, "plant": plant})
    assert {end["status"] for end in pair.finish().values()} == {"ok"}
    wrong = {(cell["op"], cell["rank"], cell["size"]) for cell in pair.events("cell") if not cell["correct"]}
    assert wrong == {(op, 1, 20480) for op in OPS} | {("all_reduce", 0, 20480)}


def test_a_spin_planted_on_one_rank_makes_every_call_of_both_longer(pair: Pair) -> None:
    work = work_of(8, ops=("all_reduce",), views=["eager"], plant={"spin_us": 30_000, "rank": 1})
    pair.launch(work)
    assert {end["status"] for end in pair.finish().values()} == {"ok"}
    for cell in pair.events("cell"):
        assert sorted(cell["samples"])[len(cell["samples"]) // 2] > 25_000, cell


def test_gates_and_products_lie_between_the_calls(pair: Pair) -> None:
    pair.launch(work_of(4096, views=["eager"], skew=True, gemm={"m": 4, "n": 32, "k": 16}))
    assert {end["status"] for end in pair.finish().values()} == {"ok"}
    skews = pair.events("skew")
    assert {(skew["rank"], skew["op"]) for skew in skews} == {(r, op) for r in (0, 1) for op in OPS[:2]}
    assert all(len(skew["waits"]) == len(skew["gated"]) == 12 for skew in skews)
    assert all(cell["correct"] for cell in pair.events("cell"))


def test_a_soak_lasts_as_long_as_asked_and_compares_all_of_it(pair: Pair) -> None:
    pair.launch(work_of(8, 4096, views=["eager"], soak_s=1.2))
    ends = pair.finish()
    assert {end["status"] for end in ends.values()} == {"ok"}, ends
    assert 1.0 < ends[0]["timings_s"]["soak"] < 10
    soaks = pair.events("soak")
    assert len(soaks) == 2 * 4
    assert all(soak["wrong"] == 0 and soak["calls"] >= 24 for soak in soaks)
    pair.launch(work_of(8, views=["eager"], soak_s=0.2, plant={"flip": {"rank": 0, "call": 2}, "view": "soak"}))
    pair.finish()
    assert all(cell["correct"] for cell in pair.events("cell"))
    assert any(soak["wrong"] for soak in pair.events("soak"))


def test_a_rank_that_is_killed(pair: Pair) -> None:
    pair.launch(LONG, SPOIL="SIGKILL")
    ends = pair.finish()
    where = "phase measure (all_reduce 4096 B bfloat16, eager)"
    assert (ends[1]["status"], ends[1]["reason"]) == ("died", f"rank 1 was killed by SIGKILL in {where}")
    assert ends[0]["status"] == "failed", "its peer notices"
    assert ends[0]["phase"] == "measure"
    assert "Traceback" in ends[0]["log"]
    assert "\n" not in ends[0]["reason"]
    assert {done["status"] for done in pair.events("launch_done")} == {"failed"}


def test_a_rank_that_is_stopped(pair: Pair) -> None:
    pair.launch(LONG, SPOIL="SIGSTOP", deadline_s=5)
    ends = pair.finish()
    told = "rank 1 was in phase measure (all_reduce 4096 B bfloat16, eager) at the deadline of 5 s: stopped (state T)"
    assert ends[1]["reason"].startswith(told)
    assert {end["status"] for end in ends.values()} == {"timeout"}
    assert ends[0]["reason"].startswith(
        # the second where the end of its peer, whose deadline is the same, reached it first
        (
            "rank 0 was in phase measure (all_reduce 4096 B bfloat16, eager) at the deadline of 5 s, in ",
            "rank 0 was in phase measure (all_reduce 4096 B bfloat16, eager) at the deadline of 5 s, and",
        )
    )


def test_a_phase_has_a_limit_of_its_own_a_hang_leaves_its_stack_and_the_next_launch_is_whole(pair: Pair) -> None:
    pair.launch({**LONG, "deadlines": {"measure": 3}}, SPOIL="sleep", deadline_s=40)
    ends = pair.finish()
    assert {event["reason"] for event in pair.events("expired")} <= {
        f"rank {rank} was overdue in phase measure (all_reduce 4096 B bfloat16, eager)" for rank in (0, 1)
    }
    assert {end["status"] for end in ends.values()} == {"timeout"}
    assert all("at its limit of 3 s" in end["reason"] and end["stack"] for end in ends.values())
    assert ends[1]["reason"].endswith(", in call (<string>:" + ends[1]["reason"].rpartition(":")[2])
    assert any("probes/worker.py" in line for line in ends[0]["stack"]), "where its peer waits"
    pair.launch(work_of(8))
    assert {end["status"] for end in pair.finish().values()} == {"ok"}


def test_a_rank_whose_pipe_carries_garbage(pair: Pair) -> None:
    pair.launch(LONG, SPOIL="garbage", deadline_s=20)
    ends = pair.finish()
    assert ends[1]["status"] == "garbage"
    assert "Hello from a plugin" in ends[1]["reason"]
    assert ends[0]["status"] == "failed"


def test_stop_in_the_middle(pair: Pair) -> None:
    pair.launch(work_of(4096, calls={"eager": 3_000_000}, budget_bytes=1 << 50))
    pair.in_phase("measure")
    for node in pair.nodes:
        node.send({"do": "stop", "number": pair.number})
    assert pair.finish().keys() == {0, 1}
    assert pair.finish()[0]["status"] == "stopped"


def test_an_interface_that_is_not_there_fails_with_the_reason(pair: Pair) -> None:
    pair.launch(work_of(8), deadline_s=20, GLOO_SOCKET_IFNAME="nosuch0")
    ends = pair.finish()
    assert ends[0]["status"] in ("failed", "timeout")
    assert any("nosuch0" in end["reason"] for end in ends.values())
    assert {end["phase"] for end in ends.values()} <= {"init", "rendezvous"}


def test_a_store_that_does_not_answer_is_waited_for_until_the_deadline(pair: Pair) -> None:
    pair.launch(work_of(8), deadline_s=2, port=1)
    ends = pair.finish()
    assert [(end["status"], end["phase"]) for _, end in sorted(ends.items())] == [
        ("timeout", "init"),
        ("timeout", "rendezvous"),
    ]
    assert ", in join_store (rendezvous.py:" in ends[1]["reason"]


def test_the_agents_have_touched_no_cuda_and_run_no_thread(pair: Pair) -> None:
    for node in pair.nodes:
        assert "libcuda.so" not in Path(f"/proc/{node.process.pid}/maps").read_text()
        assert len(list(Path(f"/proc/{node.process.pid}/task").iterdir())) == 1


def test_the_end_of_stdin_and_a_killed_agent_leave_no_rank(pair: Pair) -> None:
    """The last one: these agents are gone after it."""
    pair.launch(work_of(4096, calls={"eager": 3_000_000}, budget_bytes=1 << 50))
    pair.in_phase("measure")
    ranks = [event["pid"] for event in pair.events("forked")]
    assert len(ranks) == 2
    assert pair.nodes[0].process.stdin is not None
    pair.nodes[0].process.stdin.close()
    assert pair.nodes[0].process.wait(LIMIT_S) == 0
    os.kill(pair.nodes[1].process.pid, signal.SIGKILL)
    end = time.monotonic() + LIMIT_S
    while not all(is_gone(rank) for rank in ranks) and time.monotonic() < end:
        time.sleep(0.005)
    assert all(is_gone(rank) for rank in ranks)
