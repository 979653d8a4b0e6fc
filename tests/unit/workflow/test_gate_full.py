"""The full level's order of things: which legs, in which rounds, what is tested again, and who is named in the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fabricdoc.bench import Errand
from fabricdoc.bench.plan import environment_of
from fabricdoc.fabric import within
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Launch
from fabricdoc.workflow import gate_full
from fabricdoc.workflow.gate_bandwidth import ALL, NODE, RAIL, Flow, Leg, judged
from fabricdoc.workflow.gate_full import Tournament, best_of, full, passed
from fabricdoc.workflow.gate_launches import limits
from fabricdoc.workflow.gate_smoke_answers import LAUNCH
from fabricdoc.workflow.gate_time import TIME
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable
from tests.unit.workflow.gate_made import IB, cell, latency, launch, preset

pytestmark = pytest.mark.unit

Rate = Callable[[str, str, tuple[str, ...], int], float | None]
"""(sender, receiver, HCAs, how often this was asked before) -> Gbit/s."""


class World:
    """Stands for nodes and wires: every launch that is asked for takes as long as `rate` says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rate: Rate) -> None:
        self.rate, self.waves, self.now = rate, list[list[tuple[str, str, tuple[str, ...]]]](), 1000.0
        self.asked = dict[tuple[str, str, tuple[str, ...]], int]()
        self.environments = list[dict[str, str]]()
        self.agents = Agents()
        monkeypatch.setattr(gate_full, "run_side_by_side", self.run)

    def run(self, _agents: Any, errands: Sequence[Errand]) -> list[Launch]:
        wave = [self.key(one) for one in errands]
        self.waves.append(wave)
        assert len({name for key in wave for name in key[:2]}) == 2 * len(wave), "no node twice at the same time"
        assert len({one.place.number for one in errands}) == len(errands)
        return [self.launch(key, one) for key, one in zip(wave, errands, strict=True)]

    def key(self, one: Errand) -> tuple[str, str, tuple[str, ...]]:
        sender, receiver = dict.fromkeys(rank.node for rank in one.plan.ranks)
        self.environments.append(environment_of(one.plan, one.candidate, sender))
        return sender, receiver, tuple(self.environments[-1]["NCCL_IB_HCA"].removeprefix("=").split(","))

    def launch(self, key: tuple[str, str, tuple[str, ...]], one: Errand) -> Launch:
        before = self.asked[key] = self.asked.get(key, 0) + 1
        rate = self.rate(*key, before - 1)
        if rate is None:
            return launch(status="timeout", reason="rank 1 was overdue")
        cells = [cell(s.size, s.size * 8 / rate / 1e3, view="throughput", op=s.op) for s in one.plan.shapes]
        return launch(*cells)

    def gate(self, one: Preset, fabric: Fabric) -> tuple[dict[str, set[str]], tuple[Finding, ...]]:
        checks, findings = full(self.agents, one, fabric, lambda _: None, "NODES")  # type: ignore[arg-type]
        outcomes: dict[str, set[str]] = {}
        for each in checks:
            outcomes.setdefault(each.id, set()).add(each.outcome)
        return outcomes, findings


class Agents:
    """Stands for the agents: only what is asked of them anew."""

    restarted: dict[str, dict[str, str]] | None = None

    def restart(self, environment: dict[str, dict[str, str]]) -> None:
        self.restarted = environment


def by_rail(**rates: float | None) -> Rate:
    """Each HCA its rate, both ways; all of them together carry the sum."""

    def rate(_sender: str, _receiver: str, hcas: tuple[str, ...], _before: int) -> float | None:
        known = [rates[name] for name in hcas]
        return None if None in known else sum(one for one in known if one is not None)

    return rate


def servers(count: int) -> tuple[Preset, Fabric]:
    fabric = eight_rail_servers(count)
    hcas = [hca.name for hca in fabric.nodes[0].hcas][:2]  # type: ignore[union-attr]
    return preset({node.name: {**IB, "NCCL_IB_HCA": f"={','.join(hcas)}"} for node in fabric.nodes}), fabric


