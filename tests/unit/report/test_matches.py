"""What a value takes, for people: rows by node, peers or their lack, remarks; many alike nodes in one part."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.fabric.matching import matched, questions
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Match, MatchedPort, NodeMatch
from fabricdoc.report.fabric import render_fabric
from fabricdoc.report.matches import render_matches
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_foreign, spark_one_cable, spark_one_crossed

pytestmark = pytest.mark.unit


def text_of(shown: Any, fabric: Fabric, *words: str, width: int = 120) -> str:
    return shown(render_matches(matched(fabric, questions(words)).matches), width)


def test_every_node_has_its_rows_with_device_number_interface_and_peers(shown: Any) -> None:
    text = text_of(shown, spark_one_cable(), "=rocep1s0f0,roceP2p1s0f0")
    assert "NCCL_IB_HCA='=rocep1s0f0,roceP2p1s0f0'  takes every HCA called rocep1s0f0 or roceP2p1s0f0\n" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["spark-a", "2", "devices"] in rows
    assert ["1", "roceP2p1s0f0:1", "enP2p1s0f0np0", "spark-b/enP2p1s0f0np0,", "spark-b/enp1s0f0np0"] in rows


def test_nothing_taken_and_no_proven_peer_are_said(shown: Any) -> None:
    text = text_of(shown, spark_one_crossed(), "=rocep1s0f1")
    assert "spark-a  nothing\n" in text
    assert "'rocep1s0f1' fits only ports that are not ACTIVE: rocep1s0f1:1 DOWN" in text
    assert "nobody: no proven peer, leave it out" in text_of(shown, spark_foreign(), "rocep1s0f")


def test_an_interface_without_a_link_is_no_fault(shown: Any) -> None:
    text = text_of(shown, spark_one_cable(), "NCCL_SOCKET_IFNAME==enP7s7")
    assert "no proven link" in text
    assert "leave it out" not in text
    assert "HCA" not in text


@pytest.mark.long
def test_many_nodes_that_look_alike_share_their_rows(shown: Any) -> None:
    text = text_of(shown, eight_rail_servers(64), "mlx5_1")
    assert "server-001, server-002, server-003, server-004 and 60 more  1 device\n" in text
    assert len(text.splitlines()) < 8


def test_what_is_not_known_says_why(shown: Any) -> None:
    port = MatchedPort(netdev=Unknown(unknown="moved away"), hca="mlx5_0", port=1, peers=Unknown(unknown="no links"))
    nodes = (
        NodeMatch(node="a", ports=Unknown(unknown="no sysfs")),
        NodeMatch(node="b", ports=(port,)),
    )
    text = shown(render_matches([Match(variable="NCCL_IB_HCA", value="", reading="all", nodes=nodes)]))
    assert "a  not known: no sysfs" in text
    assert "? (no links)" in text
    assert "NCCL_IB_HCA=  takes all\n" in text


def test_it_stands_in_the_place_of_the_selectors_at_the_end(shown: Any) -> None:
    fabric = matched(spark_one_cable(), questions(["=rocep1s0f0"]))
    text = shown(render_fabric(fabric, "links"), 120)
    assert "export NCCL_IB_HCA" not in text
    assert text.index("proven by beacons") < text.index("NCCL_IB_HCA='=rocep1s0f0'")


def test_a_hostile_value_does_nothing_to_a_terminal(shown: Any) -> None:
    text = text_of(shown, spark_one_cable(), "=\x1b[31mred\u202e\n'x", "NCCL_SOCKET_IFNAME=\x07\x1b]0;x\x07")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_it_fits_narrow_screens(shown: Any, width: int) -> None:
    text = text_of(shown, spark_one_cable(), "=rocep1s0f0,roceP2p1s0f0,rocep1s0f1", width=width)
    assert max(len(row) for row in text.splitlines()) <= width
