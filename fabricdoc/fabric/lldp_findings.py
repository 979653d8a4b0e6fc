"""Findings by LLDP: it contradicts the beacons, a port is behind a switch, a port leads to a machine nobody named.

Composes findings from neighbours; makes no link. What a neighbour says of itself is quoted, never believed alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from fabricdoc.fabric.neighbours import strangers, switch_ports
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link, LldpNeighbour, Node, PortKey
from fabricdoc.model.findings import Evidence, Finding

SHOWN = 8


def said(at: PortKey, told: LldpNeighbour) -> str:
    """ "alpha/p0 has the neighbour beta, port p1 (0a:0b:0c:03:22:11)"."""
    port = f"{told.port_description} ({told.port})" if told.port_description else told.port
    return f"{at[0]}/{at[1]} has the neighbour {told.system or told.chassis}, port {port}"


def contradictions(
    wrong: Mapping[tuple[PortKey, PortKey], Sequence[str]], links: Sequence[Link], nodes: Sequence[Node]
) -> Iterator[Finding]:
    """A warning for each pair that LLDP joins and the beacons, which both its ports sent, do not."""
    proven: dict[PortKey, list[PortKey]] = defaultdict(list)
    for link in links:
        ends = link.ends
        for near, far in (ends, ends[::-1]):
            proven[near].append(far)
    for pair, words in wrong.items():
        yield Finding(
            id="lldp-contradicts-beacons",
            severity="warning",
            subject=" - ".join(f"{node}/{port}" for node, port in pair),
            evidence=(
                *(Evidence(file=word.partition("/")[0], text=word) for word in words),
                *(Evidence(file=port[0], text=_beacons_say(port, proven[port])) for port in pair),
            ),
            cause="LLDP names these two ports as neighbours, and the frames just sent did not pass between them. Its "
            "word may be two minutes old (a cable moved since), or something in between passes LLDP and not the "
            "others, or forges it. The frames decide.",
            fix=("run `fabricdoc cables` again in two minutes; if it stays so, follow this cable by hand",),
            confidence="likely",
        )


def _beacons_say(port: PortKey, others: Sequence[PortKey]) -> str:
    where = ", ".join(f"{node}/{other}" for node, other in others[:SHOWN])
    return f"{port[0]}/{port[1]}: {f'beacons prove it joined to {where}' if where else 'no beacon heard'}"


def lldp_findings(fabric: Fabric, usable: Collection[PortKey]) -> Iterator[Finding]:
    """What LLDP says of ports that may be used or are in a link: their switches, and machines nobody named."""
    links = () if isinstance(fabric.links, Unknown) else fabric.links
    linked = {(end.node, end.netdev) for link in links for end in (link.a, link.b)}
    told = linked | set(usable)
    yield from _switches({key: one for key, one in switch_ports(fabric.nodes).items() if key in told}, links)
    yield from _strangers({key: one for key, one in strangers(fabric.nodes).items() if key in told}, linked)


def _switches(ports: Mapping[PortKey, LldpNeighbour], links: Sequence[Link]) -> Iterator[Finding]:
    by_switch: dict[str, list[tuple[PortKey, LldpNeighbour]]] = defaultdict(list)
    for key, told in ports.items():
        by_switch[told.chassis].append((key, told))
    through = {end for link in links for ends in [link.ends] if all(end in ports for end in ends) for end in ends}
    for chassis, behind in sorted(by_switch.items()):
        name = behind[0][1].system or chassis
        count = sum(key in through for key, _told in behind)
        more = f" Links of {count} of these ports go through it." if count else ""
        yield Finding(
            id="port-behind-switch",
            severity="info",
            subject=f"switch {name}",
            evidence=(
                *(Evidence(file=key[0], text=f"{key[1]} is on its port {told.port}") for key, told in behind[:SHOWN]),
                *_rest(behind),
            ),
            cause=f"These ports are cabled to a switch and not to another node.{more} Its MTU, PFC, ECN and VLANs "
            "count as much as the nodes' own settings.",
            confidence="likely",
        )


def _rest(behind: Sequence[tuple[PortKey, LldpNeighbour]]) -> tuple[Evidence, ...]:
    left = len(behind) - SHOWN
    return (Evidence(file=behind[-1][0][0], text=f"and {left} more ports"),) if left > 0 else ()


def _strangers(ports: Mapping[PortKey, LldpNeighbour], linked: Collection[PortKey]) -> Iterator[Finding]:
    for key, told in sorted(ports.items()):
        alone = key not in linked
        yield Finding(
            id="lldp-unknown-neighbour",
            severity="warning" if alone else "info",
            subject=f"{key[0]}/{key[1]}",
            evidence=(Evidence(file=key[0], text=f"{said(key, told)}, chassis {told.chassis}"),),
            cause="The machine at the other end is none of the nodes named here."
            if alone
            else "Beside the proven link, a machine that is none of the nodes named here is on this port's wire.",
            fix=(f"name it with --nodes if it belongs here, else leave {key[1]} of {key[0]} out of the selectors",)
            if alone
            else (),
        )
