"""The memory floor on a real agent: a launch that would leave too little is refused on that node, in words."""

from __future__ import annotations

import pytest

from fabricdoc.bench import Agents, base_candidate, grid_shapes, make_plan
from fabricdoc.bench.launch import Place, order_for
from fabricdoc.bench.order import LaunchOrder
from fabricdoc.fabric import map_cables, rails_of, scan
from fabricdoc.lab import Lab
from fabricdoc.model.run import Plan, Rank
from fabricdoc.transport import NodeSpec

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]
HUGE = 1 << 50


def prepared(lab: Lab) -> tuple[list[NodeSpec], Plan, str]:
    specs = [NodeSpec(name=n.name, target=n.target, ports=n.ports) for n in lab.nodes]
    rails = rails_of(map_cables(specs, scan(specs, deadline_s=10)))
    names = [spec.name for spec in specs]
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
    return specs, plan, rails[0].port(names[0]).ip or ""


def with_memory(order: LaunchOrder, number: int, **limits: int) -> LaunchOrder:
    fields = {**order.__dict__, "number": number, "memory": {"alpha": {}, "beta": limits}}
    return LaunchOrder(**fields)


def test_the_floor_refuses_before_and_ends_while_running(lab: Lab) -> None:
    pytest.importorskip("torch", reason="a bench launch needs torch")
    specs, plan, master = prepared(lab)
    order = order_for(plan, plan.candidates[0], Place(1, "search", 1, 0), master)
    with Agents(specs) as agents:
        refused = agents.launch(with_memory(order, 1, need=HUGE, after_launch=1))
        starved = agents.launch(with_memory(order, 2, while_running=HUGE))
        whole = agents.launch(with_memory(order, 3, need=1, after_launch=1))
        hello = agents.hello["beta"]
    assert (refused.ends[1].status, refused.ends[1].phase) == ("failed", "fork")
    assert "must stay free" in refused.ends[1].reason
    assert "short of memory" in starved.ends[1].reason
    assert {end.status for end in whole.ends.values()} == {"ok"}
    assert isinstance(hello["environment"], dict)
