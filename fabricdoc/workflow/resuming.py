"""Take a run up again that ended early: the same nodes, plan and seed, from the first launch that it lacks.

Which nodes, ports and pythons it had is in the stored run. What may not have changed meanwhile is `bench.taken_up`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fabricdoc.bench import refuse_complete, taken_up
from fabricdoc.fabric import rails_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.run import Run
from fabricdoc.serving import load_profile
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.contexts import contexts
from fabricdoc.workflow.field import master_of
from fabricdoc.workflow.meant import as_told
from fabricdoc.workflow.planning import Greeted, Prepared, refuse_incomplete
from fabricdoc.workflow.requests import BOTH_NICS, Request


def nodes_of(stored: Run, ports: tuple[str, ...] = ()) -> tuple[NodeSpec, ...]:
    """The nodes of a stored run in rank order, else as fabric.toml tells them; `ports` on each where any are named."""
    return tuple(replace(spec, ports=ports or spec.ports) for spec in as_told(stored.nodes))


def resumed_request(
    stored: Run, specs: Sequence[NodeSpec], *, presets: Sequence[Path] = (), master: str | None = None
) -> Request:
    """The request that a stored run answers; its pythons, and the ports of its links, count where a spec names none.

    UsageError for a run that is complete, before a node is asked anything.
    """
    refuse_complete(stored)
    plan = stored.plan
    pythons = {node.name: node.python for node in stored.nodes}
    ports = _ports(stored)
    return Request(
        specs=tuple(
            replace(spec, python=pythons.get(spec.name, spec.python), ports=spec.ports or ports.get(spec.name, ()))
            for spec in specs
        ),
        backend=plan.backend,
        candidates=(BOTH_NICS,) if any(one.set_name == BOTH_NICS for one in plan.candidates) else (),
        profile=plan.profile,
        objective=plan.objective,
        blocks=plan.blocks,
        budget_s=plan.budget_s,
        seed=plan.seed,
        master=master,
        presets=presets,
        search=plan.search,
        path=plan.path,
        skew=plan.skew,
        gemm=plan.gemm,
        deadlines_s=plan.deadlines_s,
        weights=plan.weights or None,
    )


def _ports(stored: Run) -> dict[str, tuple[str, ...]]:
    """Per node the interfaces of its links that have no HCA: beacons leave from them only when they are named."""
    links = () if isinstance(stored.links, Unknown) else stored.links
    found: dict[str, dict[str, None]] = {}
    for end in (end for link in links for end in (link.a, link.b) if end.hca is None):
        found.setdefault(end.node, {})[end.netdev] = None
    return {node: tuple(netdevs) for node, netdevs in found.items()}


def prepare_again(request: Request, fabric: Fabric, agents: Greeted, stored: Run) -> Prepared:
    """The stored run, ready to be measured on. UsageError where it is complete, or where nodes or links changed."""
    refuse_incomplete(request, fabric)
    run = taken_up(stored, contexts(request.specs, fabric, agents.hello), fabric.links)
    names = [node.name for node in fabric.nodes]
    made = len(stored.launches)
    notes = (f"going on with run {run.id}: {made} launch{' of it is' if made == 1 else 'es of it are'} there",)
    master = request.master or master_of(rails_of(fabric), names[0])
    return Prepared(run, load_profile(request.profile, request.presets), master, notes, resumes=True)
