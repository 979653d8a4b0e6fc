"""The smoke level's order of things: RDMA before launches, obstacles before agents, a second launch only when slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fabricdoc.bench import Errand
from fabricdoc.errors import NodeError
from fabricdoc.fabric import at_most, within
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from fabricdoc.model.run import Launch
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow import gate_all_reduce, gate_smoke
from fabricdoc.workflow.checking import LEVELS, Asked, check_level
from fabricdoc.workflow.gate_all_reduce import Trial, node_list
from fabricdoc.workflow.gate_launches import limits
from fabricdoc.workflow.gate_smoke import RDMA, deepen, in_order, smoke
from fabricdoc.workflow.gate_smoke_answers import EXACT, LATENCY, LAUNCH, PATH, finding
from fabricdoc.workflow.gate_time import TIME
from tests.fabrics.spark import spark_one_cable
from tests.unit.workflow.gate_made import cell, latency, launch, preset, proof

pytestmark = pytest.mark.unit

SPECS = (NodeSpec("spark-a", "local"), NodeSpec("spark-b", "spark-b"))
PROVEN = proof("ib_two.rank0.log", "ib_two.rank1.log")


class World:
    """Stands for the pinging, the agents and the launches: keeps what was asked, answers what it was told."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *medians: float, rdma: bool | Unknown = True, busy: str = ""
    ) -> None:
        self.medians, self.rdma, self.did = list(medians), rdma, list[str]()
        self.hello_s: float = 0
        self.gone: NodeError | None = None
        monkeypatch.setattr(gate_smoke, "proven_by_rdma", self.ping)
        monkeypatch.setattr(gate_smoke, "Agents", self.agents)
        monkeypatch.setattr(gate_all_reduce, "run_side_by_side", self.launch)
        errors = [NodeError(busy, fix="stop it", id="gpu-busy")] if busy else []
        monkeypatch.setattr(gate_smoke, "obstacles", lambda *_: errors)

    def ping(self, _specs: Sequence[NodeSpec], fabric: Fabric, _progress: Any) -> Fabric:
        self.did.append("ping")
        links = tuple(one.model_copy(update={"rdma": self.rdma}) for one in fabric.links)  # type: ignore[union-attr]
        broken = Finding(id="rdma-path-broken", severity="error", subject="spark-a/x", cause="it fails", fix=())
        found = (*fabric.findings, broken) if self.rdma is False else fabric.findings
        return fabric.model_copy(update={"links": links, "findings": found})

    def agents(self, specs: Sequence[NodeSpec], hello_s: float) -> World:
        self.did.append(f"agents {','.join(spec.name for spec in specs)}")
        self.hello_s = at_most(hello_s)
        if self.gone is not None:
            raise self.gone
        return self

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.did.append("closed")

    def launch(self, _agents: Any, errands: Sequence[Errand]) -> list[Launch]:
        self.did.append("launch")
        median, (one,) = self.medians.pop(0), errands
        self.limit_s = one.plan.launch_deadline_s
        return [launch(*(cell(shape.size, median) for shape in one.plan.shapes), proven=PROVEN)]

    def gate(self, fabric: Fabric | None = None, **more: Any) -> tuple[dict[str, set[str]], list[Finding]]:
        one = preset(latencies=(latency(8192, 30.0, 40.0),))
        checks, findings = smoke(Trial(one, SPECS, fabric or unpinged(), lambda _: None), **more)
        told: dict[str, set[str]] = {}
        for each in checks:
            told.setdefault(each.id, set()).add(each.outcome)
        return told, list(findings)


def unpinged() -> Fabric:
    fabric = spark_one_cable()
    links = tuple(one.model_copy(update={"rdma": Unknown(unknown="not read")}) for one in fabric.links)  # type: ignore[union-attr]
    return fabric.model_copy(update={"links": links})


def test_healthy_is_pinged_then_launched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 35.0)
    assert world.gate() == ({RDMA: {"ok"}, PATH: {"ok"}, EXACT: {"ok"}, LATENCY: {"ok"}}, [])
    assert world.did == ["ping", "agents spark-a,spark-b", "launch", "closed"]


