"""QoS of like ports held against one another."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.qos_pairs import check_qos_pairs
from fabricdoc.model.documents import NOT_READ, Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.parts import lossless
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_straight, spark_switch
from tests.unit.checks.between import ids, with_qos

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")
ONE = "enp212s0np0"  # rail 6 of a server
NONE = (False,) * 8
THREE = tuple(number == 3 for number in range(8))


def server(netdev: str = ONE, nodes: int = 2, **facts: Any) -> Fabric:
    return changed(eight_rail_servers(nodes), "server-002", "qos", netdev, **facts)


@pytest.mark.parametrize("name", [*HEALTHY, "spark-crossed", "spark-ring", "servers-bad-rail", "container"])
def test_recorded_fabrics_without_the_fault_are_silent(name: str) -> None:
    assert check_qos_pairs(RECORDED[name]()) == ()


@pytest.mark.parametrize(
    ("facts", "id", "text", "line"),
    [
        ({"trust": "pcp"}, "qos-trust-differs", "trust: pcp", f"sudo mlnx_qos -i {ONE} --trust dscp"),
        ({"pfc": NONE}, "qos-pfc-differs", "PFC on priority: none", f"sudo mlnx_qos -i {ONE} --pfc 0,0,0,1,0,0,0,0"),
        (
            {"dscp_priority": (*(dscp >> 3 for dscp in range(63)), 3)},
            "qos-dscp-map-differs",
            "DSCP to priority: by the upper three bits, but 63 to 3",
            f"sudo mlnx_qos -i {ONE} --dscp2prio set,63,7",
        ),
        (
            {"ecn_rp": NONE},
            "qos-ecn-differs",
            "ECN on priority: none",
            f"echo 1 | sudo tee /sys/class/net/{ONE}/ecn/roce_np/enable/3",
        ),
    ],
)
@pytest.mark.parametrize("nodes", [2, 3])
def test_the_odd_port_is_named_with_the_line_that_sets_it(
    nodes: int, facts: dict[str, Any], id: str, text: str, line: str
) -> None:
    (found,) = check_qos_pairs(server(nodes=nodes, **facts))
    assert ids([found]) == [(id, "warning", "server-002/mlx5_6")]
    assert found.evidence[1].text == f"mlx5_6 {text}"
    assert found.fix[:2] == ("on server-002:", line)
    assert "reboot" in found.fix[-1]


def test_one_server_alone_is_held_against_its_own_rails() -> None:
    alone = eight_rail_servers(1)
    assert check_qos_pairs(alone) == ()
    (found,) = check_qos_pairs(changed(alone, "server-001", "qos", ONE, trust="pcp"))
    assert ids([found]) == [("qos-trust-differs", "warning", "server-001/mlx5_6")]


def test_a_port_of_another_board_is_no_sibling() -> None:
    fabric = changed(server(trust="pcp", pfc=NONE), "server-002", "hca", "mlx5_6", board_id="MT_0000000224")
    assert check_qos_pairs(fabric) == ()


def test_a_rail_set_otherwise_on_every_node_is_meant_so() -> None:
    fabric = eight_rail_servers(3)
    assert check_qos_pairs(changed(fabric, "*", "qos", ONE, trust="pcp", pfc=NONE)) == ()


def test_on_one_cable_factory_settings_beside_pfc_are_no_finding() -> None:
    fabric = spark_straight()
    for netdev in ("enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1"):
        fabric = changed(fabric, "spark-a", "netdev", netdev, qos=lossless())
    assert check_qos_pairs(fabric) == ()
    unknown = fabric.model_copy(update={"links": Unknown(unknown="not asked")})
    assert {found.id for found in check_qos_pairs(unknown)} >= {"qos-trust-differs", "qos-pfc-differs"}


def test_behind_a_switch_one_lossless_port_shows_the_intent() -> None:
    fabric = spark_switch()
    for node in ("spark-b", "spark-c", "spark-d"):
        fabric = with_qos(fabric, node, pfc=NONE)
    found = [one for one in check_qos_pairs(fabric) if one.id == "qos-pfc-differs"]
    assert [one.subject for one in found] == ["spark-a/roceP2p1s0f0, spark-a/rocep1s0f0"]
    assert not any("--pfc" in line for line in found[0].fix), "nobody is told to switch the lossless class off"
    assert check_qos_pairs(with_qos(fabric, "spark-a", pfc=NONE)) == ()


def test_what_is_unknown_has_no_vote() -> None:
    assert check_qos_pairs(server(trust=HIDDEN, pfc=HIDDEN, ecn_np=HIDDEN, dscp_priority=HIDDEN)) == ()
    assert check_qos_pairs(changed(eight_rail_servers(), "server-002", "netdev", ONE, qos=NOT_READ)) == ()


def test_hostile_names_stay_inside_their_quotes() -> None:
    fabric = changed(server(pfc=NONE, ecn_np=NONE), "server-002", "netdev", ONE, name="p;reboot")
    fabric = changed(fabric, "server-002", "port", "mlx5_6", netdev="p;reboot")
    lines = [line for one in check_qos_pairs(fabric) for line in one.fix]
    assert "sudo mlnx_qos -i 'p;reboot' --pfc 0,0,0,1,0,0,0,0" in lines
    assert "echo 1 | sudo tee '/sys/class/net/p;reboot/ecn/roce_np/enable/3'" in lines


def test_a_long_map_is_told_in_part_and_set_in_part() -> None:
    reversed_map = tuple(7 - (dscp >> 3) for dscp in range(64))
    (found,) = check_qos_pairs(server(dscp_priority=reversed_map))
    assert found.id == "qos-dscp-map-differs"
    assert found.evidence[1].text.endswith("7 to 7 ...")
    lines = [line for line in found.fix if "--dscp2prio" in line]
    assert len(lines) == 8 and any("and 56 more entries as on server-001" in line for line in found.fix)


def test_a_port_with_more_ecn_than_its_like_gets_it_switched_off() -> None:
    more = tuple(number in (3, 5) for number in range(8))
    (found,) = check_qos_pairs(server(ecn_np=more, ecn_rp=more))
    assert found.fix[1:3] == (
        f"echo 0 | sudo tee /sys/class/net/{ONE}/ecn/roce_np/enable/5",
        f"echo 0 | sudo tee /sys/class/net/{ONE}/ecn/roce_rp/enable/5",
    )


def test_where_most_trust_pcp_nobody_is_told_to_follow_them() -> None:
    fabric = with_qos(eight_rail_servers(3), trust="pcp")
    (found,) = check_qos_pairs(changed(fabric, "server-002", "qos", ONE, trust="dscp"))
    assert found.subject == "server-002/mlx5_6"
    assert not any("--trust pcp" in line for line in found.fix)
    assert found.fix[1].startswith("give these ports one QoS setting: trust dscp")


def test_each_setting_that_differs_is_told() -> None:
    found = check_qos_pairs(server(trust="pcp", pfc=NONE, ecn_np=NONE, dscp_priority=(0,) * 64))
    assert {one.id for one in found} == {
        "qos-trust-differs", "qos-pfc-differs", "qos-dscp-map-differs", "qos-ecn-differs"
    }  # fmt: skip
