"""Ranks that die, hang or lose their agent in the middle of a launch: told right, and the next launch is whole."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import pytest

from fabricdoc.bench import Agents, base_candidate, grid_shapes, make_plan
from fabricdoc.bench.launch import Place, order_for, run_launch
from fabricdoc.bench.outcome import Outcome
from fabricdoc.fabric import map_cables, rails_of, scan
from fabricdoc.lab import Lab
from fabricdoc.model.run import Launch, Plan, Rank
from fabricdoc.transport import NodeSpec
from tests.lab.cabling import CUT, LINK
from tests.lab.conftest import Inside
from tests.procfs import children_if_alive, cpu_ticks

HUGE = 1 << 50
MENDED = LINK + "ip.tc('del', index=at, handle=0x10000, parent=0xFFFFFFFF)"

pytestmark = [pytest.mark.lab, pytest.mark.timeout(180)]


@dataclass
class Bench:
    """A long launch that faults can be put into, and the agents that run it."""

    agents: Agents
    plan: Plan
    master: str
    port_of_beta: str
    number: int = 0

    def launch(self, *, size: int = 8 << 20, limits: Mapping[str, float] | None = None, **env: str) -> Launch:
        self.number += 1
        shapes = grid_shapes([size])
        plan = self.plan.model_copy(update={"shapes": shapes, "launch_deadline_s": 40.0})
        base = plan.candidates[0]
        if env:
            base = base.model_copy(update={"node_variables": {}, "variables": {**base.variables, **env}})
            plan = plan.model_copy(update={"candidates": (base,)})
        struck = size > 8 and limits  # while it measures: it must still be at it then
        long = {"calls": {"eager": 3000}, "budget_bytes": 1 << 36} if struck else {}
        extra = {"deadlines": limits or {}, **long}
        return run_launch(self.agents, plan, base, Place(self.number, "search", 1, 0), self.master, extra)[0]

    def is_whole(self) -> bool:
        """Whether the next launch runs as if nothing had been, and no process of the last is left on any node."""
        assert all(children_if_alive(self.agent_pid(node)) == [] for node in self.agents.hello)
        launch = self.launch(size=8)
        assert launch.status == "ok", launch.reason
        return len(launch.states) == 2

    def agent_pid(self, node: str) -> int:
        return int(self.agents.hello[node]["pid"])


@pytest.fixture(scope="module")
def bench(lab: Lab) -> Iterator[Bench]:
    pytest.importorskip("torch", reason="a bench launch needs torch")
    specs = [NodeSpec(name=n.name, target=n.target, ports=n.ports) for n in lab.nodes]
    fabric = map_cables(specs, scan(specs, deadline_s=10))
    rails = rails_of(fabric)
    names = [node.name for node in fabric.nodes]
    plan = make_plan(
        backend="gloo",
        ranks=[Rank(rank=i, node=name, local_rank=0) for i, name in enumerate(names)],
        candidates=[base_candidate("gloo", rails, names, single=True)],
        shapes=grid_shapes([8]),
        blocks=1,
        seed=1,
        profile="dense-small-tp2",
        objective="mix",
    )
    with Agents(specs) as agents:
        yield Bench(agents, plan, rails[0].port(names[0]).ip or "", rails[0].port("beta").netdev)


def strike(pid: int, blow: Callable[[int], None]) -> threading.Thread:
    """Wait for the first child of `pid` (a rank process) to live a moment, then strike it."""

    def watch() -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for rank in children_if_alive(pid):
                if _cpu_ticks(rank) > 40:
                    blow(rank)
                    return
            time.sleep(0.02)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def _cpu_ticks(pid: int) -> int:
    try:
        return cpu_ticks(pid)
    except OSError:
        return 0


def test_a_rank_that_is_killed_is_named_and_the_next_launch_is_whole(bench: Bench) -> None:
    thread = strike(bench.agent_pid("beta"), lambda pid: os.kill(pid, signal.SIGKILL))
    launch = bench.launch(limits={"measure": 30})
    thread.join(5)
    assert launch.status == "failed"
    assert launch.rank == 1
    assert "SIGKILL" in launch.reason
    assert bench.launch(size=8).status == "ok"


def test_a_hang_ends_at_the_limit_of_its_phase_with_every_ranks_stack(bench: Bench) -> None:
    thread = strike(bench.agent_pid("beta"), lambda pid: os.kill(pid, signal.SIGSTOP))
    launch = bench.launch(limits={"measure": 4})
    thread.join(5)
    assert (launch.status, launch.phase, launch.rank) == ("timeout", "measure", 1)
    assert "(all_reduce 8388608 B bfloat16, " in launch.reason
    assert "at its limit of 4 s" in launch.reason
    assert "stopped (state T)" in launch.reason
    told = {stack.rank: stack.lines for stack in launch.stacks}
    assert any("worker.py" in line for line in told[0]), "the one that waits; a stopped one may not get to it"
    assert bench.is_whole()


def test_a_link_cut_in_one_direction_hangs_until_the_limit_and_works_again_when_it_is_whole(
    bench: Bench, lab: Lab, inside: Inside
) -> None:
    node, port = next(node for node in lab.nodes if node.name == "beta"), bench.port_of_beta
    thread = strike(bench.agent_pid("beta"), lambda _pid: inside(node.pid, CUT, port))
    launch = bench.launch(limits={"measure": 5})
    thread.join(5)
    try:
        assert launch.status == "timeout", launch.reason
        assert launch.phase == "measure"
        assert "at its limit of 5 s" in launch.reason
        assert [stack.rank for stack in launch.stacks] == [0, 1]
        unmet = bench.launch(size=8, limits={"rendezvous": 3})
        assert (unmet.status, unmet.phase) == ("timeout", "rendezvous")
        assert "at its limit of 3 s" in unmet.reason
    finally:
        assert inside(node.pid, MENDED, port).returncode == 0
    assert bench.is_whole()


def test_the_memory_floor_refuses_before_a_launch_and_ends_one_that_runs(bench: Bench) -> None:
    """On that node alone, in words; the next launch is whole."""
    order = order_for(bench.plan, bench.plan.candidates[0], Place(1, "search", 1, 0), bench.master)

    def with_memory(**limits: int) -> Outcome:
        bench.number += 1
        return bench.agents.launch(replace(order, number=bench.number, memory={"alpha": {}, "beta": limits}))

    refused = with_memory(need=HUGE, after_launch=1)
    assert (refused.ends[1].status, refused.ends[1].phase) == ("failed", "fork")
    assert "must stay free" in refused.ends[1].reason
    assert "short of memory" in with_memory(while_running=HUGE).ends[1].reason
    assert {end.status for end in with_memory(need=1, after_launch=1).ends.values()} == {"ok"}


def test_both_nodes_tell_what_their_ports_carried_meanwhile(bench: Bench) -> None:
    """A message of 8 MiB crosses the first rail many times; the other rail carries next to nothing."""
    launch = bench.launch()
    assert launch.status == "ok", launch.reason
    states = {state.node: state for state in launch.states}
    assert set(states) == {"alpha", "beta"}
    beta = states["beta"]
    sent, received = beta.port_bytes[bench.port_of_beta]
    assert min(sent, received) > 20 * (8 << 20)
    assert all(max(moved) < 8 << 20 for port, moved in beta.port_bytes.items() if port != bench.port_of_beta)
    assert isinstance(beta.load_1min, float) and beta.load_1min >= 0


def test_an_interface_that_is_not_there_is_named_in_the_reason(bench: Bench) -> None:
    launch = bench.launch(size=8, GLOO_SOCKET_IFNAME="nosuch0")
    assert (launch.status, launch.phase) == ("failed", "init")
    assert "nosuch0" in launch.reason
    assert bench.is_whole()


def test_an_interface_that_does_not_reach_the_peer_ends_at_the_limit_of_its_phase(bench: Bench) -> None:
    """Loopback in either node: both answer to 127.0.0.1, and neither finds the other there."""
    launch = bench.launch(size=8, limits={"init": 4, "connect": 4}, GLOO_SOCKET_IFNAME="lo")
    assert launch.status in ("timeout", "failed"), "the kernel refuses at once where nobody listens"
    assert launch.phase in ("init", "connect")
    assert bench.is_whole()


def test_an_agent_that_is_killed_costs_one_launch_only(bench: Bench) -> None:
    beta = bench.agent_pid("beta")
    thread = strike(beta, lambda _rank: os.kill(beta, signal.SIGKILL))
    launch = bench.launch()
    thread.join(5)
    assert launch.status == "failed"
    assert launch.reason.startswith("beta: ")
    assert bench.agent_pid("beta") != beta
    assert bench.is_whole()
