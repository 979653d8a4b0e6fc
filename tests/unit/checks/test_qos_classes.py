"""Lossless classes that are not whole, and traffic that misses them."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.qos_classes import check_qos_classes
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.parts import factory_qos
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_switch
from tests.unit.checks.between import ids, with_qos

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")
NONE = (False,) * 8


def on(*priorities: int) -> tuple[bool, ...]:
    return tuple(number in priorities for number in range(8))


def servers(**facts: Any) -> Fabric:
    return with_qos(eight_rail_servers(), **facts)


@pytest.mark.parametrize("name", [*HEALTHY, "spark-crossed", "spark-ring", "servers-bad-rail", "container"])
def test_recorded_fabrics_without_the_fault_are_silent(name: str) -> None:
    assert check_qos_classes(RECORDED[name]()) == ()


def test_pfc_without_ecn_on_all_ports_is_one_finding() -> None:
    (found,) = check_qos_classes(servers(ecn_rp=NONE))
    assert (found.id, found.severity) == ("ecn-off-on-lossless-priority", "warning")
    assert found.subject.endswith("and 12 more")
    assert len(found.evidence) == 8
    assert found.evidence[0].text.endswith(": PFC on priority 3, ECN off there")
    netdev = found.evidence[0].text.partition(":")[0]
    assert found.fix[:2] == ("on server-001:", f"echo 1 | sudo tee /sys/class/net/{netdev}/ecn/roce_np/enable/3")
    assert ids([found])


@pytest.mark.parametrize("facts", [{"ecn_rp": HIDDEN}, {"ecn_rp": on(3, 4)}, {"pfc": HIDDEN, "ecn_rp": NONE}])
def test_unknown_or_more_ecn_is_no_hole(facts: dict[str, Any]) -> None:
    assert check_qos_classes(servers(**facts)) == ()


@pytest.mark.parametrize(("priorities", "severity"), [((3, 4), "info"), ((2, 3, 4), "warning"), (range(8), "warning")])
def test_more_than_one_lossless_priority_is_told(priorities: Any, severity: str) -> None:
    found = check_qos_classes(servers(pfc=on(*priorities), ecn_np=(True,) * 8, ecn_rp=(True,) * 8))
    assert [(one.id, one.severity) for one in found] == [("pfc-on-several-priorities", severity)]
    assert "--pfc 0,0,0,1,0,0,0,0" in found[0].fix[1]


def test_global_pause_among_ports_with_pfc_is_told() -> None:
    pausing = {"pfc": NONE, "pause_rx": True, "pause_tx": True}
    (found,) = check_qos_classes(changed(eight_rail_servers(), "server-002", "qos", "enp212s0np0", **pausing))
    assert ids([found]) == [("global-pause-only", "warning", "server-002/mlx5_6")]
    assert found.fix[:3] == (
        "on server-002:",
        "sudo ethtool -A enp212s0np0 rx off tx off",
        "sudo mlnx_qos -i enp212s0np0 --trust dscp --pfc 0,0,0,1,0,0,0,0",
    )
    quiet = {"pfc": NONE, "pause_rx": False, "pause_tx": False}
    assert check_qos_classes(changed(eight_rail_servers(), "server-002", "qos", "enp212s0np0", **quiet)) == ()


def test_factory_settings_on_one_cable_are_as_they_should_be() -> None:
    assert check_qos_classes(spark_one_cable()) == ()
    everywhere = changed(spark_switch(), "*", "netdev", "*", qos=factory_qos())
    assert check_qos_classes(everywhere) == ()


def with_class(value: str, fabric: Fabric) -> Fabric:
    return changed(fabric, "server-001", "host", environment={"NCCL_IB_TC": value})


def test_a_class_that_trust_pcp_ignores_is_told() -> None:
    (found,) = check_qos_classes(with_class("106", servers(trust="pcp")))
    assert found.id == "traffic-class-misses-lossless-priority"
    assert found.subject.startswith("server-001/mlx5_0")
    assert "trust pcp" in found.evidence[0].text and "NCCL_IB_TC=106 (environment)" in found.evidence[0].text
    assert "--trust dscp" in found.fix[1]


def test_a_class_sorted_into_another_priority_is_told() -> None:
    found = check_qos_classes(with_class("160", servers()))
    assert [one.id for one in found] == ["traffic-class-misses-lossless-priority"]
    assert "DSCP 40 goes to priority 5, PFC on priority 3; NCCL_IB_TC=160" in found[0].evidence[0].text
    assert found[0].fix[1].endswith("--dscp2prio set,40,3")


@pytest.mark.parametrize("value", ["106", "104", "0x6a", "-1", "256", ""])
def test_classes_of_the_lossless_priority_or_none_are_silent(value: str) -> None:
    assert check_qos_classes(with_class(value, servers())) == ()


def test_without_the_variable_pcp_is_nobodys_fault_here() -> None:
    assert check_qos_classes(servers(trust="pcp")) == ()
    assert check_qos_classes(with_class("106", servers(trust=HIDDEN))) == ()
    assert check_qos_classes(with_class("160", servers(dscp_priority=HIDDEN))) == ()
    assert check_qos_classes(with_class("160", servers(dscp_priority=(-1,) * 64))) == ()
