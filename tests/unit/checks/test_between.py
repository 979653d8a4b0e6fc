"""All checks between nodes together: silent on healthy fabrics, whole findings on sick ones, bounded on large ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricdoc.checks.between import BETWEEN
from fabricdoc.checks.gid_layout import check_gid_layout
from fabricdoc.checks.identity import check_identity
from fabricdoc.checks.mtu import check_mtu
from fabricdoc.checks.qos_classes import check_qos_classes
from fabricdoc.checks.qos_pairs import check_qos_pairs
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from tests.fabrics.altering import changed
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_pair
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit

CHECKS = (*BETWEEN, check_identity, check_mtu, check_gid_layout, check_qos_classes, check_qos_pairs)
"""Those that hold nodes against one another; the last three say something of one node's ports too."""
HIDDEN = Unknown(unknown="time limit")


def judged(fabric: Fabric) -> list[Finding]:
    return [finding for check in CHECKS for finding in check(fabric)]


@pytest.mark.parametrize("name", [*HEALTHY, "spark-crossed", "spark-ring"])
def test_healthy_fabrics_have_no_error_and_no_warning(name: str) -> None:
    assert [one.id for one in judged(RECORDED[name]()) if one.severity != "info"] == []


@pytest.mark.parametrize("heard", ["twins", "pairs"])
@pytest.mark.parametrize("cabling", ["straight", "crossed", "one", "one-crossed"])
@pytest.mark.parametrize("renamed", [False, True])
def test_every_cabling_of_a_spark_pair_is_healthy(cabling: str, heard: Any, renamed: bool) -> None:
    fabric = spark_pair(cabling, heard=heard, renamed=renamed)
    assert [one.id for one in judged(fabric) if one.severity != "info"] == []
    unasked = fabric.model_copy(update={"links": Unknown(unknown="not asked")})
    assert [one.id for one in judged(unasked) if one.severity != "info"] == []


def test_two_vendors_boxes_with_one_chip_are_a_healthy_pair() -> None:
    """Another product, BIOS, board and firmware of the same ConnectX-7: information only."""
    fabric = changed(spark_one_cable(), "spark-b", "hca", "*", board_id="ASU0000000001", firmware="28.44.1036")
    fabric = changed(fabric, "spark-b", "host", product="ASUS Ascent GX10", bios="0105")
    assert [(one.id, one.severity) for one in judged(fabric)] == [("firmware-differs-between-nodes", "info")]


@pytest.mark.parametrize("nodes", [1, 2, 3, 5])
def test_servers_of_any_number_are_silent(nodes: int) -> None:
    assert judged(eight_rail_servers(nodes)) == []


@pytest.mark.parametrize("fault", ["pcie", "speed", "mtu", "down", "swapped", "pfc"])
@pytest.mark.parametrize("nodes", [2, 4])
def test_each_fault_of_one_rail_is_found_on_the_last_server(nodes: int, fault: Any) -> None:
    wanted = {
        "pcie": "pcie-differs-between-nodes",
        "speed": "link-slower-than-siblings",
        "mtu": "mtu-mismatch",
        "down": "hca-sets-differ-between-nodes",
        "swapped": "addresses-swapped-between-rails" if nodes == 2 else "rail-in-another-subnet",
        "pfc": "qos-pfc-differs",
    }[fault]
    found = judged(eight_rail_servers(nodes, bad_rail=5, fault=fault))
    assert ids(found)
    matching = [one for one in found if one.id == wanted]
    assert matching
    last = f"server-{nodes:03d}"
    assert all(last in one.subject or any(last == piece.file for piece in one.evidence) for one in matching)


@pytest.mark.long
def test_a_hundred_servers_all_odd_make_findings_one_can_read() -> None:
    fabric = eight_rail_servers(100)
    nodes = tuple(
        one.model_copy(
            update={
                "host": one.host.model_copy(update={"kernel": f"6.{k}", "hostname": "h", "machine_id": "m"}),
                "clock_offset_s": 10.0 * k,
            }
        )
        for k, one in enumerate(fabric.nodes)
    )
    found = judged(fabric.model_copy(update={"nodes": nodes}))
    assert {"kernel-differs-between-nodes", "hostname-shared", "machine-id-shared", "clock-skew"} <= {
        one.id for one in found
    }
    for one in found:
        assert len(one.evidence) <= 16 and len(one.fix) <= 40 and len(one.subject) < 400, one.id


SECTIONS = ("hcas", "netdevs", "routes", "gpus", "rules", "neighbours", "pcie", "counters")


@pytest.mark.long
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(list(RECORDED)), st.sets(st.sampled_from(SECTIONS)), st.integers(0, 3), st.booleans())
def test_no_section_is_needed_and_nothing_unread_is_a_finding(
    name: str, hidden: set[str], at: int, no_links: bool
) -> None:
    fabric = RECORDED[name]()
    nodes = list(fabric.nodes)
    where = at % len(nodes)
    nodes[where] = nodes[where].model_copy(update=dict.fromkeys(hidden, HIDDEN))
    less = fabric.model_copy(update={"nodes": tuple(nodes), **({"links": HIDDEN} if no_links else {})})
    before = {one.id for one in judged(fabric)}
    new = [one for one in judged(less) if one.id not in before and one.severity != "info"]
    assert [one.id for one in new] == []


def test_a_link_to_a_node_or_port_nobody_described_is_not_followed() -> None:
    fabric = spark_one_cable()
    assert not isinstance(fabric.links, Unknown)
    lost = tuple(
        one.model_copy(update={"b": one.b.model_copy(update={"node": "ghost", "netdev": "x" * 4000})})
        for one in fabric.links
    )
    assert [one.id for one in judged(fabric.model_copy(update={"links": lost})) if one.severity == "error"] == []
    same = tuple(one.model_copy(update={"b": one.a}) for one in fabric.links)
    assert [one.id for one in judged(fabric.model_copy(update={"links": same})) if one.severity == "error"] == []
