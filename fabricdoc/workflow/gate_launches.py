"""The launches of the gate's deeper levels, planned from a preset: its variables, its shapes, its nodes.

Limits and sizes are data (presets/gate/deeper.toml). Plans only; the bench's agents and worker make the launches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from fabricdoc.bench import Errand, Place, make_plan, needs_fresh_agent, placed
from fabricdoc.errors import InconclusiveError
from fabricdoc.fabric import Rail, rails_of
from fabricdoc.files import own_folder, parse_toml
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.preset import Latency, Preset
from fabricdoc.model.run import Candidate, Plan, Rank, Shape, View
from fabricdoc.workflow.field import has_unified_memory

PRESET = "preset"
_OWN = ("NCCL_DEBUG",)
"""The log is asked for as the one reader needs it: what a preset says of it is left out."""


@lru_cache(maxsize=1)
def limits() -> Mapping[str, Any]:
    """presets/gate/deeper.toml."""
    return parse_toml(own_folder("presets").joinpath("gate/deeper.toml").read_text(encoding="utf-8"))


def values_of(preset: Preset, node: str) -> dict[str, str]:
    """The variables of one node."""
    lines = next((one.lines for one in preset.nodes if one.name == node), ())
    return {line.name: line.value for line in lines if not line.name.startswith(_OWN)}


def candidate_of(
    preset: Preset, nodes: Sequence[str], over: Mapping[str, Mapping[str, str]] | None = None
) -> Candidate:
    """The preset's variables as a set to launch; `over` are values laid over them, by node."""
    values = {name: values_of(preset, name) | dict((over or {}).get(name, {})) for name in nodes}
    fresh = needs_fresh_agent(name for mine in values.values() for name in mine)
    return Candidate(name=PRESET, node_variables=values, on_base=False, fresh_agent=fresh, targets=("network",))


def plan_between(
    preset: Preset, fabric: Fabric, nodes: Sequence[str], shapes: Sequence[Shape], views: Sequence[View], limit_s: float
) -> Plan:
    """A plan of launches between these nodes (the first is rank 0), with as many ranks each as were measured."""
    per_node = max(1, preset.ranks_per_node)
    ranks = [
        Rank(rank=at * per_node + local, node=name, local_rank=local)
        for at, name in enumerate(nodes)
        for local in range(per_node)
    ]
    plan = make_plan(
        backend=preset.backend,
        ranks=ranks,
        candidates=[candidate_of(preset, nodes)],
        shapes=shapes,
        blocks=1,
        seed=1,
        profile=preset.profile,
        objective="mix",
        unified_memory=[node.name for node in fabric.nodes if node.name in nodes and has_unified_memory(node)],
    )
    return plan.model_copy(update={"views": tuple(views), "launch_deadline_s": limit_s})


def errand(plan: Plan, candidate: Candidate, number: int, master: str, work: Mapping[str, Any]) -> Errand:
    """One launch of that plan."""
    return Errand(plan, candidate, Place(number, "search", 1, number), master, work)


def smoke_shapes(preset: Preset) -> tuple[Shape, ...]:
    """Two sizes of all-reduce, a decode step's and a larger one: those that were measured nearest to the data's."""
    wanted = [int(size) for size in limits()["smoke"]["sizes"]]
    known = measured(preset, "all_reduce")
    if not known:
        return tuple(Shape(op="all_reduce", size=size) for size in wanted)
    near = [min(known, key=lambda one: (abs(one.size - size), one.size)) for size in wanted]
    shapes = {(one.size, one.dtype): placed(_shape(one), in_place=one.in_place) for one in near}
    return tuple(shapes.values())


def _shape(one: Latency) -> Shape:
    return Shape(op=one.op, size=one.size, dtype=one.dtype)


def measured(preset: Preset, op: str) -> tuple[Latency, ...]:
    """What the preset holds of that op and can be compared: whole sizes, times that are times."""
    return tuple(one for one in preset.latencies if one.op == op and 0 < one.size <= 1 << 30 and 0 < one.high_us < 1e12)


def smoke_views(preset: Preset) -> tuple[View, ...]:
    """The views that were measured and time single calls; eager where nothing was."""
    seen = {one.view for one in measured(preset, "all_reduce")}
    views: tuple[View, ...] = ("graph", "eager")
    return tuple(view for view in views if view in seen) or ("eager",)


def between(fabric: Fabric, nodes: Sequence[str]) -> Fabric:
    """The fabric of these nodes alone: their facts and the links that join two of them."""
    kept = set(nodes)
    links = fabric.links
    if not isinstance(links, Unknown):
        links = tuple(link for link in links if {link.a.node, link.b.node} <= kept)
    ordered = [node for name in dict.fromkeys(nodes) for node in fabric.nodes if node.name == name]
    return fabric.model_copy(update={"nodes": tuple(ordered), "links": links})


def preset_rails(preset: Preset, fabric: Fabric, nodes: Sequence[str]) -> tuple[Rail, ...]:
    """The rails between these nodes whose ports the preset's selectors name on each of them.

    Rails that reach every node of the fabric, cut to these; where there are none (a ring), those of these nodes alone.
    """
    whole = rails_of(fabric) if set(nodes) <= {node.name for node in fabric.nodes} else ()
    cut = [Rail(tuple(rail.port(name) for name in nodes), rail.proven) for rail in whole]
    rails = cut or rails_of(between(fabric, nodes))
    return tuple(rail for rail in rails if all(_is_named(preset, port.node, port) for port in rail.ports))


def _is_named(preset: Preset, node: str, port: Any) -> bool:
    """Whether a port stands in a list of the node's: by its HCA where it has one, else by its interface."""
    name = "NCCL_IB_HCA" if port.hca else "NCCL_SOCKET_IFNAME" if preset.backend == "nccl" else "GLOO_SOCKET_IFNAME"
    listed = names_in(values_of(preset, node).get(name, ""))
    return (port.hca or port.netdev) in listed if listed else preset.backend == "nccl"


def names_in(value: str) -> list[str]:
    """The names of an exact list: `=a:1,b` and `a,b` alike; () for an exclusion or nothing."""
    if value.startswith("^"):
        return []
    return [name for item in value.removeprefix("=").split(",") if (name := item.partition(":")[0].strip())]


def meeting_address(preset: Preset, fabric: Fabric, nodes: Sequence[str]) -> str:
    """Where these nodes' ranks meet: the first one's address on the preset's first rail, else the fingerprint's.

    InconclusiveError where neither is known.
    """
    first = nodes[0]
    for rail in preset_rails(preset, fabric, nodes):
        if (ip := rail.port(first).ip) is not None:
            return ip
    printed = next((one for one in preset.fingerprint.nodes if one.name == first), None)
    found = [address.partition("/")[0] for port in (printed.ports if printed else ()) for address in port.addresses]
    four = [address for address in found if "." in address]
    if not four:
        raise InconclusiveError(
            f"{first} has no IPv4 address on a rail of the preset", fix="run `fabricdoc cables`", id="no-master"
        )
    return four[0]