def test_links_that_were_pinged_before_are_not_pinged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 35.0)
    fabric = unpinged()
    links = tuple(one.model_copy(update={"rdma": True}) for one in fabric.links)  # type: ignore[union-attr]
    assert world.gate(fabric.model_copy(update={"links": links}))[0][RDMA] == {"ok"}
    assert "ping" not in world.did


def test_over_a_link_that_rdma_does_not_pass_nothing_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, rdma=False)
    told, (found,) = world.gate()
    assert told == {RDMA: {"differs"}}
    assert (found.id, world.did) == ("rdma-path-broken", ["ping"])


def test_a_link_that_could_not_be_pinged_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    """No libibverbs outside the image: whether NCCL can connect is what the launch shows."""
    world = World(monkeypatch, 35.0, rdma=Unknown(unknown="no libibverbs"))
    told, found = world.gate()
    assert (told[RDMA], told[PATH], found) == ({"ok"}, {"ok"}, [])


def test_a_slow_launch_is_made_again_and_the_better_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 400.0, 35.0)
    assert world.gate()[0][LATENCY] == {"ok"}
    assert world.did.count("launch") == limits()["smoke"]["launches"] == 2
    again = World(monkeypatch, 400.0, 401.0)
    told, (found,) = again.gate()
    assert (told[LATENCY], found.id) == ({"differs"}, LATENCY)


def test_what_hinders_a_launch_could_not_be_told_and_starts_no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, busy="spark-b: the GPU is in use by vllm (pid 7)")
    told, (found,) = world.gate()
    assert told == {RDMA: {"ok"}, LAUNCH: {"unknown"}}
    assert (found.severity, found.subject, found.fix) == ("warning", "spark-b", ("stop it",))
    assert world.did == ["ping"]


def test_a_deeper_level_goes_on_with_the_same_agents_while_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 35.0)
    world.gate(deeper=lambda agents, fabric: (world.did.append("deeper"), ((), ()))[1])
    assert world.did[-3:] == ["launch", "deeper", "closed"]


def test_slower_than_it_was_is_what_the_deeper_level_is_to_explain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rail it finds is the cause, told first and to be mended first; nobody is sent to the level he asked for."""
    rail = finding("rail-bandwidth", "spark-a/p0", "13 Gbit/s over p0", ["ethtool p0"])
    slow = World(monkeypatch, 400.0, 400.0)
    told, (cause, symptom) = slow.gate(deeper=lambda *_: (slow.did.append("deeper"), ((), (rail,)))[1])
    assert slow.did[-4:] == ["launch", "launch", "deeper", "closed"]
    assert told[LATENCY] == {"differs"}
    assert (cause, symptom.id) == (rail, LATENCY)
    assert symptom.fix == ("first what the bandwidth shows, spark-a/p0:", "ethtool p0")
    well = World(monkeypatch, 400.0, 400.0)
    (alone,) = well.gate(deeper=lambda *_: ((), ()))[1]
    assert alone.fix[0].startswith("measure again")
    assert "--level full" not in " ".join(alone.fix)


@pytest.mark.parametrize("bad", [{"status": "timeout", "rank": 1}, {"status": "incorrect", "reason": "wrong"}])
def test_a_launch_that_failed_or_was_wrong_ends_the_gate(monkeypatch: pytest.MonkeyPatch, bad: dict[str, Any]) -> None:
    world = World(monkeypatch)
    bad_one = launch(cell(8192, 30.0), proven=PROVEN, **bad)
    monkeypatch.setattr(gate_all_reduce, "run_side_by_side", lambda *_: [bad_one])
    told, _ = world.gate(deeper=lambda *_: (world.did.append("deeper"), ((), ()))[1])
    assert "differs" in told.get(LAUNCH, set()) | told.get(EXACT, set())
    assert "deeper" not in world.did


def test_no_wait_is_longer_than_the_gate_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch gets half of it: a hang must be ended, and told, within the rest."""
    world = World(monkeypatch, 35.0)
    with within(40.0):
        world.gate()
    assert 35.0 < world.hello_s <= 40.0
    assert 15.0 < world.limit_s <= 20.0
    free = World(monkeypatch, 35.0)
    free.gate()
    seconds = limits()["smoke"]["seconds"]
    assert (free.hello_s, free.limit_s) == (seconds["hello"], seconds["launch"])


