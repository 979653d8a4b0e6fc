"""Lossless classes that are not whole, and traffic that misses them."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks import check_fabric
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


@pytest.mark.parametrize(
    ("value", "dscp"), [("0", 0), ("3", 0), ("4", 1), ("104", 26), ("106", 26), ("255", 63), ("0x68", 26), ("0150", 26)]
)
def test_the_class_is_the_dscp_and_two_bits(value: str, dscp: int) -> None:
    found = check_qos_classes(with_class(value, servers(pfc=on(7), ecn_np=on(7), ecn_rp=on(7))))
    told = [one.evidence[0].text for one in found]
    assert told == ([] if dscp >> 3 == 7 else [told[0]])
    assert not told or f": DSCP {dscp} goes to priority {dscp >> 3}, PFC on priority 7" in told[0]


def test_a_class_counts_on_ports_that_have_a_lossless_priority_alone() -> None:
    fabric = changed(with_class("160", servers()), "server-001", "qos", "enp212s0np0", pfc=NONE)
    (found,) = check_qos_classes(fabric)
    assert "mlx5_6" not in found.subject and not any("enp212s0np0" in piece.text for piece in found.evidence)


def test_a_class_of_one_node_says_nothing_of_the_others() -> None:
    (found,) = check_qos_classes(with_class("160", servers()))
    assert {piece.file for piece in found.evidence} == {"server-001"}
    assert not any("server-002" in line for line in found.fix)


def test_a_short_map_has_no_entry_for_a_high_dscp() -> None:
    assert check_qos_classes(with_class("255", servers(dscp_priority=tuple(k >> 3 for k in range(32))))) == ()


def test_ecn_of_a_short_table_is_not_judged_beyond_its_end() -> None:
    assert check_qos_classes(servers(ecn_np=(False,) * 3, ecn_rp=(False,) * 3)) == ()
    found = check_qos_classes(servers(ecn_np=(False,) * 4, ecn_rp=(False,) * 4))
    assert [one.id for one in found] == ["ecn-off-on-lossless-priority"]


@pytest.mark.parametrize("pause", [{"pause_rx": True, "pause_tx": False}, {"pause_rx": False, "pause_tx": True}])
def test_pause_in_either_direction_is_pause(pause: dict[str, bool]) -> None:
    fabric = changed(eight_rail_servers(), "server-002", "qos", "enp212s0np0", pfc=NONE, **pause)
    assert [one.id for one in check_qos_classes(fabric)] == ["global-pause-only"]


def test_pause_of_a_port_whose_pfc_was_not_read_is_not_judged() -> None:
    hidden = {"pfc": HIDDEN, "pause_rx": True, "pause_tx": True}
    assert check_qos_classes(changed(eight_rail_servers(), "server-002", "qos", "enp212s0np0", **hidden)) == ()


def test_every_fix_says_that_it_does_not_stay() -> None:
    for fabric in (servers(ecn_rp=NONE), servers(pfc=on(3, 4)), with_class("160", servers())):
        assert all("reboot" in one.fix[-1] for one in check_qos_classes(fabric))


@pytest.mark.long
def test_many_ports_are_one_finding_that_one_can_read() -> None:
    fabric = with_qos(eight_rail_servers(40), pfc=on(3, 4), ecn_np=(True,) * 8, ecn_rp=(True,) * 8)
    (found,) = check_qos_classes(fabric)
    assert len(found.evidence) == 8
    assert found.subject.endswith("and 316 more")
    assert len([line for line in found.fix if line.startswith("on ")]) == 8


def test_a_single_server_is_judged_by_itself() -> None:
    alone = with_qos(eight_rail_servers(1), ecn_rp=NONE)
    assert [one.id for one in check_fabric(alone)] == ["ecn-off-on-lossless-priority"]
