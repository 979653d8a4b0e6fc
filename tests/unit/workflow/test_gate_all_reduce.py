"""The two-size all-reduce: how often it is launched, with what, and what is said when time runs out in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fabricdoc.bench import Errand
from fabricdoc.fabric import within
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Launch
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow import gate_all_reduce
from fabricdoc.workflow.gate_all_reduce import AGAIN, REDUCING, Trial, all_reduced, node_list, own_limit_s, smoke_plan
from fabricdoc.workflow.gate_launches import limits
from fabricdoc.workflow.gate_smoke_answers import LATENCY, LAUNCH
from fabricdoc.workflow.gate_time import TIME
from tests.fabrics.spark import spark_one_cable
from tests.unit.workflow.gate_made import IB, cell, latency, launch, preset, proof

pytestmark = pytest.mark.unit

SPECS = (NodeSpec("spark-a", "local"), NodeSpec("spark-b", "spark-b"))
PROVEN = proof("ib_two.rank0.log", "ib_two.rank1.log")
HUNG = launch(status="timeout", rank=0, phase="connect", reason="rank 0 hangs").model_copy(update={"seconds": 3600.0})


class Launches:
    """Stands for the agents and what they launch, one answer after another."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: float | Launch) -> None:
        self.answers, self.errands, self.said = list(answers), list[Errand](), list[str]()
        self.restarted: list[dict[str, dict[str, str]]] = []
        monkeypatch.setattr(gate_all_reduce, "run_side_by_side", self.run)

    def restart(self, environment: dict[str, dict[str, str]]) -> None:
        self.restarted.append(environment)

    def run(self, _agents: Any, errands: Sequence[Errand]) -> list[Launch]:
        self.errands += errands
        answer = self.answers.pop(0)
        if isinstance(answer, Launch):
            return [answer]
        return [launch(*(cell(shape.size, answer) for shape in errands[0].plan.shapes), proven=PROVEN)]

    def answered(self, of: Preset | None = None) -> list[tuple[str, str]]:
        of = of or preset(latencies=(latency(8192, 30.0, 40.0),))
        trial = Trial(of, SPECS, spark_one_cable(), self.said.append)
        return [(one.id, one.outcome) for one, _ in all_reduced(self, trial)]  # type: ignore[arg-type]


def test_one_launch_is_enough_where_it_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    launches = Launches(monkeypatch, 35.0)
    assert (LATENCY, "ok") in launches.answered()
    assert [one.place.number for one in launches.errands] == [1]
    assert launches.said == ["an all-reduce of 8192 B"]


def test_a_slow_one_is_followed_by_one_more_and_no_more_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    launches = Launches(monkeypatch, 400.0, 400.0)
    assert (LATENCY, "differs") in launches.answered()
    assert [one.place.number for one in launches.errands] == [1, 2]
    assert launches.said[1:] == ["slower than measured: once more"]


def test_each_launch_gets_what_is_left_then_and_the_datas_work(monkeypatch: pytest.MonkeyPatch) -> None:
    launches = Launches(monkeypatch, 35.0)
    with within(10.0):
        launches.answered()
    (one,) = launches.errands
    assert 4.0 < one.plan.launch_deadline_s <= 5.0
    assert one.extra["calls"] == limits()["smoke"]["calls"]
    assert one.master == "192.168.100.10"
    trial = Trial(preset(), SPECS, spark_one_cable(), lambda _: None)
    assert smoke_plan(trial).launch_deadline_s == own_limit_s() == limits()["smoke"]["seconds"]["launch"]


def test_a_hang_in_the_first_or_the_second_launch_names_the_part_it_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Launches(monkeypatch, HUNG), Launches(monkeypatch, 400.0, HUNG)
    for launches, latencies, part in ((second, [(LATENCY, "unknown")], AGAIN), (first, [], REDUCING)):
        monkeypatch.setattr(gate_all_reduce, "run_side_by_side", launches.run)
        trial = Trial(preset(latencies=(latency(8192, 30.0, 40.0),)), SPECS, spark_one_cable(), lambda _: None)
        with within(10.0):
            answers = all_reduced(launches, trial)  # type: ignore[arg-type]
        told = [(one.id, one.outcome) for one, _ in answers]
        assert told[-2:] == [(LAUNCH, "failed"), (TIME, "failed")]
        assert [one for one in told if one[0] == LATENCY] == latencies
        assert answers[-1][0].note == part
        assert answers[-2][1] is not None and answers[-2][1].subject == "spark-a"


def test_agents_with_variables_of_the_load_are_started_once_for_both_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    launches = Launches(monkeypatch, 400.0, 400.0)
    preloaded = {**IB, "LD_PRELOAD": "/opt/libnccl.so.2"}
    times = (latency(8192, 30.0, 40.0),)
    launches.answered(preset({"spark-a": preloaded, "spark-b": IB}, latencies=times))
    (once,) = launches.restarted
    assert once["spark-a"]["LD_PRELOAD"] == "/opt/libnccl.so.2"
    plain = Launches(monkeypatch, 35.0)
    plain.answered()
    assert plain.restarted == []


def test_what_comes_after_the_ping_depends_on_the_level() -> None:
    trial = Trial(preset(), SPECS, spark_one_cable(), lambda _: None)
    assert trial.parts == (REDUCING,)
    assert Trial(preset(), SPECS, spark_one_cable(), lambda _: None, measuring=True).parts == (
        REDUCING,
        "the bandwidth",
    )
    assert trial.nodes == node_list(SPECS) == "spark-a=local,spark-b"
    assert trial.names == ["spark-a", "spark-b"]
