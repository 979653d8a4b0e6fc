"""Whether ports of one node are free: opened and dialled by itself. What stands between nodes is `reaching`'s."""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.fabric.bootstrap import bootstrap_findings
from fabricdoc.fabric.reaching import Plan, check_ports, converse
from fabricdoc.fabric.ways import Place, Way, management, places
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.transport import NodeSpec

LOOPBACK = "127.0.0.1"


def with_own_ports(spec: NodeSpec, fabric: Fabric, ports: Sequence[int] = ()) -> Fabric:
    """The fabric with a finding for each of the ports that somebody listens on there (default: torch's rendezvous)."""
    node = next((one for one in fabric.nodes if one.name == spec.name), None)
    if node is None:
        return fabric
    place = own_place(node)
    reached = converse([spec], Plan(ways=[Way(place, place, "management")], ports=check_ports(ports)))
    taken = bootstrap_findings((), (), reached.taken)
    return fabric.model_copy(update={"findings": (*fabric.findings, *taken)})


def own_place(node: Node) -> Place:
    """The address that others would dial: the management one, else the first, else loopback."""
    here = places(node)
    found = management(node, here) or next(iter(here.values()), None)
    return found or Place(node.name, "lo", LOOPBACK, f"{LOOPBACK}/8", 65536)
