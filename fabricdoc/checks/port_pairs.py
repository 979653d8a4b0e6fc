"""Speed and PCIe link of ports that should be alike, held against one another over all nodes.

A link that is slow for its kind though both its ends agree, a slot that is narrower than on the other nodes though the
card got all the slot has: one node alone can't tell. What a node knows by itself is `speeds`' and `pcie`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fabricdoc.checks.alike import LikePort, like_ports
from fabricdoc.checks.differences import Told, difference, text_of
from fabricdoc.checks.majority import Odd, Place, Split, split_ports
from fabricdoc.checks.platforms import functions_by_address
from fabricdoc.model.documents import NOT_READ, Fact, Unknown
from fabricdoc.model.fabric import Fabric, PcieFunction
from fabricdoc.model.findings import Finding

Gbps = float


def check_port_pairs(fabric: Fabric) -> tuple[Finding, ...]:
    """One warning for slow links and one for narrow PCIe links per kind of HCA; only where there are two nodes."""
    if len(fabric.nodes) < 2:
        return ()
    functions: dict[str, Mapping[str, PcieFunction]] = {node.name: functions_by_address(node) for node in fabric.nodes}
    return tuple(finding for ports in like_ports(fabric) for finding in _of_kind(ports, functions))


def _of_kind(ports: list[LikePort], functions: Mapping[str, Mapping[str, PcieFunction]]) -> Iterator[Finding]:
    speeds = _slower(split_ports((one.place, one.port.netdev.speed_mbps) for one in ports))
    if speeds is not None:
        yield difference(SPEED, speeds)
    links = split_ports((one.place, _pcie(one, functions)) for one in ports)
    if links is not None:
        yield difference(PCIE, links)


def _slower(found: Split[Place, int] | None) -> Split[Place, int] | None:
    """Only those that are slower than most: the faster one of many is no fault."""
    if found is None:
        return None
    odd = tuple(one for one in found.odd if one.value < one.usual)
    return Split(odd, found.sides) if odd or found.sides else None


def _pcie(one: LikePort, functions: Mapping[str, Mapping[str, PcieFunction]]) -> Fact[tuple[float, int]]:
    """Speed in GT/s and width in lanes of the port's function as it runs now."""
    address = one.port.hca.pci
    function = functions[one.place.node].get(address) if isinstance(address, str) else None
    if function is None or isinstance(function.current_speed_gts, Unknown):
        return NOT_READ
    if isinstance(function.current_width, Unknown):
        return function.current_width
    return function.current_speed_gts, function.current_width


SPEED = Told(
    "link-slower-than-siblings",
    "warning",
    "speed in Mbit/s",
    "A link runs slower than those of the same kind of HCA on the other nodes: another cable or transceiver, or a "
    "switch port that negotiated lower. Every collective waits for it.",
    lambda one: (
        f"look at the cable, the transceiver and the switch port of {text_of(one.key)}: {one.value} Mbit/s instead of "
        f"{one.usual}",
    ),
    ("compare the cables and the switch ports of these links; the slower one sets the pace",),
)


def _pcie_fix(one: Odd[Place, tuple[float, int]]) -> tuple[str, ...]:
    return (
        f"on {one.key.node}: re-seat {one.key.slot}, or move it to a slot like that on {one.like.node}; if the slot is "
        "the same, bring its BIOS to that node's version and power-cycle",
    )


PCIE = Told(
    "pcie-differs-between-nodes",
    "warning",
    "PCIe link (current_link_speed, current_link_width)",
    "HCAs of one kind have different PCIe links. The narrow one halves the bandwidth of its port while everything else "
    "looks right, and NCCL plans with the highest values, so it is invisible to it.",
    _pcie_fix,
    ("compare slot and BIOS of both; the wider link is as it should be",),
    show=lambda link: f"{link[0]:g} GT/s x{link[1]}",
)