def test_with_no_time_left_nothing_is_begun_and_every_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    with within(0.0):
        told, found = world.gate(deeper=lambda *_: ((), ()))
    assert (told[TIME], found, world.did) == ({"failed"}, [], ["ping"])
    one = Trial(preset(), SPECS, unpinged(), lambda _: None)
    with within(0.0):
        parts = [check.note for check in smoke(one, lambda *_: ((), ()))[0] if check.id == TIME]
    assert parts == ["the all-reduce", "the bandwidth"]


def test_an_agent_that_does_not_answer_fails_its_node_and_no_fabric(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names it as a word of its own: spark-b is not the node spark-b2 that fell silent."""
    world = World(monkeypatch)
    world.gone = NodeError("the bench agent on spark-b did not answer in 4 s", fix="look", id="node-timeout")
    told, (found,) = world.gate()
    assert told == {RDMA: {"ok"}, LAUNCH: {"failed"}}
    assert (found.id, found.subject, found.fix[0]) == (LAUNCH, "spark-b", "look")
    world.gone = NodeError("spark-b2: no", id="x")
    _, (other,) = world.gate()
    assert other.subject == "spark-a, spark-b"


def test_what_an_agent_took_with_it_is_told_beside_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 35.0)

    def deeper(*_: Any) -> Any:
        raise NodeError("spark-a: gone", id="node-closed")

    told, _ = world.gate(deeper=deeper)
    assert (told[LATENCY], told[LAUNCH]) == ({"ok"}, {"failed"})
    assert TIME not in told, "there was time enough"


def test_a_launch_cut_off_by_the_gates_deadline_names_who_held_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no fault of the fabric, and not a go: the node has failed."""
    world = World(monkeypatch)
    hung = launch(status="timeout", rank=1, phase="measure", reason="rank 1 is stopped").model_copy(
        update={"seconds": 21.0}
    )
    monkeypatch.setattr(gate_all_reduce, "run_side_by_side", lambda *_: [hung])
    with within(40.0):
        told, (found,) = world.gate(deeper=lambda *_: ((), ()))
    assert told == {RDMA: {"ok"}, LAUNCH: {"failed"}, TIME: {"failed"}}
    assert found.subject == "spark-b"
    assert "in the 20 s that the gate's deadline left it in measure: rank 1 is stopped" in found.cause
    assert world.gate()[0][LAUNCH] == {"differs"}, "within its own limit it is the fabric's"


def test_slower_with_no_time_for_a_second_launch_could_not_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 400.0)
    monkeypatch.setattr(gate_all_reduce, "is_over", lambda: True)
    told, (found,) = world.gate()
    assert (told[LATENCY], told[TIME]) == ({"unknown"}, {"failed"})
    assert (found.id, found.severity) == (LATENCY, "warning")
    assert world.did.count("launch") == 1


def test_one_node_has_nothing_to_send_to(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    fabric = unpinged()
    alone = fabric.model_copy(update={"nodes": fabric.nodes[:1], "links": ()})
    assert smoke(Trial(preset({"spark-a": {}}), SPECS[:1], alone, lambda _: None)) == ((), ())
    assert world.did == []


def test_agents_stand_in_the_presets_order_and_a_missing_node_is_named() -> None:
    assert [spec.name for spec in in_order(SPECS[::-1], ["spark-a", "spark-b"])] == ["spark-a", "spark-b"]
    with pytest.raises(NodeError, match="spark-c of the preset"):
        in_order(SPECS, ["spark-a", "spark-c"])
    assert node_list(SPECS) == "spark-a=local,spark-b"


def test_the_gate_finds_both_levels_and_hands_them_what_it_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (check_level("smoke"), check_level("full")) == ("smoke", "full")
    assert LEVELS["smoke"] == ("gate_smoke",) and LEVELS["full"] == ("gate_full",)
    world = World(monkeypatch, 35.0)
    asked = Asked(preset(latencies=(latency(8192),)), specs=SPECS, level="smoke", deadline_s=7.0)
    added = deepen(asked, unpinged(), lambda _: None)
    assert {one.id for one in added.checks} == {RDMA, PATH, EXACT, LATENCY}
    assert 0 < world.hello_s <= 7.0
