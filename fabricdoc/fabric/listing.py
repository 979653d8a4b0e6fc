"""What to say where ports listed with --ports are not there, or none was listed and none has an RDMA device.

Composes text and findings from what a scan saw; opens no port.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

from fabricdoc.fabric.beacons import all_ports, candidate_ports, usable_ports
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Node
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.transport import NodeSpec

NO_RDMA = "no node has an RDMA-backed port and none is listed"


def no_candidates(specs: Sequence[NodeSpec], nodes: Sequence[Node]) -> str:
    """Why no port at all can be probed, with the option to paste in backticks at the end where there is one."""
    listed = [pattern for spec in specs for pattern in spec.ports]
    if listed:
        return nothing_matches(listed, nodes)
    option = ports_option(nodes)
    return f"{NO_RDMA}; name the ports: `{option}`" if option else f"{NO_RDMA}; no port of any node has carrier"


def nothing_matches(patterns: Iterable[str], nodes: Sequence[Node]) -> str:
    """`enp9s9 matches no port; alpha has enp1s0f0np0, enp1s0f1np1; beta has ...`, equal nodes told together."""
    wanted = list(dict.fromkeys(patterns))
    owners: dict[str, list[str]] = {}
    for node in nodes:
        owners.setdefault(", ".join(all_ports(node)) or "no port", []).append(node.name)
    there = [f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} {ports}" for ports, names in owners.items()]
    return "; ".join([f"{', '.join(wanted)} {'matches' if len(wanted) == 1 else 'match'} no port", *there])


def ports_option(nodes: Sequence[Node]) -> str:
    """`--ports a,b` with every port of these nodes that has carrier; empty when none has."""
    names = dict.fromkeys(name for node in nodes for name in usable_ports(node))
    return f"--ports {','.join(names)}" if names else ""


def unmatched(specs: Sequence[NodeSpec], nodes: Sequence[Node]) -> tuple[Finding, ...]:
    """A warning for listed ports that no node has, and for a node of which no port is probed at all."""
    found = {node.name: node for node in nodes}
    lost = [
        pattern
        for pattern in dict.fromkeys(pattern for spec in specs for pattern in spec.ports)
        if not any(_matches(pattern, found[spec.name]) for spec in specs if pattern in spec.ports)
    ]
    told = [_finding(pattern, nothing_matches([pattern], nodes), nodes) for pattern in lost]
    bare = [found[spec.name] for spec in specs if not candidate_ports(spec, found[spec.name])]
    return (*told, *(_finding(f"ports of {node.name}", _nothing_of(node), [node]) for node in bare))


def _matches(pattern: str, node: Node) -> bool:
    netdevs = () if isinstance(node.netdevs, Unknown) else node.netdevs
    return any(fnmatch.fnmatchcase(netdev.name, pattern) for netdev in netdevs)


def _nothing_of(node: Node) -> str:
    return f"no port of {node.name} was probed; it has {', '.join(all_ports(node)) or 'no port'}"


def _finding(subject: str, cause: str, nodes: Sequence[Node]) -> Finding:
    option = ports_option(nodes)
    return Finding(
        id="port-not-probed",
        severity="warning",
        subject=subject,
        evidence=tuple(
            Evidence(file=node.name, text=f"ports: {', '.join(all_ports(node)) or 'none'}") for node in nodes
        ),
        cause=cause,
        fix=(f"name ports that are there, as in {option}",) if option else (),
    )
