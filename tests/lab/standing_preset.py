"""A preset of a lab's nodes as they stand: its fingerprint is a fresh look at them; nothing was measured for it."""

from __future__ import annotations

import sys
from dataclasses import replace

from fabricdoc.bench import base_candidate, grid_shapes, make_plan
from fabricdoc.fabric import map_cables, rails_of, scan
from fabricdoc.lab import Lab
from fabricdoc.model.documents import Unknown
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import NodeContext, Rank, Run
from fabricdoc.serving import load_profile
from fabricdoc.tuning import build_preset, judge
from tests.lab.cabling import specs_of

PROFILE = "dense-small-tp2"
NO = Unknown(unknown="not looked at")


def standing_preset(lab: Lab) -> Preset:
    """The first rail of that lab for gloo, with each node's own interface, by the node's own python."""
    specs = [replace(spec, python=sys.executable) for spec in specs_of(lab)]
    fabric = map_cables(specs, scan(specs, deadline_s=20))
    names = [node.name for node in fabric.nodes]
    base = base_candidate("gloo", rails_of(fabric)[:1], names, single=True)
    plan = make_plan(
        backend="gloo",
        ranks=[Rank(rank=at, node=name, local_rank=0) for at, name in enumerate(names)],
        candidates=[base],
        shapes=grid_shapes([8]),
        blocks=1,
        seed=1,
        profile=PROFILE,
        objective="mix",
    )
    nodes = tuple(
        NodeContext(
            name=node.name,
            target=node.target,
            python=sys.executable,
            hostname=node.host.hostname,
            kernel=node.host.kernel,
            torch=node.host.torch,
            nccl=NO,
            nvidia_driver=node.host.nvidia_driver,
        )
        for node in fabric.nodes
    )
    run = Run(id="lab", plan=plan, nodes=nodes, links=fabric.links)
    return build_preset(run, judge(run, load_profile(PROFILE), "mix"), fabric)
