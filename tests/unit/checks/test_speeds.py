"""Speeds of ports: against the cage, the twin, the neighbours, and the RDMA rate."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.speeds import check_speeds
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics import hca, netdev, node
from tests.fabrics.altering import changed
from tests.fabrics.healthy import with_virtual_functions
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

PORT, TWIN = ("rocep1s0f0", "enp1s0f0np0"), ("roceP2p1s0f0", "enP2p1s0f0np0")


def at(fabric: Fabric, node: str, port: tuple[str, str], mbps: Any) -> Fabric:
    fabric = changed(fabric, node, "netdev", port[1], speed_mbps=mbps)
    return changed(fabric, node, "port", port[0], rate_gbps=mbps / 1000) if isinstance(mbps, int) else fabric


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_run_at_full_speed(name: str) -> None:
    assert ids(check_speeds, RECORDED[name]()) == []


def test_a_cage_at_100g_is_slow_on_both_twins() -> None:
    fabric = at(at(spark_one_cable(), "spark-a", PORT, 100_000), "spark-a", TWIN, 100_000)
    assert ids(check_speeds, fabric) == [
        ("link-speed-low", "warning", "spark-a/roceP2p1s0f0"),
        ("link-speed-low", "warning", "spark-a/rocep1s0f0"),
    ]
    found = next(one for one in check_speeds(fabric) if one.subject == "spark-a/rocep1s0f0")
    assert texts(found) == ["rocep1s0f0 enp1s0f0np0 100000 Mb/s, expected 200000 Mb/s"]
    assert found.fix[:2] == ("on spark-a:", "ethtool enp1s0f0np0")


def test_twins_at_different_speeds_are_one_finding() -> None:
    found = only(check_speeds, at(spark_one_cable(), "spark-b", TWIN, 100_000), "twin-speed-differs")
    assert (found.severity, found.subject) == ("warning", "spark-b/roceP2p1s0f0")
    assert set(texts(found)[:2]) == {
        "rocep1s0f0 enp1s0f0np0 200000 Mb/s",
        "roceP2p1s0f0 enP2p1s0f0np0 100000 Mb/s",
    }
    assert ids(check_speeds, at(spark_one_cable(), "spark-b", TWIN, 100_000)) == [
        ("twin-speed-differs", "warning", "spark-b/roceP2p1s0f0")
    ]


@pytest.mark.parametrize("speed", [Unknown(unknown="x"), -1, 0])
def test_an_unknown_speed_says_nothing(speed: Any) -> None:
    assert ids(check_speeds, changed(spark_one_cable(), "spark-b", "netdev", TWIN[1], speed_mbps=speed)) == []


def test_a_dead_port_may_tell_any_speed() -> None:
    fabric = changed(spark_one_cable(), "spark-a", "netdev", "enp1s0f1np1", speed_mbps=40_000)
    assert ids(check_speeds, fabric) == []


def test_one_slow_rail_among_its_like_is_named() -> None:
    fabric = eight_rail_servers(bad_rail=5, fault="speed")
    found = only(check_speeds, fabric, "link-speed-low")
    assert found.subject == "server-002/mlx5_5"
    assert "expected 400000 Mb/s" in texts(found)[0]


def test_slow_rails_without_a_majority_are_a_choice() -> None:
    fabric = eight_rail_servers()
    for k in range(4):
        fabric = changed(fabric, "server-001", "netdev", _rail(fabric, k), speed_mbps=200_000)
        fabric = changed(fabric, "server-001", "port", f"mlx5_{k}", rate_gbps=200.0)
    assert ids(check_speeds, fabric) == []


def _rail(fabric: Fabric, k: int) -> str:
    hcas = fabric.nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    name = next(one for one in hcas if one.name == f"mlx5_{k}").ports[0].netdev
    assert isinstance(name, str)
    return name


def test_a_nic_of_another_kind_is_not_compared() -> None:
    fabric = changed(eight_rail_servers(), "server-001", "hca", "mlx5_7", board_id="MT_0000000001", hca_type="MT4125")
    fabric = changed(fabric, "server-001", "netdev", _rail(fabric, 7), speed_mbps=100_000)
    fabric = changed(fabric, "server-001", "port", "mlx5_7", rate_gbps=100.0)
    assert ids(check_speeds, fabric) == []


@pytest.mark.parametrize(
    ("rate", "mbps", "driver", "told"),
    [
        (100.0, 200_000, "mlx5_core", True),
        (400.0, 200_000, "mlx5_core", True),
        (200.0, 200_000, "mlx5_core", False),
        (56.0, 50_000, "mlx5_core", False),
        (2.5, 1_000, "mlx5_core", False),  # 1 Gbit/s has no RDMA rate of its own
        (2.5, 10_000, "rdma_rxe", False),  # soft-RoCE tells any rate
        (Unknown(unknown="x"), 200_000, "mlx5_core", False),
    ],
)
def test_rate_against_speed(rate: Any, mbps: int, driver: str, told: bool) -> None:
    port = netdev("p0", ip="10.0.0.1").model_copy(update={"speed_mbps": mbps, "kind": None})
    device = hca("mlx5_0", "p0").model_copy(update={"driver": driver})
    ports = tuple(one.model_copy(update={"rate_gbps": rate}) for one in device.ports)
    fabric = Fabric(nodes=(node("a", netdevs=[port], hcas=[device.model_copy(update={"ports": ports})]),))
    assert [id for id, *_rest in ids(check_speeds, fabric)] == (["rate-speed-mismatch"] if told else [])


@pytest.mark.parametrize(("duplex", "told"), [("half", True), ("Half", True), ("full", False), ("unknown", False)])
def test_half_duplex(duplex: str, told: bool) -> None:
    fabric = changed(spark_one_cable(), "spark-a", "netdev", "enp1s0f0np0", duplex=duplex)
    wanted = [("half-duplex", "error", "spark-a/enp1s0f0np0")] if told else []
    assert ids(check_speeds, fabric) == wanted


@pytest.mark.parametrize(("speed", "told"), [(9_999, False), (10_000, True)])
def test_slow_interfaces_have_no_rate_of_their_own_to_compare(speed: int, told: bool) -> None:
    fabric = changed(eight_rail_servers(1), "*", "netdev", "enp180s0np0", speed_mbps=speed)
    assert ("rate-speed-mismatch" in [one[0] for one in ids(check_speeds, fabric)]) is told


@pytest.mark.parametrize(("rate", "told"), [(600.0, False), (601.0, True), (267.0, False), (266.0, True), (0.0, False)])
def test_the_rate_may_be_half_as_much_more_or_less(rate: float, told: bool) -> None:
    fabric = changed(eight_rail_servers(1), "*", "port", "mlx5_5", rate_gbps=rate)
    assert ("rate-speed-mismatch" in [one[0] for one in ids(check_speeds, fabric)]) is told


def test_a_virtual_function_has_its_owners_speed_and_is_not_compared() -> None:
    fabric = with_virtual_functions(eight_rail_servers(1))
    fabric = changed(fabric, "server-001", "port", "mlx5_0v1", state="ACTIVE", rate_gbps=400.0)
    assert ids(check_speeds, fabric) == []