def test_a_pair_is_tested_rail_by_rail_and_whole_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, by_rail(rocep1s0f0=92.6, roceP2p1s0f0=97.3))
    assert world.gate(preset(), spark_one_cable()) == ({RAIL: {"ok"}, ALL: {"ok"}}, ())
    a, b, first, second = "spark-a", "spark-b", ("rocep1s0f0",), ("roceP2p1s0f0",)
    assert [wave for (wave,) in world.waves] == [
        (a, b, first), (b, a, first), (a, b, second), (b, a, second), (a, b, first + second), (b, a, first + second),
    ]  # fmt: skip


def test_a_gpu_that_ends_launches_is_named_and_no_link_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ranks a node on an H200 under MPS: the ports of both nodes were blamed for it."""
    world = World(monkeypatch, by_rail(rocep1s0f0=92.6, roceP2p1s0f0=97.3))
    busy = launch(
        status="failed", rank=1, phase="init", reason="AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy"
    )

    def sometimes(key: tuple[str, str, tuple[str, ...]], one: Errand) -> Launch:
        rate = world.rate(*key, 0)
        assert rate is not None
        cells = [cell(s.size, s.size * 8 / rate / 1e3, view="throughput", op=s.op) for s in one.plan.shapes]
        return busy if key[0] == "spark-b" else launch(*cells)

    monkeypatch.setattr(world, "launch", sometimes)
    checks, (finding,) = world.gate(preset(), spark_one_cable())
    assert checks == {RAIL: {"ok"}, ALL: {"ok"}, LAUNCH: {"differs"}}
    assert (finding.id, finding.subject) == (LAUNCH, "spark-a")
    assert finding.fix[-1] == "on spark-a: nvidia-smi"
    assert len(world.waves) == 6, "nothing is tested again: it is no suspect"


def test_a_single_rail_is_not_measured_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    single = {**IB, "NCCL_IB_HCA": "=rocep1s0f0"}
    world = World(monkeypatch, by_rail(rocep1s0f0=92.6))
    assert world.gate(preset({"spark-a": single, "spark-b": single}), spark_one_cable())[0] == {RAIL: {"ok"}}
    assert len(world.waves) == 2


def test_a_rail_is_launched_with_the_presets_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {**IB, "NCCL_IB_TC": "106"}
    world = World(monkeypatch, by_rail(rocep1s0f0=92.6, roceP2p1s0f0=97.3))
    world.gate(preset({"spark-a": more, "spark-b": more}), spark_one_cable())
    assert {one["NCCL_IB_TC"] for one in world.environments} == {"106"}


@pytest.mark.parametrize("rate", [13.0, None])
def test_one_bad_twin_is_named_and_the_good_one_is_not(monkeypatch: pytest.MonkeyPatch, rate: float | None) -> None:
    world = World(monkeypatch, by_rail(rocep1s0f0=rate, roceP2p1s0f0=97.3))
    outcomes, (found,) = world.gate(preset(), spark_one_cable())
    assert outcomes[RAIL] == {"ok", "differs"}
    assert (found.id, found.severity) == (RAIL, "error")
    assert "enp1s0f0np0" in found.subject and "P2p1s0f0" not in found.subject
    assert len(world.waves) > 6, "it was tested again before it was told"


def test_one_bad_direction_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def rate(sender: str, _receiver: str, hcas: tuple[str, ...], _before: int) -> float:
        return 13.0 if (sender, hcas) == ("spark-b", ("rocep1s0f0",)) else 90.0 * len(hcas)

    _, (found,) = World(monkeypatch, rate).gate(preset(), spark_one_cable())
    assert found.cause.startswith("from spark-b to spark-a 13.0 Gbit/s over enp1s0f0np0")
    assert found.subject == "spark-b/enp1s0f0np0"


def test_a_moments_disturbance_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def rate(sender: str, _receiver: str, hcas: tuple[str, ...], before: int) -> float:
        return 20.0 if (sender, hcas, before) == ("spark-b", ("rocep1s0f0",), 0) else 90.0 * len(hcas)

    assert World(monkeypatch, rate).gate(preset(), spark_one_cable()) == ({RAIL: {"ok"}, ALL: {"ok"}}, ())


def test_slow_only_together_is_told_of_all_rails(monkeypatch: pytest.MonkeyPatch) -> None:
    _, (found,) = World(monkeypatch, lambda *of: 90.0 if len(of[2]) == 1 else 30.0).gate(preset(), spark_one_cable())
    assert found.id == ALL


def test_what_was_measured_over_all_rails_is_held_against_the_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 MiB at 93.2 Gbit/s is 90 us: fine beside 80 to 90, not beside 8 to 9."""
    for high, outcome in ((90.0, "ok"), (9.0, "differs")):
        one = preset(latencies=(latency(1 << 20, high - 1, high, view="throughput"),))
        world = World(monkeypatch, by_rail(rocep1s0f0=46.6, roceP2p1s0f0=46.6))
        outcomes, found = world.gate(one, _slower(spark_one_cable()))
        assert outcome in outcomes[ALL]
        assert bool(found) == (outcome == "differs")
        assert not any("--level full" in line for one in found for line in one.fix)


