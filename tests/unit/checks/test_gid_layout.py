"""Where the IPv4 RoCE v2 GIDs stand, and pins that can't be right for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.checks.gid_layout import check_gid_layout
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import ConfFile, Fabric, Gid, Node
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.between import ids, nodes_with, roce, roce_node

pytestmark = pytest.mark.unit

Layout = Mapping[str, Sequence[tuple[int, str]]]  # HCA: (index, IPv4) of its RoCE v2 GIDs


def gids(slots: Sequence[tuple[int, str]], *, kind: str = "RoCE v2") -> tuple[Gid, ...]:
    return tuple(Gid(index=k, gid=f"::ffff:{ip}", type=kind, netdev="x", ipv4=ip) for k, ip in slots)


def layout(*nodes: Layout, pins: Sequence[str] = ()) -> Fabric:
    """Nodes whose HCAs have these GIDs; `pins` are their values of NCCL_IB_GID_INDEX."""

    def made(name: str, hcas: Layout) -> Node:
        ports = [
            roce(hca, of=f"p-{hca}", ip=slots[0][1], gids=gids(slots), state="ACTIVE") for hca, slots in hcas.items()
        ]
        at = [dict(one) for one in nodes].index(dict(hcas))
        environment = {"NCCL_IB_GID_INDEX": pins[at]} if at < len(pins) and pins[at] else {}
        return roce_node(name, *ports, environment=environment)

    return nodes_with(nodes, made)


HEAD: Layout = {"rocep1s0f1": [(3, "169.254.10.10"), (4, "10.0.1.1")]}
WORKER: Layout = {"rocep1s0f1": [(3, "10.0.1.2")]}
LIKE_WORKER: Layout = {"rocep1s0f1": [(3, "10.0.1.9"), (5, "10.0.2.9")]}


@pytest.mark.parametrize("name", list(RECORDED))
def test_recorded_fabrics_have_one_layout(name: str) -> None:
    assert check_gid_layout(RECORDED[name]()) == ()


def test_a_pin_that_is_right_on_one_node_only_is_an_error() -> None:
    (found,) = check_gid_layout(layout(HEAD, WORKER, pins=("3", "3")))
    assert ids([found]) == [("gid-index-differs-between-nodes", "error", "alpha/rocep1s0f1")]
    assert [(piece.file, piece.text) for piece in found.evidence] == [
        ("alpha", "NCCL_IB_GID_INDEX=3 (environment)"),
        ("alpha", "rocep1s0f1: RoCE v2 GID of its IPv4 address at index 4"),
        ("beta", "rocep1s0f1: RoCE v2 GID of its IPv4 address at index 3"),
    ]
    assert found.fix[:2] == ("on alpha:", "unset NCCL_IB_GID_INDEX")
    assert any("169.254" in line and "NCCL_IB_ADDR_RANGE" in line for line in found.fix)


def test_pins_of_each_nodes_own_are_right() -> None:
    assert check_gid_layout(layout(HEAD, WORKER, pins=("4", "3"))) == ()


def test_without_a_pin_it_is_information() -> None:
    (found,) = check_gid_layout(layout(HEAD, WORKER))
    assert ids([found]) == [("gid-index-differs-between-nodes", "info", "alpha/rocep1s0f1, beta/rocep1s0f1")]
    assert found.fix == ("leave NCCL_IB_GID_INDEX unset on all ranks",)
    assert check_gid_layout(layout(HEAD, WORKER, pins=("-1", "-1")))[0].severity == "info"


def test_a_common_index_is_enough() -> None:
    assert check_gid_layout(layout(WORKER, LIKE_WORKER)) == ()
    assert check_gid_layout(layout(WORKER, LIKE_WORKER, pins=("3", "3"))) == ()


def test_twins_of_one_node_that_differ_are_told_as_such() -> None:
    drifted: Layout = {"rocep1s0f1": [(3, "10.0.1.1")], "roceP2p1s0f1": [(4, "10.0.2.1")]}
    (found,) = check_gid_layout(layout(drifted, pins=("3",)))
    assert ids([found]) == [("gid-index-differs-between-hcas", "error", "alpha/roceP2p1s0f1")]


def test_an_hca_that_is_not_listed_does_not_matter() -> None:
    fabric = layout({"rocep1s0f1": [(3, "10.0.1.1")], "other": [(4, "10.0.2.1")]}, pins=("3",))
    environment = {"NCCL_IB_GID_INDEX": "3", "NCCL_IB_HCA": "=rocep1s0f1"}
    assert check_gid_layout(changed(fabric, "alpha", "host", environment=environment)) == ()


def test_a_pin_in_a_file_is_taken_out_there() -> None:
    fabric = layout(HEAD, WORKER)
    conf = (ConfFile(path="/etc/a b.conf", values={"NCCL_IB_GID_INDEX": "3"}),)
    (found,) = check_gid_layout(changed(fabric, "alpha", "host", nccl_conf=conf))
    assert found.fix[1] == "sudo sed -i '/^NCCL_IB_GID_INDEX=/d' '/etc/a b.conf'"


@pytest.mark.parametrize("facts", [{"state": "DOWN"}, {"link_layer": "InfiniBand"}, {"gids": Unknown(unknown="no")}])
def test_ports_that_are_not_used_or_not_read_have_no_layout(facts: dict[str, object]) -> None:
    fabric = layout(HEAD, WORKER, pins=("3", "3"))
    assert check_gid_layout(changed(fabric, "alpha", "port", "rocep1s0f1", **facts)) == ()


def test_a_type_that_was_not_read_decides_nothing() -> None:
    untyped = tuple(one.model_copy(update={"type": Unknown(unknown="EINVAL")}) for one in gids([(4, "10.0.1.1")]))
    fabric = changed(layout(HEAD, WORKER, pins=("3", "3")), "alpha", "port", "rocep1s0f1", gids=untyped)
    assert check_gid_layout(fabric) == ()


def test_extra_addresses_that_leave_the_usual_index_are_no_difference() -> None:
    fabric = spark_one_cable()
    more = (*gids([(3, "192.168.100.10"), (5, "10.9.9.9")]),)
    assert check_gid_layout(changed(fabric, "spark-a", "port", "rocep1s0f0", gids=more)) == ()


def test_a_single_node_is_judged_by_itself() -> None:
    drifted: Layout = {"rocep1s0f1": [(3, "10.0.1.1")], "roceP2p1s0f1": [(4, "10.0.2.1")]}
    (found,) = check_gid_layout(layout(drifted))
    assert ids([found]) == [("gid-index-differs-between-hcas", "info", "alpha/rocep1s0f1, alpha/roceP2p1s0f1")]
    assert check_gid_layout(layout({"rocep1s0f1": [(3, "10.0.1.1")]})) == ()
    whole = check_fabric(layout(drifted))
    assert "gid-index-differs-between-hcas" in {one.id for one in whole}, "a scan of one node judges it too"


def test_a_zeroconf_address_alone_is_the_one_that_is_used() -> None:
    alone: Layout = {"rocep1s0f1": [(4, "169.254.3.3")]}
    (found,) = check_gid_layout(layout(alone, WORKER, pins=("3", "3")))
    assert found.subject == "alpha/rocep1s0f1"
    assert "index 4" in found.evidence[1].text


def test_without_zeroconf_no_range_is_asked_for() -> None:
    (found,) = check_gid_layout(layout({"a": [(4, "10.0.1.1")]}, {"a": [(3, "10.0.1.2")]}, pins=("3", "3")))
    assert not any("NCCL_IB_ADDR_RANGE" in line for line in found.fix)
    assert found.fix[-1].startswith("NCCL 2.21")


def test_a_list_that_takes_nothing_leaves_all_ports() -> None:
    fabric = layout(HEAD, WORKER)
    environment = {"NCCL_IB_GID_INDEX": "3", "NCCL_IB_HCA": "=none"}
    (found,) = check_gid_layout(changed(fabric, "*", "host", environment=environment))
    assert found.severity == "error"


def test_virtual_functions_have_no_say() -> None:
    fabric = layout(HEAD, WORKER, pins=("3", "3"))
    assert check_gid_layout(changed(fabric, "alpha", "hca", "rocep1s0f1", physical_function="0000:01:00.0")) == ()


@pytest.mark.parametrize("facts", [{"state": Unknown(unknown="no")}, {"link_layer": Unknown(unknown="no")}])
def test_tables_of_ports_of_which_nothing_else_is_known_count(facts: dict[str, object]) -> None:
    fabric = changed(layout(HEAD, WORKER, pins=("3", "3")), "*", "port", "rocep1s0f1", **facts)
    assert [one.severity for one in check_gid_layout(fabric)] == ["error"]


def test_many_tables_are_shown_up_to_eight_and_pins_of_two_nodes() -> None:
    nodes: list[Layout] = [{f"hca{k}": [(3 + k, f"10.0.{k}.1")]} for k in range(12)]
    (found,) = check_gid_layout(layout(*nodes, pins=("99",) * 12))
    assert len(found.evidence) == 2 + 8
    assert found.subject.endswith("and 8 more")
