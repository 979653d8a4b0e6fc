"""Firmware of one model on all nodes."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.firmware import check_firmware
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.unit.checks.between import ids, nodes_with, roce, roce_node

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")


def fabric(*nodes: tuple[tuple[Any, ...], ...]) -> Fabric:
    """Nodes of HCAs given as (firmware, board id, model)."""

    def made(name: str, hcas: tuple[tuple[Any, ...], ...]) -> Any:
        ports = []
        for number, (firmware, board, *model) in enumerate(hcas):
            facts = {"firmware": firmware, "board_id": board, "hca_type": (model or ["MT4129"])[0]}
            ports.append(roce(f"mlx5_{number}", of=f"p{number}", ip="10.0.0.1", **facts))
        return roce_node(name, *ports)

    return nodes_with(nodes, made)


NEW, OLD = ("28.45.4028", "NVD0"), ("28.43.1014", "NVD0")


def test_the_node_with_another_firmware_is_named_once_for_all_its_hcas() -> None:
    (found,) = check_firmware(fabric((NEW, NEW), (OLD, OLD), (NEW, NEW)))
    assert ids([found]) == [("firmware-differs-between-nodes", "warning", "beta")]
    assert found.evidence[1].text == "firmware of MT4129 (/sys/class/infiniband/*/fw_ver): 28.43.1014"
    assert "bring the firmware of beta from 28.43.1014 to 28.45.4028" in found.fix[0]


def test_the_one_hca_of_a_node_that_differs_is_named() -> None:
    found = check_firmware(fabric((NEW, NEW, NEW), (NEW, OLD, NEW)))
    assert ids(found) == [("firmware-differs-between-nodes", "warning", "beta/mlx5_1")]
    assert ids(check_firmware(fabric((NEW, OLD, NEW)))) == [
        ("firmware-differs-between-nodes", "warning", "alpha/mlx5_1")
    ]


def test_boards_of_two_vendors_are_only_information() -> None:
    (found,) = check_firmware(fabric((NEW, NEW), (("28.44.1036", "ASU0"), ("28.44.1036", "ASU0"))))
    assert ids([found]) == [("firmware-differs-between-nodes", "info", "alpha, beta")]
    assert "different vendors" in found.cause


def test_two_nodes_of_one_board_are_both_told() -> None:
    found = check_firmware(fabric((NEW,), (OLD,)))
    assert ids(found) == [("firmware-differs-between-nodes", "warning", "alpha, beta")]
    unknown_boards = check_firmware(fabric((("1", HIDDEN),), (("2", HIDDEN),)))
    assert [one.severity for one in unknown_boards] == ["warning"]


@pytest.mark.parametrize(
    "silent",
    [
        fabric((NEW, NEW), (NEW, NEW)),
        fabric((NEW, NEW)),
        fabric((NEW,), ((HIDDEN, "NVD0"),)),
        fabric((NEW,), (("22.1", "NVD0", "MT4125"),)),
        fabric((("28.45", "NVD0", HIDDEN),), (("28.43", "NVD0", HIDDEN),)),
    ],
)
def test_alike_alone_unknown_or_another_model_is_no_difference(silent: Fabric) -> None:
    assert check_firmware(silent) == ()


def test_vfs_have_no_vote_of_their_own() -> None:
    made = fabric((NEW,), (OLD,))
    nodes = [
        one.model_copy(
            update={"hcas": tuple(hca.model_copy(update={"physical_function": "0000:01:00.0"}) for hca in one.hcas)}
        )
        for one in made.nodes
    ]
    assert check_firmware(Fabric(nodes=tuple(nodes))) == ()
