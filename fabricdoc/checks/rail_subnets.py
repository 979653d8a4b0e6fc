"""Ports that hear one another over a switch but are not in one subnet: a cable in the wrong leaf, or a wrong address.

Only segments on which each node has one cage: where a node hears itself through the switch, all rails share it. Several
nodes in a second subnet that is no other segment's reach one another where they are: one switch, two subnets, no fault.
The two ends of a cable are `link_addresses`'.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from fabricdoc.checks.differences import SHOWN, named
from fabricdoc.checks.majority import Odd, Place, split
from fabricdoc.checks.ports import is_link_local, networks
from fabricdoc.checks.segments import End, Segment, segments_of
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding

Subnets = tuple[str, ...]
NO_ADDRESS = Unknown(unknown="no IPv4 address on it")


def check_rail_subnets(fabric: Fabric) -> tuple[Finding, ...]:
    """rail-in-another-subnet: one error per segment with ports outside the subnet that most of its nodes have."""
    rails = [one for one in segments_of(fabric) if not one.is_cable]
    homes = [Counter(subnet for end in rail.ends for subnet in _known(end)) for rail in rails]
    anywhere = Counter[str]()
    for here in homes:
        anywhere.update(here)
    found = (_of_rail(rail, here, anywhere) for rail, here in zip(rails, homes, strict=True))
    return tuple(finding for some in found for finding in some)


def _of_rail(rail: Segment, here: Mapping[str, int], anywhere: Mapping[str, int]) -> Iterator[Finding]:
    """`here` and `anywhere` count the ends in each subnet, on this segment and on all."""
    if len({end.node.name for end in rail.ends}) < len(rail.ends):
        return
    ends = {Place(end.node.name, end.ports[0].netdev.name): end for end in rail.ends}
    found = split((place, _subnets(end)) for place, end in ends.items())
    if found is not None:
        wrong = [
            one
            for one in found.odd
            if not set(one.value) & set(one.usual)
            and all(here[subnet] == 1 or anywhere[subnet] > here[subnet] for subnet in one.value)
        ]
        if wrong:
            yield _finding(wrong, ends)


def _known(end: End) -> Subnets:
    found = _subnets(end)
    return found if isinstance(found, tuple) else ()


def _subnets(end: End) -> Fact[Subnets]:
    """The IPv4 subnets of a cage's ports, sorted; no vote without one."""
    own = {network for one in end.ports for network, _address in networks(one.netdev) if not is_link_local(network)}
    return tuple(sorted(own)) or NO_ADDRESS


def _finding(wrong: list[Odd[Place, Subnets]], ends: dict[Place, End]) -> Finding:
    like = wrong[0].like
    return Finding(
        id="rail-in-another-subnet",
        severity="error",
        subject=named([one.key for one in wrong]),
        evidence=(
            Evidence(file=like.node, text=f"{_addresses(ends[like])}, as on {wrong[0].most} of {wrong[0].voters}"),
            *(Evidence(file=one.key.node, text=_addresses(ends[one.key])) for one in wrong[:SHOWN]),
        ),
        cause="These ports hear the ports of another rail's subnet: their cable is in the wrong leaf switch, or their "
        "address belongs to another port. RDMA from them never reaches the ports of their own subnet.",
        fix=tuple(
            f"on {one.key.node}: move the cable of {one.key.slot} to the leaf of {', '.join(one.value)}, or give it an "
            f"address in {', '.join(one.usual)}"
            for one in wrong[:SHOWN]
        ),
    )


def _addresses(end: End) -> str:
    found = (f"{one.netdev.name} {a.ip}/{a.prefix}" for one in end.ports for _network, a in networks(one.netdev))
    return ", ".join(found)
