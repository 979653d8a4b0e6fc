"""Lines to paste: per node, quoted for any shell, whole at any width, shared by nodes that are alike."""

from __future__ import annotations

import shlex
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric import selected, traced
from fabricdoc.model.fabric import Fabric
from fabricdoc.report.fabric import render_fabric
from fabricdoc.report.selectors import quoted, render_selectors
from tests.fabrics import crossed_pair, link
from tests.fabrics.altering import changed
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_pair, spark_ring

pytestmark = pytest.mark.unit

HEAD_F1 = (((0, 1), (1, 0)),)


def text(fabric: Fabric, shown: Any, width: int = 80) -> str:
    known = selected(traced(fabric))
    assert known.selectors is not None
    found: str = shown(render_selectors(known.selectors), width)
    return found


def test_a_crossed_pair_has_a_block_for_each_node(shown: Any) -> None:
    found = text(spark_pair(HEAD_F1), shown)
    first, second = found.index("on spark-a: every port with a proven peer"), found.index("on spark-b: ")
    assert "  export NCCL_IB_HCA='=rocep1s0f1,roceP2p1s0f1'\n" in found[first:second]
    assert "  export NCCL_IB_HCA='=rocep1s0f0,roceP2p1s0f0'\n" in found[second:]
    assert "  one port: NCCL_IB_HCA='=rocep1s0f1'\n" in found[first:second]
    assert "rendezvous on spark-a (node 0), on every rank:\n  export MASTER_ADDR=192.168.100.10\n" in found


@pytest.mark.long
def test_nodes_that_are_alike_share_a_block(shown: Any) -> None:
    assert "on spark-a, spark-b: every port" in text(spark_pair("one"), shown)
    many = text(eight_rail_servers(40), shown)
    assert "and 36 more: every port" in many
    assert many.count("export NCCL_IB_HCA") == 1


def test_of_two_cables_one_is_pasted_and_the_advice_says_for_which_set(shown: Any) -> None:
    found = text(spark_pair("crossed"), shown)
    assert "on spark-b: one cable, all its HCAs\n" in found
    assert "  export NCCL_IB_HCA='=rocep1s0f1,roceP2p1s0f1'\n" in found
    where = [
        found.index(part) for part in ("second-cable: ", "with every port with a proven peer listed:", "device-order")
    ]
    assert where == sorted(where)
    assert "listed:" not in text(spark_pair("one"), shown)


@pytest.mark.parametrize("width", [40, 80])
def test_lines_to_paste_are_never_cut_or_broken(shown: Any, width: int) -> None:
    """Eight HCAs with their ports are longer than a screen: the terminal wraps them, a paste keeps them whole."""
    found = text(eight_rail_servers(2), shown, width)
    ports = ",".join(f"mlx5_{k}:1" for k in range(8))
    assert f"  export UCX_NET_DEVICES={ports}\n" in found


def test_what_matters_comes_first_and_its_lines_are_for_every_rank(shown: Any) -> None:
    found = text(spark_ring(), shown)
    assert "  export NCCL_IB_SUBNET_AWARE_ROUTING=1\n" in found
    crossed = text(eight_rail_servers(2), shown)
    assert crossed.index("cross-nic: ") < crossed.index("merging: ") < crossed.index("subnet-routing: ")


def test_a_node_without_proof_and_an_unknown_master_are_said(shown: Any) -> None:
    fabric = crossed_pair().model_copy(update={"links": (link(("alpha", "p0", None), ("beta", "p1", None)),)})
    assert "rendezvous address unknown: alpha/p0 has no IPv4 address" in text(fabric, shown)
    three = spark_ring().model_copy(update={"links": spark_pair("one").links})
    assert "on spark-c: no port has a proven peer, so none is listed" in text(three, shown)


def test_they_end_the_map_of_cables_and_stand_nowhere_else(shown: Any) -> None:
    known = selected(traced(crossed_pair()))
    assert "export NCCL_NET=Socket" in shown(render_fabric(known, "links"))
    assert "export NCCL_NET" not in shown(render_fabric(known))
    assert "export" not in shown(render_fabric(traced(crossed_pair()), "links"))


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs", "Cc"]), max_size=20))
def test_any_value_is_one_word_for_a_shell(value: str) -> None:
    assert shlex.split(f"X={quoted(value)}") == [f"X={value}"]


def test_a_real_shell_takes_the_block_as_it_stands(shown: Any) -> None:
    found = text(spark_pair(HEAD_F1), shown)
    block = "\n".join(row for row in found[found.index("on spark-b") :].splitlines() if row.startswith("  export"))
    done = subprocess.run(
        ["sh", "-c", f"{block}\nprintf '%s|%s' \"$NCCL_IB_HCA\" \"$NCCL_SOCKET_IFNAME\""],
        capture_output=True, text=True, timeout=30, check=True, env={},
    )  # fmt: skip
    assert done.stdout == "=rocep1s0f0,roceP2p1s0f0|=enp1s0f0np0"


def test_hostile_node_names_do_nothing(shown: Any) -> None:
    fabric = changed(crossed_pair(), "alpha", "node", name="al\x1b[31mpha\n")
    known = selected(traced(crossed_pair())).selectors
    assert known is not None
    renamed = known.model_copy(
        update={"nodes": tuple(one.model_copy(update={"node": fabric.nodes[0].name}) for one in known.nodes)}
    )
    assert "\x1b" not in shown(render_selectors(renamed))
