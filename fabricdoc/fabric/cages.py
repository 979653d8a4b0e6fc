"""Cages: which HCAs share a physical connector (twins), from what the chip and the driver say of themselves.

Evidence, strongest first: the chip (sys_image_guid) with the connector that the firmware reports (phys_port_name);
the chip with the `np` suffix that udev made of it, in the interface's name or altnames, with the PCI function. PCI
domains and buses, device names and `topo -m` say nothing here: on a DGX Spark they pair the two cages of one PCIe
link. A device whose facts are missing is in no cage. Cables are not looked at.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Cage, Hca, Netdev, NodeReport

CONNECTOR = re.compile(r"p\d{1,3}(s\d{1,3})?")
SUFFIX = re.compile(r"\dn(p\d{1,3}(?:s\d{1,3})?)\Z")
FUNCTION = re.compile(r"\.([0-7])\Z")
NO_GUID = re.compile(r"[0:]*")
BY_PORT_NAME = "sys_image_guid and phys_port_name"
BY_SUFFIX = "sys_image_guid, np suffix of the interface's name and PCI function"
BY_CHIP = "sys_image_guid: the only function of its chip"
EVIDENCE = (BY_PORT_NAME, BY_SUFFIX, BY_CHIP)
OTHER = "phys_port_name of something else (a representor)"
SOFT_DRIVERS = ("rdma_rxe", "siw")


class Place(NamedTuple):
    """Where one port of an HCA sits: chip, connector ("p0", "" unnamed), PCI function ("" unknown), the evidence."""

    hca: str
    chip: str
    connector: str
    function: str
    by: str


class Spot(NamedTuple):
    """What an interface says: its connector, its PCI function, and by which evidence ("" none, OTHER: no connector)."""

    connector: str
    function: str
    by: str


NO_SPOT = Spot("", "", "")


def cages_of(node: NodeReport) -> tuple[Cage, ...]:
    """The cages of a node's physical functions by id, each with its HCAs in the node's order.

    Left out: VFs, bonds, soft devices, devices without a chip or a connector that can be told, and those whose np
    suffix and PCI function contradict the others of the cage.
    """
    by_connector: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for place in _places(node):
        by_connector[place.chip, place.connector].append(place)
    agreed = {key: _agreeing(places) for key, places in by_connector.items()}
    return tuple(_cage(*key, places) for key, places in sorted(agreed.items()) if places)


def _cage(chip: str, connector: str, places: list[Place]) -> Cage:
    found = {place.by for place in places}
    return Cage(
        id=f"{chip}/{connector}" if connector else chip,
        hcas=tuple(dict.fromkeys(place.hca for place in places)),
        by="; ".join(by for by in EVIDENCE if by in found),
    )


def _agreeing(places: list[Place]) -> list[Place]:
    """Those that may share a cage: twins have one PCI function number, which must back up what only a name says."""
    alike = len({place.function for place in places}) == 1
    return [place for place in places if alike or place.by != BY_SUFFIX]


def _places(node: NodeReport) -> Iterator[Place]:
    """Every port of every physical function whose place can be told."""
    spots = {netdev.name: _spot(netdev) for netdev in (() if isinstance(node.netdevs, Unknown) else node.netdevs)}
    functions = () if isinstance(node.pcie, Unknown) else node.pcie
    virtual = {one.address for one in functions if one.physical_function is not None}
    hcas = [hca for hca in (() if isinstance(node.hcas, Unknown) else node.hcas) if _is_physical(hca, virtual)]
    alone = {chip for chip, count in Counter(map(_chip, hcas)).items() if count == 1}
    for hca in hcas:
        chip = _chip(hca)
        for port in hca.ports if chip else ():
            spot = spots.get(port.netdev) if isinstance(port.netdev, str) else None
            place = _place(hca, chip, spot or NO_SPOT, is_alone=chip in alone and len(hca.ports) == 1)
            if place is not None:
                yield place


def _is_physical(hca: Hca, virtual: set[str]) -> bool:
    """Whether it is neither a VF, nor a device that stands for a bond, nor a soft one."""
    is_virtual = hca.physical_function is not None or hca.pci in virtual
    return not is_virtual and hca.bond is None and hca.driver not in SOFT_DRIVERS


def _chip(hca: Hca) -> str:
    """The chip's GUID, "" where it is unknown or zero."""
    guid = hca.sys_image_guid
    return "" if isinstance(guid, Unknown) or NO_GUID.fullmatch(guid) else guid


def _spot(netdev: Netdev) -> Spot:
    """What an interface says of its connector: the driver's word, else the one suffix in its names."""
    function = _function(netdev.pci)
    if isinstance(netdev.phys_port_name, str):
        is_connector = CONNECTOR.fullmatch(netdev.phys_port_name)
        return Spot(netdev.phys_port_name, function, BY_PORT_NAME) if is_connector else Spot("", function, OTHER)
    named = {found[1] for name in (netdev.name, *netdev.altnames) if (found := SUFFIX.search(name))}
    return Spot(named.pop(), function, BY_SUFFIX) if len(named) == 1 else Spot("", function, "")


def _place(hca: Hca, chip: str, spot: Spot, *, is_alone: bool) -> Place | None:
    """The place of one port by its interface, or None where its facts don't tell.

    `is_alone`: the only port of the only function of its chip, which sits in a cage whatever that is called.
    """
    function = _function(hca.pci) or spot.function
    if spot.by == BY_PORT_NAME or (spot.by == BY_SUFFIX and function):
        return Place(hca.name, chip, spot.connector, function, spot.by)
    if is_alone and spot.by != OTHER and isinstance(hca.pci, str):
        return Place(hca.name, chip, "", function, BY_CHIP)
    return None


def _function(address: Fact[str]) -> str:
    """The function number of a PCI address, "" where there is none."""
    found = None if isinstance(address, Unknown) else FUNCTION.search(address)
    return found[1] if found else ""
