"""A real agent process over its real wire; torch is a stub and its ranks, real forks, play a part named in the work."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.procfs import children, cpu_ticks, is_gone

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

ROOT = Path(__file__).parents[3]
LIMIT_S = 30.0
NONCE = "0badc0de"

DRIVER = """
import json, os, signal, sys, time
import probes.agent as agent
from probes.__main__ import run

def say(fd, event, **fields):
    os.write(fd, json.dumps({"event": event, **fields}).encode() + b"\\n")

def play(task, orders, events):
    part = task.work["part"]
    say(events, "phase", phase="init", what="", at_s=0.01)
    if part == "store":
        say(events, "store", port=40000 + task.rank)
        order = json.loads(os.read(orders, 4096))
        say(events, "cell", view="eager", op="all_reduce", size=order["port"], dtype=order["address"],
            samples=[float(task.world), float(task.local_rank)], replays=[], correct=True, in_place=True, wrong=0)
        print("log of rank", task.rank, os.environ["NCCL_ALGO"], os.environ.get("GONE"))
    say(events, "phase", phase="measure", what="", at_s=0.02)
    if part == "exit":
        return 9
    if part == "garbage" and task.rank == 0:
        os.write(events, b"Hello from a plugin\\n")
    if part in ("hang", "garbage"):
        time.sleep(600)
    if part == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if part == "mute":
        os.close(events)
        time.sleep(600)
    if part == "orphan":
        os.setpgid(0, 0) if os.getpgid(0) != os.getpid() else None
        if os.fork() == 0:
            os.setpgid(0, 0)
            os.closerange(0, 1000)
            time.sleep(600)
    if part == "uneven" and task.rank == 1:
        say(events, "phase", phase="soak", what="", at_s=0.03)
    if part == "uneven":
        time.sleep(600)
    if part == "raise":
        say(events, "end", status="failed", reason="RuntimeError: as told", timings_s={})
        return 1
    say(events, "end", status="ok", reason="", timings_s={"measure": 0.1})
    return 0

agent.run_rank = play
sys.exit(run("agent", sys.argv[1]))
"""

INHERITED = {"NCCL_IB_QPS_PER_CONNECTION": "4", "API_KEY": "secret"}

STUB = {
    "torch/__init__.py": "__version__ = '2.99.0'\nfrom . import version\n",
    "torch/version.py": "cuda = None\n",
    "torch/distributed.py": "is_available = is_gloo_available = lambda: True\nis_nccl_available = lambda: False\n",
}


class Talk:
    """One agent and the controller's end of its wire."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder), "GONE": "still here", **INHERITED}
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, NONCE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
        )
        self._buffer = b""

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def launch(self, part: str, *, ranks: int = 1, deadline_s: float = 60, **changes: Any) -> None:
        places = [{"rank": rank, "local_rank": rank} for rank in range(ranks)]
        base = {"number": 7, "backend": "gloo", "world": ranks, "env": {"NCCL_ALGO": "ring;allreduce:tree"}}
        order = {**base, "ranks": places, "unset": ["GONE"], "deadline_s": deadline_s, "work": {"part": part}}
        self.send(do="launch", **{**order, **changes})

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        prefix = f"\x1e{NONCE} ".encode()
        end = time.monotonic() + LIMIT_S
        while b"\n" not in self._buffer:
            ready = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]
            chunk = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            assert chunk, f"the agent said nothing more: {self.process.poll()}"
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        assert line.startswith(prefix), line
        message: dict[str, Any] = json.loads(line[len(prefix) :])
        return message

    def until(self, event: str, **fields: Any) -> list[dict[str, Any]]:
        """Everything up to and with the event that has these fields."""
        heard = [self.hear()]
        while not (heard[-1]["event"] == event and fields.items() <= heard[-1].items()):
            heard.append(self.hear())
        return heard

    def until_all_in(self, phase: str, *, ranks: int) -> None:
        """Until each of them told this phase: which of two ranks tells it first is the scheduler's choice."""
        told: set[int] = set()
        while len(told) < ranks:
            told.add(self.until("phase", phase=phase)[-1]["rank"])

    def leave(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(LIMIT_S)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Talk]:
    for name, text in STUB.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    talk = Talk(tmp_path)
    yield talk
    talk.process.kill()
    talk.process.wait(LIMIT_S)
    for stream in (talk.process.stdin, talk.process.stdout, talk.process.stderr):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()


