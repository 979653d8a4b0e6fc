"""What all nodes share, what differs, ranks, and the names a machine goes by."""

from __future__ import annotations

import pytest

from fabricdoc.export.content import Content, common_lines, host_names, print_of, settings
from tests.unit.export.presets_made import HEAD, node, pair, preset, printed

pytestmark = pytest.mark.unit


def test_common_and_own_lines_of_a_crossed_pair() -> None:
    content = Content(pair({"NCCL_ALGO": "x"}), pair().nodes)
    assert [line.name for line in content.common] == ["NCCL_NET", "NCCL_ALGO"]
    assert [line.value for line in content.own(content.preset.nodes[1])] == [
        "=rocep1s0f0,roceP2p1s0f0",
        "=enp1s0f0np0",
    ]
    assert content.differing == ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME")


def test_a_line_that_one_node_lacks_differs() -> None:
    both = preset(node("a", {"X": "1", "Y": "2"}), node("b", {"X": "1"}))
    assert [line.name for line in common_lines(both.nodes)] == ["X"]
    assert Content(both, both.nodes).differing == ("Y",)
    back = preset(node("b", {"X": "1"}), node("a", {"X": "1", "Y": "2"}))
    assert Content(back, back.nodes).differing == ("Y",)


def test_one_node_shares_all_it_has() -> None:
    alone = preset(node("a", HEAD))
    content = Content(alone, alone.nodes)
    assert settings(alone.nodes[0]) == [(line.name, line.value) for line in content.common]
    assert content.differing == ()
    assert common_lines(()) == ()


def test_ranks_are_the_presets_order() -> None:
    both = pair()
    content = Content(both, (both.nodes[1],))
    assert content.rank(both.nodes[1]) == 1


def test_host_names_are_the_node_and_its_recorded_hostname() -> None:
    both = pair()
    assert host_names(both, both.nodes[0]) == ("spark1", "spark-a")
    assert print_of(both, both.nodes[1]) is both.fingerprint.nodes[1]
    assert print_of(both, node("other", {})) is None


def test_a_hostname_two_nodes_share_names_neither() -> None:
    prints = (printed("a", "p", hostname="box"), printed("b", "p", hostname="box"))
    lab = preset(node("a", {}), node("b", {}), prints=prints)
    assert [host_names(lab, one) for one in lab.nodes] == [("a",), ("b",)]


def test_a_hostname_that_is_another_nodes_name_does_not_count() -> None:
    swapped = preset(node("a", {}), node("b", {}), prints=(printed("a", "p", hostname="b"),))
    assert host_names(swapped, swapped.nodes[0]) == ("a",)
