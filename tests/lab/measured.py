"""A preset that was really measured on the nodes of a lab: two launches of base, its latencies and its fingerprint."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from fabricdoc.bench import Agents, base_candidate, grid_shapes, make_plan
from fabricdoc.bench.launch import Place, run_launch
from fabricdoc.fabric import map_cables, rails_of, scan
from fabricdoc.lab import Lab
from fabricdoc.model.preset import NodePreset, Preset
from fabricdoc.model.run import Candidate, Plan, Rank, Run
from fabricdoc.serving import load_profile
from fabricdoc.transport import NodeSpec
from fabricdoc.tuning import build_preset, judge
from fabricdoc.workflow.planning import contexts
from tests.lab.cabling import specs_of

PROFILE = "dense-small-tp2"
SIZES = (8192, 1 << 20)


def lab_specs(lab: Lab) -> list[NodeSpec]:
    """The lab's nodes, with this python for ranks."""
    return [replace(spec, python=sys.executable) for spec in specs_of(lab)]


def measured_preset(lab: Lab, agents: Agents, sizes: Sequence[int] = SIZES, *, rails: int = 1) -> Preset:
    """The preset of that lab's nodes (see `lab_specs`) on its first rails, from two launches of all sizes."""
    specs = lab_specs(lab)
    fabric = map_cables(specs, scan(specs, deadline_s=20))
    names = [node.name for node in fabric.nodes]
    base = base_candidate("gloo", rails_of(fabric)[:rails], names, single=rails == 1)
    plan = plan_of(base, names, sizes)
    master = rails_of(fabric)[0].port(names[0]).ip
    assert master is not None
    launches = [run_launch(agents, plan, base, Place(at, "search", at, 0), master)[0] for at in (1, 2)]
    run = Run(id="lab", plan=plan, nodes=contexts(specs, fabric, agents.hello), links=fabric.links)
    assert [launch.status for launch in launches] == ["ok", "ok"], launches
    run = run.model_copy(update={"launches": tuple(launches)})
    return build_preset(run, judge(run, load_profile(PROFILE), "mix"), fabric)


def plan_of(base: Candidate, names: Sequence[str], sizes: Sequence[int]) -> Plan:
    """One rank on each node."""
    return make_plan(
        backend="gloo",
        ranks=[Rank(rank=at, node=name, local_rank=0) for at, name in enumerate(names)],
        candidates=[base],
        shapes=grid_shapes(sizes),
        blocks=1,
        seed=1,
        profile=PROFILE,
        objective="mix",
    )


def with_values(preset: Preset, **values: str) -> Preset:
    """The preset with other values of lines it has, on every node."""

    def changed(node: NodePreset) -> NodePreset:
        lines = tuple(line.model_copy(update={"value": values.get(line.name, line.value)}) for line in node.lines)
        return node.model_copy(update={"lines": lines})

    return preset.model_copy(update={"nodes": tuple(changed(node) for node in preset.nodes)})
