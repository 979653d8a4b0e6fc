"""What a fingerprint keeps of the HCA on a port, read in one way when it is recorded and when it is held against it.

Values only, by which NCCL and the NIC work: the GID's value (its index moves), the firmware, the PCIe link. Texts.
"""

from __future__ import annotations

from typing import NamedTuple

from fabricdoc.model.documents import NOT_READ, Fact, Unknown
from fabricdoc.model.fabric import Hca, Node


class HcaPrint(NamedTuple):
    """`gid` is what NCCL takes on the port, `pcie` reads "x4 at 32 GT/s"."""

    gid: Fact[str] = NOT_READ
    firmware: Fact[str] = NOT_READ
    pcie: Fact[str] = NOT_READ


def hca_print(node: Node, netdev: str) -> HcaPrint:
    """Of the HCA port on that interface; `NOT_READ` everywhere where there is none."""
    hcas = () if isinstance(node.hcas, Unknown) else node.hcas
    hca = next((one for one in hcas if any(port.netdev == netdev for port in one.ports)), None)
    if hca is None:
        return HcaPrint()
    number = next(port.number for port in hca.ports if port.netdev == netdev)
    chosen = next((one.gid for one in node.nccl_gids if (one.hca, one.port) == (hca.name, number)), None)
    gid: Fact[str] = chosen if chosen is not None else Unknown(unknown="NCCL finds no GID on this port")
    return HcaPrint(gid, hca.firmware, _pcie(node, hca))


def _pcie(node: Node, hca: Hca) -> Fact[str]:
    if isinstance(node.pcie, Unknown) or isinstance(hca.pci, Unknown):
        return node.pcie if isinstance(node.pcie, Unknown) else NOT_READ
    function = next((one for one in node.pcie if one.address == hca.pci), None)
    if function is None:
        return Unknown(unknown=f"no PCIe function {hca.pci}")
    width, speed = function.current_width, function.current_speed_gts
    if isinstance(width, Unknown):
        return width
    return speed if isinstance(speed, Unknown) else f"x{width} at {speed:g} GT/s"
