"""NCCL_IB_HCA held against a node's HCAs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.checks import load_catalogue
from fabricdoc.checks.selection import check_selection, taken_hcas
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.healthy import with_virtual_functions
from tests.fabrics.others import container_node, laptop
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_pair, spark_straight
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

TWINS = "=roceP2p1s0f0,rocep1s0f0"
ONE_CABLE = spark_one_cable()


def spark(value: str, fabric: Fabric | None = None, **more: str) -> Fabric:
    return changed(fabric or ONE_CABLE, "spark-a", "host", environment={"NCCL_IB_HCA": value, **more})


def server(value: str) -> Fabric:
    return changed(eight_rail_servers(1), "server-001", "host", environment={"NCCL_IB_HCA": value})


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_set_nothing(name: str) -> None:
    assert ids(check_selection, RECORDED[name]()) == []


@pytest.mark.parametrize(
    "value", [TWINS, "rocep1s0f0,roceP2p1s0f0", "roce", "", "^rocep9", "=rocep1s0f0:1,roceP2p1s0f0:1"]
)
def test_selectors_that_take_both_twins_are_well(value: str) -> None:
    assert ids(check_selection, spark(value)) == []


@pytest.mark.parametrize(
    "value", ["mlx5", "=rocep1s0f", "rocep2s0f0", "=rocep1s0f0:2", "rocep1s0f1", "^roce", " rocep1s0f0"]
)
def test_selectors_that_take_nothing(value: str) -> None:
    found = only(check_selection, spark(value), "ib-hca-matches-nothing")
    assert (found.severity, found.subject) == ("error", "spark-a")
    assert texts(found) == [f"NCCL_IB_HCA={value} (environment)", "active HCAs: roceP2p1s0f0, rocep1s0f0"]
    assert found.fix == ("on spark-a: export NCCL_IB_HCA='=roceP2p1s0f0,rocep1s0f0'",)


def test_without_an_active_port_the_selector_is_not_the_matter() -> None:
    assert ids(check_selection, changed(spark("mlx5"), "*", "port", "*", state="DOWN")) == []
    assert ids(check_selection, changed(laptop(), "*", "host", environment={"NCCL_IB_HCA": "mlx5"})) == []
    assert ids(check_selection, changed(spark("mlx5"), "*", "node", hcas=Unknown(unknown="x"))) == []


def test_a_list_of_all_four_with_one_cable_is_information_on_gb10() -> None:
    found = only(check_selection, spark(f"{TWINS},rocep1s0f1,roceP2p1s0f1"), "ib-hca-port-down")
    assert found.severity == "info"
    assert "not ACTIVE: roceP2p1s0f1:1, rocep1s0f1:1" in texts(found)


def test_a_dead_rail_in_the_list_of_a_server_is_a_warning() -> None:
    fabric = changed(server("=mlx5_0,mlx5_5"), "server-001", "port", "mlx5_5", state="DOWN")
    found = only(check_selection, fabric, "ib-hca-port-down")
    assert (found.severity, found.subject) == ("warning", "server-001")
    assert "takes nothing: 'mlx5_5'" in texts(found)
    prefix = changed(server("mlx5"), "server-001", "port", "mlx5_5", state="DOWN")
    assert ids(check_selection, prefix) == []


def test_a_misspelt_name_beside_good_ones() -> None:
    found = only(check_selection, spark("=rocep1s0f0,rocep2p1s0f0,roceP2p1s0f0"), "ib-hca-entry-unknown")
    assert (found.severity, found.subject) == ("warning", "spark-a")
    assert "takes nothing: 'rocep2p1s0f0'" in texts(found)
    assert ids(check_selection, spark(f"{TWINS},")) == []
    assert ids(check_selection, spark("^=mlx5_9")) == []


def ten_rails(value: str, **eighth: Any) -> Fabric:
    """A server whose eighth HCA is called mlx5_10."""
    fabric = changed(server(value), "server-001", "hca", "mlx5_7", name="mlx5_10", **eighth)
    return changed(fabric, "server-001", "node", cages=())


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("mlx5_1", True),
        ("mlx5_0,mlx5_1", True),
        ("^mlx5_1", True),
        ("=mlx5_1", False),
        ("mlx5_1,mlx5_10", False),
        ("mlx5", False),  # meant as a beginning: no device is called so
        ("mlx5_2", False),
    ],
)
def test_a_name_that_begins_another(value: str, told: bool) -> None:
    found = [one for one in ids(check_selection, ten_rails(value)) if one[0] == "ib-hca-prefix-match"]
    assert found == ([("ib-hca-prefix-match", "warning", "server-001")] if told else [])


def test_the_exact_form_is_the_fix() -> None:
    assert only(check_selection, ten_rails("mlx5_0,mlx5_1"), "ib-hca-prefix-match").fix == (
        "on server-001: export NCCL_IB_HCA='=mlx5_0,mlx5_1'",
    )
    assert only(check_selection, ten_rails("^mlx5_1"), "ib-hca-prefix-match").fix == (
        "on server-001: export NCCL_IB_HCA='^=mlx5_1'",
    )


def test_a_vf_fits_too_also_where_its_parent_is_not_listed() -> None:
    fabric = changed(server("mlx5_1"), "server-001", "hca", "mlx5_7", name="mlx5_1v0", physical_function="0000:34:00.0")
    assert [id for id, *_rest in ids(check_selection, fabric)] == ["ib-hca-prefix-match"]
    dead = changed(fabric, "server-001", "port", "mlx5_1v0", state="DOWN")
    assert ids(check_selection, dead) == []


def test_one_twin_of_a_cage_is_half_of_it() -> None:
    found = only(check_selection, spark("=rocep1s0f0"), "gb10-one-function-of-port-used")
    assert (found.severity, found.subject) == ("warning", "spark-a/roceP2p1s0f0")
    assert texts(found)[1] == "one cage: roceP2p1s0f0, rocep1s0f0 (by sys_image_guid and phys_port_name), all ACTIVE"
    assert found.fix == ("on spark-a: export NCCL_IB_HCA='=roceP2p1s0f0,rocep1s0f0'",)


def test_the_wrong_pair_is_half_of_two_cages() -> None:
    fabric = spark("=rocep1s0f0,rocep1s0f1", spark_straight())
    assert [one[2] for one in ids(check_selection, fabric)] == ["spark-a/roceP2p1s0f0", "spark-a/roceP2p1s0f1"]


def test_one_whole_cage_of_two_is_a_choice() -> None:
    assert ids(check_selection, spark(TWINS, spark_straight())) == []


def test_renamed_devices_are_twins_by_their_cage() -> None:
    fabric = spark_pair("one", renamed=True)
    assert ids(check_selection, spark("=mlx5_0,mlx5_2", fabric)) == []
    assert [one[0] for one in ids(check_selection, spark("=mlx5_0", fabric))] == ["gb10-one-function-of-port-used"]


def test_without_a_selector_every_twin_is_taken() -> None:
    assert ids(check_selection, spark_one_cable()) == []
    assert taken_hcas(spark_one_cable().nodes[0]) == {"rocep1s0f0", "roceP2p1s0f0"}


AWAY = Unknown(unknown="its interface is in another network namespace")


def partly_away(**environment: str) -> Fabric:
    fabric = changed(eight_rail_servers(1), "server-001", "port", "mlx5_5", netdev=AWAY)
    return changed(fabric, "server-001", "host", environment=environment)


def test_an_hca_whose_interface_is_elsewhere_is_taken_all_the_same() -> None:
    found = only(check_selection, partly_away(), "unusable-hca-visible")
    assert (found.severity, found.subject) == ("warning", "server-001")
    assert texts(found) == ["NCCL_IB_HCA is not set: every active HCA is taken", "no interface here: mlx5_5"]
    assert ids(check_selection, partly_away(NCCL_IB_HCA="=mlx5_0,mlx5_1")) == []
    assert ids(check_selection, changed(partly_away(), "*", "port", "mlx5_5", state="DOWN")) == []
    assert ids(check_selection, container_node()) == []
    unread = changed(partly_away(), "server-001", "port", "mlx5_5", netdev=Unknown(unknown="not read"))
    assert ids(check_selection, unread) == []


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("rocep1s0f0,roceP2p1s0f0", False),
        ("rocep1s0f0,roceP2p1s0f0;", False),
        ("rocep1s0f0,roceP2p1s0f9", True),
        ("mlx5_0,mlx5_1", True),
        ("rocep1s0f0,rocep1s0f1", True),  # not active with one cable
    ],
)
def test_names_to_fuse(value: str, told: bool) -> None:
    found = [one for one in ids(check_selection, spark(TWINS, NCCL_NET_FORCE_MERGE=value)) if "merge" in one[0]]
    assert found == ([("force-merge-unknown-hca", "error", "spark-a")] if told else [])


@settings(max_examples=40)
@given(st.text(max_size=60) | st.from_regex(r"[\^=]{0,2}(rocep1s0f[01](:[0-9]*){0,3},?){0,4}", fullmatch=True))
def test_any_value_is_judged_without_failing(value: str) -> None:
    for found in check_selection(spark(value)):
        assert found.id in load_catalogue() and found.evidence and found.fix


def test_a_vf_that_a_prefix_takes_beside_its_name_is_more_than_named() -> None:
    fabric = changed(with_virtual_functions(ONE_CABLE), "spark-a", "port", "rocep1s0f0v1", state="ACTIVE")
    found = only(check_selection, spark("rocep1s0f0,roceP2p1s0f0", fabric), "ib-hca-prefix-match")
    assert "rocep1s0f0 also fits rocep1s0f0v1" in texts(found)
    assert "ib-hca-prefix-match" not in [one[0] for one in ids(check_selection, spark(TWINS, fabric))]
    idle = with_virtual_functions(ONE_CABLE)
    assert "ib-hca-prefix-match" not in [one[0] for one in ids(check_selection, spark("rocep1s0f0,roceP2p1s0f0", idle))]


@pytest.mark.parametrize("value", ["=roceP2p1s0f0,rocep1s0f0", "=rocep1s0f0,roceP2p1s0f0"])
def test_the_order_of_a_list_changes_nothing(value: str) -> None:
    assert ids(check_selection, spark(value)) == []
    assert taken_hcas(spark(value).nodes[0]) == {"rocep1s0f0", "roceP2p1s0f0"}
