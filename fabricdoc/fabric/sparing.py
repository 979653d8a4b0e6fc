"""LLDP first on large switched fabrics: ports that it shows behind a switch send no broadcast, unless they are listed.

A beacon is a broadcast: behind a switch it goes to every port of the VLAN, so that thousands of ports hear thousands of
frames that are not theirs. Which port is on which switch LLDP has told before. Sends nothing and hears nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabricdoc.checks import limit
from fabricdoc.fabric.neighbours import switch_ports
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.transport import NodeSpec

Ports = Mapping[str, Sequence[str]]
SHOWN = 8


def lldp_first(specs: Sequence[NodeSpec], fabric: Fabric, ports: Ports) -> tuple[Fabric, dict[str, tuple[str, ...]]]:
    """The ports (by node) that beacons leave from, and the fabric with the finding about those left out.

    All of them on up to 16 nodes, of a node whose ports are listed (the user's own word), and where LLDP shows no
    switch.
    """
    wanted = {name: tuple(some) for name, some in ports.items()}
    if len(wanted) <= int(limit("cables", "lldp_first_nodes")):
        return fabric, wanted
    listed = {spec.name for spec in specs if spec.ports}
    switched = {key for key in switch_ports(fabric.nodes) if key[0] not in listed}
    kept = {name: tuple(port for port in some if (name, port) not in switched) for name, some in wanted.items()}
    spared = {name: [port for port in some if port not in kept[name]] for name, some in wanted.items()}
    if not any(spared.values()):
        return fabric, wanted
    finding = _finding({name: some for name, some in spared.items() if some}, fabric.nodes)
    return fabric.model_copy(update={"findings": (*fabric.findings, finding)}), kept


def _finding(spared: Mapping[str, Sequence[str]], nodes: Sequence[Node]) -> Finding:
    count = sum(map(len, spared.values()))
    names = dict.fromkeys(port for some in spared.values() for port in some)
    told = {key: one.system or one.chassis for key, one in switch_ports(nodes).items()}
    shown = [(name, port) for name, some in spared.items() for port in some][:SHOWN]
    return Finding(
        id="beacons-left-out",
        severity="info",
        subject=f"{count} ports of {len(spared)} nodes",
        evidence=tuple(
            Evidence(file=name, text=f"{port} is behind the switch {told[name, port]}") for name, port in shown
        ),
        cause=f"With {len(nodes)} nodes, no beacon was sent from ports that LLDP shows behind a switch: it would go to "
        "every port of their VLAN. So no link of theirs is proven by beacons.",
        fix=(f"to send them all the same, list the ports: --ports {','.join(names)}",),
    )
