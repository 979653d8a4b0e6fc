"""One fact of a recorded fabric changed, so that a test can have the fabric that nearly has a fault.

Fabrics are frozen: the changed one is a copy. Values are checked by the models, so a misspelt field is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from fabricdoc.fabric.report import what_follows
from fabricdoc.model.documents import Frozen, Unknown
from fabricdoc.model.fabric import Fabric, Node

Part = Literal["node", "host", "container", "hca", "port", "gids", "netdev", "qos", "pcie", "gpu", "counters"]
M = TypeVar("M", bound=Frozen)

LISTS = {"hca": "hcas", "netdev": "netdevs", "pcie": "pcie", "gpu": "gpus", "counters": "counters"}
KEYS = {"hca": "name", "netdev": "name", "pcie": "address", "gpu": "index", "counters": "subject"}


def changed(fabric: Fabric, node: str, part: Part, of: str | int = "*", **facts: Any) -> Fabric:
    """The fabric with `facts` of one part of `node` ("*": of every node) set, and what follows from them on the node.

    Cages, NCCL's GIDs and paths to GPUs are told anew, as a scan would, unless `facts` has them; links, findings and
    other facts stay (an interface's MTU does not change its HCA's active_mtu, an address not the GID table).

    `of` names the part: an HCA (also for its port 1), a netdev (also for its qos), a PCI address, a GPU's index, or
    SUBJECT:SOURCE of counters ("rocep1s0f0/1:hw"); "*" is all of them. Lists are replaced whole. KeyError if
    nothing is called so; ValidationError for a field that is none or a value that is none of its.

        changed(fabric, "spark-b", "netdev", "enp1s0f0np0", mtu=1500)
        changed(fabric, "spark-b", "pcie", "0002:01:00.0", current_width=2)
        changed(fabric, "*", "host", memlock=8192 * 1024)
    """
    found = [one for one in fabric.nodes if node in ("*", one.name)]
    if not found:
        raise KeyError(node)
    nodes = (followed(_node(one, part, of, facts), facts) if one in found else one for one in fabric.nodes)
    return fabric.model_copy(update={"nodes": tuple(nodes)})


def followed(node: Node, facts: Mapping[str, Any]) -> Node:
    """The node with what follows from its facts, as read_report fills it in; what `facts` gives stays as given."""
    return node.model_copy(update={name: value for name, value in what_follows(node).items() if name not in facts})


def without(fabric: Fabric, *nodes: str) -> Fabric:
    """The fabric without some nodes and the links that end on them; KeyError if one is not there."""
    if missing := set(nodes) - {one.name for one in fabric.nodes}:
        raise KeyError(sorted(missing)[0])
    links = fabric.links
    if not isinstance(links, Unknown):
        links = tuple(link for link in links if link.a.node not in nodes and link.b.node not in nodes)
    kept = tuple(one for one in fabric.nodes if one.name not in nodes)
    return fabric.model_copy(update={"nodes": kept, "links": links})


def set_facts(model: M, facts: Mapping[str, Any]) -> M:
    """A copy of a model with some fields set, every field checked again."""
    return type(model).model_validate({**dict(model), **facts})


def _node(node: Node, part: Part, of: str | int, facts: Mapping[str, Any]) -> Node:
    if part == "node":
        return set_facts(node, facts)
    if part in ("host", "container"):
        return set_facts(node, {part: set_facts(getattr(node, part), facts)})
    home = {"port": "hca", "gids": "hca", "qos": "netdev"}.get(part, part)
    members = getattr(node, LISTS[home])
    assert not isinstance(members, Unknown), f"{node.name}: {home} is unknown"
    wanted = [one for one in members if of in ("*", _key(home, one))]
    if not wanted:
        raise KeyError(of)
    return set_facts(node, {LISTS[home]: tuple(_member(one, part, facts) if one in wanted else one for one in members)})


def _key(home: str, member: Any) -> str | int:
    key: str | int = getattr(member, KEYS[home])
    return f"{key}:{member.source}" if home == "counters" else key


def _member(member: Any, part: Part, facts: Mapping[str, Any]) -> Any:
    if part == "port":
        first, *others = member.ports
        return set_facts(member, {"ports": (set_facts(first, facts), *others)})
    if part == "qos":
        return set_facts(member, {"qos": set_facts(member.qos, facts)})
    return set_facts(member, facts)
