"""Error counters from gate to gate: how they stand now, and by how much they grew since the last one of a node.

What growth means is the checks' to say. A node that was booted since, or a counter that went back, starts anew.
"""

from __future__ import annotations

from collections.abc import Mapping

from fabricdoc.gate.catalogue import error_counters
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Counters, Fabric, Node

Standing = Mapping[str, int]


def standing_counters(node: Node) -> dict[str, int]:
    """The error counters of a node that are above 0, by "subject source name"."""
    counters = () if isinstance(node.counters, Unknown) else node.counters
    return {
        f"{one.subject} {one.source} {name}": value
        for one in counters
        for name, value in one.values.items()
        if name in error_counters().get(one.source, ())
    }


def boot_of(node: Node) -> str:
    """The id of the boot, "" where it is not known."""
    return node.host.boot_id if isinstance(node.host.boot_id, str) else ""


def with_growth(fabric: Fabric, before: Mapping[str, Standing], boots: Mapping[str, str], seconds: float) -> Fabric:
    """The fabric with what each counter grew by in `seconds` since it stood as in `before`, on nodes of one boot."""
    if seconds <= 0:
        return fabric
    nodes = tuple(
        _grown(node, before[node.name], seconds)
        if node.name in before and boot_of(node) and boots.get(node.name) == boot_of(node)
        else node
        for node in fabric.nodes
    )
    return fabric.model_copy(update={"nodes": nodes})


def _grown(node: Node, before: Standing, seconds: float) -> Node:
    if isinstance(node.counters, Unknown) or node.watched_s > 0:
        return node
    counters = tuple(one.model_copy(update={"deltas": _deltas(one, before)}) for one in node.counters)
    return node.model_copy(update={"counters": counters, "watched_s": seconds})


def _deltas(one: Counters, before: Standing) -> dict[str, int]:
    """Only of error counters, which are what was kept; one that went back says nothing."""
    names = [name for name in one.values if name in error_counters().get(one.source, ())]
    grown = {name: one.values[name] - before.get(f"{one.subject} {one.source} {name}", 0) for name in names}
    return {name: delta for name, delta in grown.items() if delta > 0}