def _slower(fabric: Fabric) -> Fabric:
    """At 50 Gbit/s: half of that is enough."""
    nodes = []
    for node in fabric.nodes:
        netdevs = tuple(one.model_copy(update={"speed_mbps": 50_000}) for one in node.netdevs)  # type: ignore[union-attr]
        nodes.append(node.model_copy(update={"netdevs": netdevs}))
    return fabric.model_copy(update={"nodes": tuple(nodes)})


def test_many_nodes_meet_in_rounds_and_single_rails_in_the_first_only(monkeypatch: pytest.MonkeyPatch) -> None:
    one, fabric = servers(4)
    world = World(monkeypatch, lambda *of: 390.0 * len(of[2]))
    assert world.gate(one, fabric) == ({RAIL: {"ok"}, ALL: {"ok"}}, ())
    assert [len(wave) for wave in world.waves] == [2] * 10  # 2 rails x 2 ways + 2, then 2 and 2
    met = {frozenset(key[:2]) for wave in world.waves for key in wave}
    assert len(met) == 6
    assert sum(len(key[2]) == 1 for wave in world.waves for key in wave) == 8


def test_an_ill_node_among_many_is_blamed_alone_after_a_second_test(monkeypatch: pytest.MonkeyPatch) -> None:
    one, fabric = servers(4)
    ill = fabric.nodes[2].name
    world = World(monkeypatch, lambda *of: (40.0 if ill in of[:2] else 390.0) * len(of[2]))
    outcomes, (found,) = world.gate(one, fabric)
    assert (found.id, found.subject) == (NODE, ill)
    assert outcomes[NODE] == {"differs"}
    assert [sorted(key[:2]) for key in world.waves[10]], "the retest came after all rounds"


@pytest.mark.long
def test_one_broken_link_among_many_names_the_pair_and_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    one, fabric = servers(6)
    a, b = fabric.nodes[0].name, fabric.nodes[3].name
    world = World(monkeypatch, lambda *of: (40.0 if set(of[:2]) == {a, b} else 390.0) * len(of[2]))
    outcomes, found = world.gate(one, fabric)
    assert {each.id for each in found} <= {RAIL, ALL} and NODE not in outcomes
    assert all(
        {a, b} == set(each.subject.replace("/", ", ").split(", ")) & {n.name for n in fabric.nodes} for each in found
    )


def test_a_link_that_recovered_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    one, fabric = servers(6)
    a, b = fabric.nodes[0].name, fabric.nodes[3].name
    world = World(monkeypatch, lambda *of: (40.0 if set(of[:2]) == {a, b} and not of[3] else 390.0) * len(of[2]))
    assert world.gate(one, fabric)[1] == ()


def test_when_all_are_slow_against_the_wire_every_pair_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one, fabric = servers(3)
    outcomes, found = World(monkeypatch, lambda *of: 20.0 * len(of[2])).gate(one, fabric)
    assert "differs" in outcomes[RAIL] and found
    assert NODE not in outcomes


def test_when_time_is_over_the_rest_could_not_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, by_rail(rocep1s0f0=92.6, roceP2p1s0f0=97.3))
    clock = iter([0.0] * 8)
    monkeypatch.setattr(gate_full.time, "monotonic", lambda: next(clock, 1e9))
    outcomes, (found,) = world.gate(preset(), spark_one_cable())
    assert "unknown" in outcomes[ALL] and found.severity == "warning"
    assert "no time was left" in found.cause
    assert len(world.waves) < 6


