"""IPv4 addresses on the two ends of each proven cable: in one subnet, on the port the cable is in, not swapped.

Subnets are never taken as proof of cabling: a ping succeeds with addresses on the wrong ports (the kernel answers ARP
on any of them) while RDMA, which leaves by the port that has the GID, does not arrive.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fabricdoc.checks.free_addresses import Taken, add_line, remove_line
from fabricdoc.checks.ports import is_link_local, netdevs_of, networks
from fabricdoc.checks.segments import Attached, End, Segment, segments_of
from fabricdoc.model.fabric import Address, Fabric, Node
from fabricdoc.model.findings import Evidence, Finding

Homes = dict[str, dict[str, list["Placed"]]]  # node -> network -> its ports


class Placed(NamedTuple):
    """An address on an interface."""

    netdev: str
    address: Address

    def cidr(self) -> str:
        """ "10.0.0.1/24" """
        return f"{self.address.ip}/{self.address.prefix}"

    def text(self) -> str:
        """ "p0 10.0.0.1/24" """
        return f"{self.netdev} {self.cidr()}"


class Mismatch(NamedTuple):
    """A cable both of whose ends have addresses that the other end has no subnet for: networks of each end alone."""

    cable: Segment
    first: dict[str, Placed]
    second: dict[str, Placed]


def check_link_addresses(fabric: Fabric) -> tuple[Finding, ...]:
    """One error per cable whose ends share no subnet where they should; one for two cables whose addresses are swapped.

    A cable with no address at one end and none elsewhere for it is not this check's.
    """
    cables = [segment for segment in segments_of(fabric) if segment.is_cable]
    if not cables:
        return ()
    homes: Homes = {node.name: _homes(node) for node in fabric.nodes}
    wrong = [found for cable in cables if (found := _mismatch(cable)) is not None]
    swapped, left = _swaps(wrong)
    taken = Taken(fabric)
    return (*swapped, *(finding for found in left for finding in _judged(found, homes, taken)))


def _homes(node: Node) -> dict[str, list[Placed]]:
    found: dict[str, list[Placed]] = defaultdict(list)
    for netdev in netdevs_of(node):
        for network, address in networks(netdev):
            found[network].append(Placed(netdev.name, address))
    return found


def _mismatch(cable: Segment) -> Mismatch | None:
    first, second = (_networks(end.ports) for end in cable.ends)
    only_first = {network: one for network, one in first.items() if not _reaches(network, one, second)}
    only_second = {network: one for network, one in second.items() if not _reaches(network, one, first)}
    return Mismatch(cable, only_first, only_second) if only_first or only_second else None


def _reaches(network: str, placed: Placed, others: dict[str, Placed]) -> bool:
    """Whether the other end has this subnet, or one of another size in which both addresses are."""
    if network in others:
        return True
    own, address = ipaddress.IPv4Network(network), ipaddress.IPv4Address(placed.address.ip)
    return any(
        address in ipaddress.IPv4Network(other) and ipaddress.IPv4Address(one.address.ip) in own
        for other, one in others.items()
    )


def _networks(ports: Sequence[Attached]) -> dict[str, Placed]:
    return {
        network: Placed(one.netdev.name, address)
        for one in ports
        for network, address in networks(one.netdev)
        if not is_link_local(network)
    }


def _swaps(wrong: list[Mismatch]) -> tuple[list[Finding], list[Mismatch]]:
    """Pairs of cables of the same two nodes that would be right with the addresses of one node exchanged."""
    waiting: dict[tuple[str, ...], int] = {}
    found: list[Finding] = []
    done: set[int] = set()
    for number, one in enumerate(wrong):
        if not one.first or not one.second:
            continue
        key = (*(end.node.name for end in one.cable.ends), *sorted(one.first), "|", *sorted(one.second))
        mirrored = (*(end.node.name for end in one.cable.ends), *sorted(one.second), "|", *sorted(one.first))
        other = waiting.pop(mirrored, None)
        if other is None:
            waiting[key] = number
        else:
            found.append(_swapped(wrong[other], one))
            done |= {number, other}
    return found, [one for number, one in enumerate(wrong) if number not in done]


def _swapped(one: Mismatch, other: Mismatch) -> Finding:
    node = one.cable.ends[1].node.name
    here, there = list(one.second.values()), list(other.second.values())
    moves = [line for old, new in zip(here, there, strict=False) for line in _exchange(old, new)]
    return Finding(
        id="addresses-swapped-between-rails",
        severity="error",
        subject=f"{node}: {', '.join(sorted({placed.netdev for placed in (*here, *there)}))}",
        evidence=tuple(
            Evidence(file=end.node.name, text=f"{placed.text()} (cable {mismatch.cable.title()})")
            for mismatch in (one, other)
            for end, placed_by in zip(mismatch.cable.ends, (mismatch.first, mismatch.second), strict=True)
            for placed in placed_by.values()
        ),
        cause="Two cables join these nodes, and each port's subnet belongs to the other cable. A ping still succeeds, "
        "but RDMA between addresses of one subnet never arrives (completion error 12, or errno 110).",
        fix=(f"on {node}:", *moves, "and exchange them where they are configured (netplan), or exchange the two plugs"),
    )


def _exchange(old: Placed, new: Placed) -> list[str]:
    return [
        *(remove_line(one.cidr(), one.netdev) for one in (old, new)),
        add_line(new.cidr(), old.netdev),
        add_line(old.cidr(), new.netdev),
    ]


def _judged(found: Mismatch, homes: Homes, taken: Taken) -> Iterator[Finding]:
    misplaced = list(_misplaced(found, homes))
    if misplaced:
        yield misplaced[0]
    elif found.first and found.second:
        yield _different(found, taken)


def _misplaced(found: Mismatch, homes: Homes) -> Iterator[Finding]:
    """A node that has the subnet of the other end, but on another interface than the one the cable is in."""
    first, second = found.cable.ends
    for end, peer, wanted, own in (
        (second, first, found.first, found.second),
        (first, second, found.second, found.first),
    ):
        for network, at_peer in wanted.items():
            elsewhere = homes[end.node.name].get(network, [])
            if elsewhere and len(homes[peer.node.name].get(network, [])) == 1:
                target = _target(end, {placed.netdev for placed in own.values()})
                yield _wrong_port(found.cable, end, target, elsewhere[0], peer, at_peer)


def _target(end: End, astray: set[str]) -> str:
    """The port of an end that the missing address belongs on: one without any, else one whose own are in place."""
    bare = [one for one in end.ports if not _networks((one,))]
    settled = [one for one in end.ports if one.netdev.name not in astray]
    return (bare or settled or list(end.ports))[0].netdev.name


def _wrong_port(cable: Segment, end: End, target: str, placed: Placed, peer: End, at_peer: Placed) -> Finding:
    return Finding(
        id="address-on-wrong-port",
        severity="error",
        subject=f"{end.node.name}/{placed.netdev}",
        evidence=(
            Evidence(file=peer.node.name, text=f"{at_peer.text()}, cabled to {end.node.name}/{target}"),
            Evidence(file=end.node.name, text=placed.text()),
        ),
        cause=f"The cable {cable.title()} ends in {target}, but the address for it is on {placed.netdev}. A ping may "
        "succeed all the same; RDMA leaves by the port that has the GID and never reaches the other end.",
        fix=(
            f"on {end.node.name}:",
            remove_line(placed.cidr(), placed.netdev),
            add_line(placed.cidr(), target),
            "and move it where it is configured (netplan, NetworkManager)",
        ),
    )


def _different(found: Mismatch, taken: Taken) -> Finding:
    (first, second), (network, placed) = found.cable.ends, next(iter(found.first.items()))
    target = next(iter(found.second.values()))
    address = taken.free(network) or f"a free address of {network}"
    return Finding(
        id="link-ends-in-different-subnets",
        severity="error",
        subject=found.cable.title(),
        evidence=tuple(
            Evidence(file=end.node.name, text=one.text())
            for end, by in ((first, found.first), (second, found.second))
            for one in by.values()
        ),
        cause="The two ends of one cable have addresses of different subnets. Nothing routes between them, so "
        "connections over this cable fail (errno 110 or 113), or go astray over another port.",
        fix=(
            f"on {second.node.name}, to bring {target.netdev} into the subnet of {placed.text()}:",
            remove_line(target.cidr(), target.netdev),
            add_line(address, target.netdev),
            "and change it where the interfaces are configured (netplan, NetworkManager), so that it stays",
        ),
    )