def ranks_of(pid: int) -> list[int]:
    """Its children with a session of their own: those that look at the node have none, and are over soon."""
    found = []
    for child in children(pid):
        with suppress(ProcessLookupError):
            found += [child] if os.getsid(child) == child else []
    return found


def wait_for(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.005)


def done(status: str, number: int = 7) -> dict[str, Any]:
    """The last word of a launch whose ranks left nothing behind."""
    return {"event": "launch_done", "number": number, "status": status, "ended": [], "alive": []}


def done_of(heard: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {event["rank"]: event for event in heard if event["event"] == "rank_done"}


def test_hello_tells_what_is_here(agent: Talk) -> None:
    agent.send(do="hello")
    hello = agent.hear()
    assert hello.pop("import_s") >= 0
    assert hello.pop("torch_path").endswith("torch/__init__.py")
    assert hello.pop("gpus") >= -1
    assert hello.pop("hostname")
    assert isinstance(hello.pop("other_agent"), int)  # some other test's agent may run at the same time
    inherited = hello.pop("environment")
    assert inherited["NCCL_IB_QPS_PER_CONNECTION"] == "4"
    assert "API_KEY" not in inherited
    assert hello == {
        "event": "hello",
        "pid": agent.process.pid,
        "python": sys.version.split()[0],
        "executable": sys.executable,
        "torch": "2.99.0",
        "torch_error": "",
        "cuda": None,
        "nccl": None,
        "backends": ["gloo"],
    }


def test_without_torch_hello_has_the_reason_and_a_launch_fails_with_it(agent: Talk, tmp_path: Path) -> None:
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('no torch in this image')")
    agent.send(do="hello")
    hello = agent.hear()
    assert (hello["torch"], hello["torch_error"]) == (None, "ImportError: no torch in this image")
    agent.launch("store", ranks=2)
    heard = agent.until("launch_done")
    assert [end["reason"] for end in done_of(heard).values()] == [
        "no torch here: ImportError: no torch in this image"
    ] * 2
    assert heard[-1] == done("failed")
    assert agent.leave() == 0


def test_a_backend_torch_lacks_fails_the_launch(agent: Talk) -> None:
    agent.launch("store", backend="nccl")
    end = done_of(agent.until("launch_done"))[0]
    assert (end["status"], end["reason"]) == ("failed", "torch 2.99.0 has no backend 'nccl', only gloo")


def test_a_launch_from_store_to_done(agent: Talk) -> None:
    agent.launch("store", ranks=2)
    heard = agent.until("store")
    heard += agent.until("store")
    assert next(event for event in heard if event["event"] == "store").keys() == {"event", "number", "port"}
    agent.send(do="join", number=7, address="10.77.0.1", port=43211)
    heard += agent.until("launch_done")
    cells = [event for event in heard if event["event"] == "cell"]
    assert {(cell["rank"], *cell["samples"]) for cell in cells} == {(0, 2.0, 0.0), (1, 2.0, 1.0)}
    assert {(cell["dtype"], cell["size"], cell["number"]) for cell in cells} == {("10.77.0.1", 43211, 7)}
    ends = done_of(heard)
    assert {end["status"] for end in ends.values()} == {"ok"}
    assert ends[1]["log"] == "log of rank 1 ring;allreduce:tree None\n"
    assert set(ends[0]["timings_s"]) == {"fork", "measure"}
    assert heard[-1] == done("ok")
    phases = [(event["rank"], event["phase"]) for event in heard if event["event"] == "phase"]
    assert sorted(phases) == [(0, "init"), (0, "measure"), (1, "init"), (1, "measure")]


def test_launches_follow_each_other(agent: Talk) -> None:
    for number in (1, 2, 3):
        agent.launch("ok", number=number)
        assert agent.until("launch_done")[-1] == done("ok", number)
    assert children(agent.process.pid) == []


def test_a_launch_that_needs_more_memory_than_there_is_never_starts(agent: Talk) -> None:
    agent.launch("ok", ranks=2, memory={"need": 1 << 60, "after_launch": 0, "while_running": 0})
    ends = done_of(agent.until("launch_done", status="failed"))
    assert {(end["status"], end["phase"]) for end in ends.values()} == {("failed", "fork")}
    assert all(end["reason"].startswith("not started: ") for end in ends.values())


def test_ranks_on_a_node_that_runs_short_of_memory_are_ended(agent: Talk) -> None:
    agent.launch("hang", memory={"need": 0, "after_launch": 0, "while_running": 1 << 60})
    end = done_of(agent.until("launch_done", status="failed"))[0]
    assert (end["status"], end["reason"]) == ("failed", "rank 0 was ended: this node runs short of memory")
    assert children(agent.process.pid) == []


@pytest.mark.parametrize(
    ("part", "status", "reason"),
    [
        ("exit", "died", "rank 0 exited with status 9 in phase measure"),
        ("raise", "failed", "RuntimeError: as told"),
    ],
)
def test_ways_to_fail(agent: Talk, part: str, status: str, reason: str) -> None:
    agent.launch(part)
    heard = agent.until("launch_done")
    end = done_of(heard)[0]
    assert (end["status"], end["reason"], end["phase"]) == (status, reason, "measure")
    assert heard[-1]["status"] == "failed"


def test_a_killed_rank_died(agent: Talk) -> None:
    agent.launch("hang")
    agent.until("phase", phase="measure")
    (rank,) = ranks_of(agent.process.pid)
    os.kill(rank, signal.SIGKILL)
    assert done_of(agent.until("launch_done"))[0]["reason"] == "rank 0 was killed by SIGKILL in phase measure"


def test_garbage_ends_that_rank_and_the_deadline_the_other(agent: Talk) -> None:
    agent.launch("garbage", ranks=2, deadline_s=3.0)
    heard = agent.until("launch_done")
    ends = done_of(heard)
    assert (ends[0]["status"], ends[1]["status"]) == ("garbage", "timeout")
    assert "Hello from a plugin" in ends[0]["reason"]
    assert heard[-1]["status"] == "failed"


def test_the_deadline_takes_the_stack_and_kills(agent: Talk) -> None:
    began = time.monotonic()
    agent.launch("hang", deadline_s=2.5)
    end = done_of(agent.until("launch_done", status="timeout"))[0]
    assert 2.5 <= time.monotonic() - began < 60
    assert end["reason"].startswith("rank 0 was in phase measure at the deadline of 2.5 s, in play (<string>:")
    assert end["stack"][-1].endswith("in play")
    assert children(agent.process.pid) == []


def test_a_stopped_rank_is_named_tells_where_it_stands_and_is_killed(agent: Talk) -> None:
    agent.launch("stop", deadline_s=2.5)
    end = done_of(agent.until("launch_done", status="timeout"))[0]
    told = "rank 0 was in phase measure at the deadline of 2.5 s: stopped (state T)"
    assert end["reason"].startswith(told)
    assert children(agent.process.pid) == []


def test_a_rank_too_long_in_one_phase_ends_them_all_with_their_stacks(agent: Talk) -> None:
    agent.launch("uneven", ranks=2, deadline_s=60, work={"part": "uneven", "deadlines": {"soak": 2}})
    heard = agent.until("launch_done")
    ends = done_of(heard)
    expired = next(event for event in heard if event["event"] == "expired")
    assert expired == {"event": "expired", "number": 7, "reason": "rank 1 was overdue in phase soak"}
    assert ends[1]["reason"].startswith("rank 1 was in phase soak at its limit of 2 s, in play (<string>:")
    assert ends[0]["reason"].startswith(
        "rank 0 was stopped in phase measure: rank 1 was overdue in phase soak, in play (<string>:"
    )
    assert (ends[0]["status"], ends[1]["status"], heard[-1]["status"]) == ("stopped", "timeout", "timeout")
    assert all(end["stack"] for end in ends.values())
    agent.launch("ok", number=8)
    assert agent.until("launch_done")[-1] == done("ok", 8)


def test_stop_with_stacks_lets_each_rank_tell_where_it_stands(agent: Talk) -> None:
    agent.launch("hang", ranks=2)
    agent.until_all_in("measure", ranks=2)
    agent.send(do="stop", number=7, stacks=True)
    ends = done_of(agent.until("launch_done"))
    assert all(end["stack"][-1].endswith("in play") for end in ends.values())
    assert all(
        end["reason"].startswith(f"rank {rank} was stopped in phase measure, in play") for rank, end in ends.items()
    )


def test_limits_that_are_none_end_the_agent(agent: Talk) -> None:
    agent.launch("ok", work={"part": "ok", "deadlines": {"lunch": 1}})
    assert agent.process.wait(LIMIT_S) == 2
    assert agent.process.stderr is not None
    assert b"no phases lunch" in agent.process.stderr.read()


def test_what_a_rank_leaves_behind_is_ended_with_its_launch(agent: Talk) -> None:
    agent.launch("orphan")
    heard = agent.until("launch_done")
    (orphan,) = heard[-1]["ended"]
    assert heard[-1] == {**done("ok"), "ended": [orphan]}
    assert is_gone(orphan)
    assert children(agent.process.pid) == []


def test_each_rank_is_told_by_its_number_and_start(agent: Talk) -> None:
    agent.launch("hang", ranks=2)
    heard = agent.until("phase", phase="measure")
    born = [event for event in heard if event["event"] == "forked"]
    assert [event["rank"] for event in born] == [0, 1]
    assert {event["pid"] for event in born} <= set(children(agent.process.pid))
    assert all(event["start"] > 0 and event["number"] == 7 for event in born)


def test_a_launch_tells_what_the_node_was_meanwhile(agent: Talk) -> None:
    agent.launch("ok")
    heard = agent.until("launch_done")
    assert [event["event"] for event in heard[-2:]] == ["state", "launch_done"]
    state = heard[-2]
    assert state["number"] == 7 and state["load_1min"] >= 0
    assert set(state) >= {"sm_clock_mhz", "throttled", "other_gpu_processes", "port_bytes", "port_errors"}


def test_an_agent_ends_what_one_before_it_left(agent: Talk) -> None:
    code = "import os, time; os.setsid(); print(flush=True); time.sleep(600)"
    left = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert left.stdout is not None
    left.stdout.readline()
    start = int(Path(f"/proc/{left.pid}/stat").read_text().rpartition(")")[2].split()[19])
    agent.send(do="leftover", ranks=[[left.pid, start - 1]])
    assert agent.hear() == {"event": "leftover", "ended": [], "alive": []}
    assert left.poll() is None, "its number is ours, its start is not"
    agent.send(do="leftover", ranks=[[left.pid, start]])
    assert agent.hear() == {"event": "leftover", "ended": [left.pid], "alive": []}
    assert left.wait(LIMIT_S) == -signal.SIGKILL
    left.stdout.close()


def test_stop_ends_the_ranks_of_that_launch_alone(agent: Talk) -> None:
    agent.launch("hang", number=1, ranks=2)
    agent.until("phase", phase="measure", number=1)
    agent.launch("hang", number=2)
    agent.until("phase", phase="measure", number=2)
    agent.send(do="stop", number=1)
    heard = agent.until("launch_done")
    assert heard[-1] == done("stopped", 1)
    assert {end["status"] for end in done_of(heard).values()} == {"stopped"}
    assert len(ranks_of(agent.process.pid)) == 1


def test_words_about_a_launch_that_is_over_change_nothing(agent: Talk) -> None:
    agent.send(do="stop", number=1)
    agent.send(do="join", number=1, address="10.77.0.1", port=1)
    agent.send(do="hello")
    assert agent.hear()["event"] == "hello"


def test_the_end_of_stdin_leaves_no_process(agent: Talk) -> None:
    agent.launch("hang", ranks=3)
    heard = agent.until("phase", phase="measure")
    ranks = [event["pid"] for event in heard if event["event"] == "forked"]
    assert len(ranks) == 3
    began = time.monotonic()
    assert agent.leave() == 0
    assert time.monotonic() - began < 30
    assert all(is_gone(rank) for rank in ranks)


def test_ranks_of_a_killed_agent_are_killed(agent: Talk) -> None:
    agent.launch("hang", ranks=2)
    heard = agent.until("phase", phase="measure")
    ranks = [event["pid"] for event in heard if event["event"] == "forked"]
    assert len(ranks) == 2
    agent.process.kill()
    wait_for(lambda: all(is_gone(rank) for rank in ranks))


def test_a_controller_that_no_longer_reads_is_gone(agent: Talk) -> None:
    agent.launch("hang")
    agent.until("phase", phase="measure")
    (rank,) = ranks_of(agent.process.pid)
    assert agent.process.stdout is not None
    agent.process.stdout.close()
    agent.send(do="stop", number=7)
    assert agent.process.wait(LIMIT_S) == 0
    assert is_gone(rank)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"not json\n", "agent: Expecting value"),
        (b'{"do": "reboot"}\n', "agent: no such request: {'do': 'reboot'}"),
        (b'["hello"]\n', "agent: no such request"),
        (b'{"do": "launch", "number": 1}\n', "agent: request launch lacks or misuses 'deadline_s'"),
        (b'{"do": "join", "number": "seven"}\n', "agent: invalid literal"),
    ],
)
def test_words_that_are_no_request_end_the_agent_and_its_ranks(agent: Talk, line: bytes, says: str) -> None:
    agent.launch("hang")
    agent.until("phase", phase="measure")
    (rank,) = ranks_of(agent.process.pid)
    assert agent.process.stdin is not None
    agent.process.stdin.write(line)
    agent.process.stdin.flush()
    assert agent.process.wait(LIMIT_S) == 2
    assert agent.process.stderr is not None
    assert agent.process.stderr.read().decode().startswith(says)
    assert is_gone(rank)


def test_a_number_in_use_is_refused(agent: Talk) -> None:
    agent.launch("hang")
    agent.launch("hang")
    assert agent.process.wait(LIMIT_S) == 2


def test_ctrl_c_is_left_to_the_controller(agent: Talk) -> None:
    agent.launch("hang")
    agent.until("phase", phase="measure")
    agent.process.send_signal(signal.SIGINT)
    agent.send(do="stop", number=7)
    assert agent.until("launch_done")[-1]["status"] == "stopped"


def test_an_idle_agent_sleeps(agent: Talk) -> None:
    agent.send(do="hello")
    agent.hear()
    spent = [cpu_ticks(agent.process.pid)]
    select.select([], [], [], 0.5)
    spent.append(cpu_ticks(agent.process.pid))
    assert spent[1] - spent[0] <= 1


def test_a_rank_that_closed_its_pipe_costs_nothing(agent: Talk) -> None:
    agent.launch("mute", deadline_s=2)
    agent.until("phase", phase="measure")
    spent = cpu_ticks(agent.process.pid)
    end = done_of(agent.until("launch_done", status="timeout"))[0]
    assert "in play" in end["reason"]
    assert cpu_ticks(agent.process.pid) - spent < 40, "of some 200 ticks"