def test_a_leg_cut_off_by_the_gates_deadline_is_no_slow_leg(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its limit was half of what was left, far below its own: who hung is told, and the answer is no verdict."""
    world = World(monkeypatch, by_rail(rocep1s0f0=92.6, roceP2p1s0f0=97.3))
    hung = launch(status="timeout", reason="spark-b: the agent stopped answering").model_copy(update={"seconds": 9.0})

    def run(_agents: Any, errands: Sequence[Errand]) -> list[Launch]:
        assert all(1.0 <= one.plan.launch_deadline_s <= 4.0 for one in errands)
        return [hung for _ in errands]

    monkeypatch.setattr(gate_full, "run_side_by_side", run)
    with within(8.0):
        checks, (found,) = full(world.agents, preset(), spark_one_cable(), lambda _: None, "NODES")  # type: ignore[arg-type]
    assert [(one.id, one.outcome) for one in checks] == [(ALL, "unknown"), (TIME, "failed")]
    assert checks[1].note == "the bandwidth (6 of 6 tests)"
    assert found.severity == "warning"
    assert found.evidence[0].text == "enp1s0f0np0 to spark-b/enp1s0f0np0: spark-b: the agent stopped answering"


def test_a_leg_that_hangs_while_there_is_time_is_one_that_carries_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, by_rail(rocep1s0f0=None, roceP2p1s0f0=97.3))
    with within(10_000.0):
        outcomes, _ = world.gate(preset(), spark_one_cable())
    assert outcomes[RAIL] == {"ok", "differs"}
    assert TIME not in outcomes


def test_variables_of_the_load_go_to_agents_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    preloaded = {**IB, "LD_PRELOAD": "/opt/libnccl.so.2"}
    world = World(monkeypatch, by_rail(rocep1s0f0=92.6, roceP2p1s0f0=97.3))
    world.gate(preset({"spark-a": preloaded, "spark-b": IB}), spark_one_cable())
    assert world.agents.restarted is not None
    assert world.agents.restarted["spark-a"]["LD_PRELOAD"] == "/opt/libnccl.so.2"
    other = World(monkeypatch, by_rail(rocep1s0f0=92.6, roceP2p1s0f0=97.3))
    other.gate(preset(), spark_one_cable())
    assert other.agents.restarted is None


def test_a_launch_ends_within_the_time_that_is_left() -> None:
    tests = Tournament(preset(), spark_one_cable(), lambda _: None, time.monotonic() + 5)
    assert 1 <= tests.plan(("spark-a", "spark-b"), tests.shapes(whole=False)).launch_deadline_s <= 5


def test_launches_that_came_to_an_end_say_how_long_others_may_take() -> None:
    tests = Tournament(preset(), spark_one_cable(), lambda _: None, time.monotonic() + 1000)
    pair, shapes = ("spark-a", "spark-b"), tests.shapes(whole=False)
    seconds = limits()["full"]["seconds"]
    assert tests.plan(pair, shapes).launch_deadline_s == seconds["launch"]
    tests.launches = [launch(), launch(status="timeout").model_copy(update={"seconds": 900.0})]
    assert tests.plan(pair, shapes).launch_deadline_s == seconds["least"]
    tests.launches = [launch().model_copy(update={"seconds": 4.0})]
    assert tests.plan(pair, shapes).launch_deadline_s == 4.0 * seconds["times"]


def test_a_single_rail_is_a_rail_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    _, fabric = servers(4)
    hca = fabric.nodes[0].hcas[0].name  # type: ignore[union-attr]
    single = preset({node.name: {**IB, "NCCL_IB_HCA": f"={hca}"} for node in fabric.nodes})
    world = World(monkeypatch, lambda *of: 390.0)
    assert world.gate(single, fabric) == ({RAIL: {"ok"}}, ())
    assert [len(wave) for wave in world.waves] == [2] * 6


def test_passed_takes_both_directions_as_one_pair_and_best_the_better_time() -> None:
    flows = [
        Flow(Leg("a", "b"), 100.0),
        Flow(Leg("b", "a"), 10.0),
        Flow(Leg("b", "a"), 90.0),
        Flow(Leg("c", "a"), 99.0),
    ]
    assert passed(judged(flows, "nccl")) == {("a", "b"): False, ("c", "a"): True}
    assert [one.flow.gbps for one in best_of(judged(flows, "nccl"))] == [100.0, 90.0, 99.0]
