"""What a fingerprint keeps of an HCA, read alike when recorded and when compared."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.gate.ports import port_comparisons
from fabricdoc.model.documents import NOT_READ, Unknown
from fabricdoc.model.fabric import GidChoice, Hca, Node, PcieFunction
from fabricdoc.model.preset import NodePrint, PortPrint
from fabricdoc.model.prints import hca_print
from tests import fabrics

pytestmark = pytest.mark.unit

GID = "0000:0000:0000:0000:0000:ffff:0a4d:0001"


def node(**fields: Any) -> Node:
    hca: Hca = fabrics.hca("mlx5_0", "p0").model_copy(update={"pci": "0000:01:00.0"})
    function = PcieFunction(
        address="0000:01:00.0",
        vendor="0x15b3",
        device="0x1021",
        pci_class="0x0200",
        current_width=4,
        current_speed_gts=32.0,
    )
    chosen = GidChoice(hca="mlx5_0", port=1, index=3, gid=GID, why="first")
    base = {"pcie": (function,), "nccl_gids": (chosen,), **fields}
    return fabrics.node("alpha", netdevs=[fabrics.netdev("p0")], hcas=[hca]).model_copy(update=base)


def test_gid_firmware_and_pcie_of_a_port() -> None:
    found = hca_print(node(), "p0")
    assert found == (GID, "28.45.4028", "x4 at 32 GT/s")


def test_a_port_without_an_hca_has_none() -> None:
    assert hca_print(node(), "p9") == (NOT_READ, NOT_READ, NOT_READ)
    assert hca_print(node(hcas=Unknown(unknown="no sysfs")), "p0") == (NOT_READ, NOT_READ, NOT_READ)


def test_what_can_not_be_read_says_why() -> None:
    assert hca_print(node(nccl_gids=()), "p0").gid == Unknown(unknown="NCCL finds no GID on this port")
    assert hca_print(node(pcie=Unknown(unknown="EACCES")), "p0").pcie == Unknown(unknown="EACCES")
    assert hca_print(node(pcie=()), "p0").pcie == Unknown(unknown="no PCIe function 0000:01:00.0")


def printed(**fields: Any) -> NodePrint:
    of_hca = {**hca_print(node(), "p0")._asdict(), **fields}
    port = PortPrint(netdev="p0", hca="mlx5_0", mac=NOT_READ, mtu=9000, speed_mbps=1, **of_hca)
    facts = dict.fromkeys(("hostname", "kernel", "torch", "nccl", "nvidia_driver"), "x")
    return NodePrint.model_validate({"name": "alpha", "ports": (port,), **facts})


def outcomes(print_: NodePrint, now: Node) -> dict[str, str]:
    found = {one.id: one.outcome for one in port_comparisons(print_, now)}
    return {id: found[id] for id in ("gid", "firmware", "pcie") if id in found}


def test_each_is_compared_where_it_was_recorded() -> None:
    assert outcomes(printed(), node()) == {"gid": "ok", "firmware": "ok", "pcie": "ok"}
    assert outcomes(printed(gid=NOT_READ, firmware=NOT_READ, pcie=NOT_READ), node()) == {}


def test_other_firmware_another_gid_and_a_narrower_link_differ() -> None:
    old = {"gid": GID.replace("0001", "0009"), "firmware": "28.43.1014", "pcie": "x4 at 16 GT/s"}
    for id, value in old.items():
        assert outcomes(printed(**{id: value}), node())[id] == "differs"


def test_a_gid_at_another_index_is_the_same_gid() -> None:
    moved = GidChoice(hca="mlx5_0", port=1, index=5, gid=GID, why="first")
    assert outcomes(printed(), node(nccl_gids=(moved,)))["gid"] == "ok"
