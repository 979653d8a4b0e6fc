"""One launch through all layers on the lab: scan, cables, base, one fresh start of both ranks, bit-exact cells."""

from __future__ import annotations

import pytest

from fabricdoc.bench import Agents, base_candidate, grid_shapes, make_plan
from fabricdoc.bench.launch import Place, run_launch
from fabricdoc.fabric import map_cables, rails_of, scan
from fabricdoc.lab import Lab
from fabricdoc.model.run import Rank
from fabricdoc.transport import NodeSpec

pytestmark = pytest.mark.lab


def specs_of(lab: Lab) -> list[NodeSpec]:
    return [NodeSpec(name=node.name, target=node.target, ports=node.ports) for node in lab.nodes]


def test_one_launch_through_all_layers(lab: Lab) -> None:
    pytest.importorskip("torch", reason="a bench launch needs torch")
    specs = specs_of(lab)
    fabric = map_cables(specs, scan(specs, deadline_s=10))
    rails = rails_of(fabric)
    assert [[port.netdev for port in rail.ports] for rail in rails] == [
        ["enp1s0f0np0", "enp1s0f1np1"],
        ["enp1s0f1np1", "enp1s0f0np0"],
    ]
    names = [node.name for node in fabric.nodes]
    base = base_candidate("gloo", rails, names, single=True)
    plan = make_plan(
        backend="gloo",
        ranks=[Rank(rank=i, node=name, local_rank=0) for i, name in enumerate(names)],
        candidates=[base],
        shapes=grid_shapes([8, 20480]),
        blocks=1,
        seed=1,
        profile="dense-small-tp2",
        objective="mix",
    )
    with Agents(specs) as agents:
        master = rails[0].port(names[0]).ip
        assert master is not None
        launch, outcome = run_launch(agents, plan, base, Place(1, "search", 1, 0), master)
    assert (launch.status, launch.reason) == ("ok", "")
    assert {(cell.view, cell.size) for cell in launch.cells} == {("eager", 8), ("eager", 20480)}
    assert all(cell.correct and 0 < cell.median_us <= cell.p95_us <= cell.max_us for cell in launch.cells)
    assert {event["rank"] for event in outcome.cells} == {0, 1}
