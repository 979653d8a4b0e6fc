"""PCIe links of HCAs: trained down, too narrow, with errors, gone."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.pcie import PciLink, check_pcie
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.healthy import with_virtual_functions
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_bad, eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_straight, spark_x2
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

RAIL5 = "0000:b4:00.0"


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_fabrics_are_silent(name: str) -> None:
    assert ids(check_pcie, RECORDED[name]()) == []


@pytest.mark.parametrize(
    ("speed", "width", "gbps"),
    [(32.0, 4, 126.0), (32.0, 16, 504.1), (2.5, 1, 2.0), (5.0, 8, 32.0), (8.0, 4, 31.5), (None, 4, 0.0), (8.0, 0, 0.0)],
)
def test_what_a_link_carries(speed: Any, width: Any, gbps: float) -> None:
    assert PciLink(speed, width).gbps() == pytest.approx(gbps, abs=0.05)


def test_two_lanes_on_a_spark_are_one_error_for_both_functions() -> None:
    found = only(check_pcie, spark_x2(), "pcie-width-low")
    assert (found.severity, found.subject) == ("error", "spark-b/roceP2p1s0f0")
    assert texts(found) == [
        "0002:01:00 (roceP2p1s0f0, roceP2p1s0f1): 32 GT/s x2, 63 Gb/s; should be 32 GT/s x4, 126 Gb/s",
        "BIOS 5.36_0ACUM023",
    ]
    assert "sudo lspci -s 0002:01:00 -vv" in found.fix
    assert any("BIOS" in line for line in found.fix)


def test_on_gb10_the_wiring_counts_and_not_what_the_chip_could_do() -> None:
    fabric = changed(spark_straight(), "*", "pcie", "*", max_width=16)
    assert ids(check_pcie, fabric) == []
    fabric = changed(spark_straight(), "*", "pcie", "*", max_width=Unknown(unknown="x"), max_speed_gts=64.0)
    assert ids(check_pcie, fabric) == []


def test_gen1_on_a_spark_is_a_low_speed() -> None:
    fabric = changed(spark_one_cable(), "spark-a", "pcie", "0000:01:00.0", current_speed_gts=2.5)
    found = only(check_pcie, fabric, "pcie-speed-low")
    assert (found.severity, found.subject) == ("error", "spark-a/rocep1s0f0")


def test_a_bad_rail_of_a_server_is_named() -> None:
    found = only(check_pcie, eight_rail_bad(), "pcie-width-low")
    assert (found.severity, found.subject) == ("error", "server-002/mlx5_5")
    assert "32 GT/s x8, 252 Gb/s; should be 32 GT/s x16, 504 Gb/s" in texts(found)[0]
    assert not any("GB10" in line for line in found.fix)


def test_a_link_that_still_carries_its_port_is_information() -> None:
    fabric = changed(eight_rail_bad(), "server-002", "port", "mlx5_5", rate_gbps=200.0)
    assert ids(check_pcie, fabric) == [("pcie-width-low", "info", "server-002/mlx5_5")]


def test_a_port_without_a_cable_needs_nothing() -> None:
    fabric = changed(eight_rail_bad(), "server-002", "port", "mlx5_5", state="DOWN")
    assert ids(check_pcie, fabric) == [("pcie-width-low", "info", "server-002/mlx5_5")]


def test_a_slot_of_eight_lanes_is_told_as_such_and_not_as_trained_down() -> None:
    fabric = changed(eight_rail_bad(), "server-002", "pcie", "0000:b2:01.0", max_width=8)
    found = only(check_pcie, fabric, "pcie-slot-too-narrow")
    assert ids(check_pcie, fabric) == [("pcie-slot-too-narrow", "warning", "server-002/mlx5_5")]
    assert texts(found) == ["0000:b4:00: 32 GT/s x8, 252 Gb/s at most; port 400 Gb/s"]


@pytest.mark.parametrize("fact", ["current_width", "current_speed_gts"])
def test_what_was_not_read_is_not_judged(fact: str) -> None:
    fabric = changed(eight_rail_bad(), "server-002", "pcie", RAIL5, **{fact: Unknown(unknown="x")})
    wanted = [] if fact == "current_width" else [("pcie-width-low", "info", "server-002/mlx5_5")]
    found = [one for one in ids(check_pcie, fabric) if one[0] != "pcie-slot-too-narrow"]
    assert [one[0] for one in found] == [one[0] for one in wanted]


def test_without_the_list_of_functions_nothing_is_said() -> None:
    assert ids(check_pcie, changed(eight_rail_bad(), "*", "node", pcie=Unknown(unknown="x"))) == []


def test_gpus_that_save_power_are_left_out() -> None:
    fabric = changed(eight_rail_servers(), "*", "pcie", "0000:b3:00.0", current_speed_gts=2.5, current_width=8)
    assert ids(check_pcie, fabric) == []


def with_aer(address: str, uptime: Any = 86_400.0, **counts: int) -> Fabric:
    fabric = changed(eight_rail_servers(), "server-001", "host", uptime_s=uptime)
    return changed(fabric, "server-001", "pcie", address, aer=counts)


@pytest.mark.parametrize(
    ("counts", "uptime", "wanted"),
    [
        ({"fatal": 1}, 86_400.0, ("pcie-aer-fatal", "error")),
        ({"nonfatal": 1}, 86_400.0, ("pcie-aer-nonfatal", "warning")),
        ({"correctable": 2400}, 86_400.0, ("pcie-aer-correctable", "warning")),
        ({"correctable": 2399}, 86_400.0, None),  # just below 100 an hour
        ({"correctable": 999}, 600.0, None),  # many an hour, few in number
        ({"correctable": 1_000_000}, Unknown(unknown="x"), None),
        ({"correctable": 3, "nonfatal": 0, "fatal": 0}, 86_400.0, None),
    ],
)
def test_errors_on_the_bus(counts: dict[str, int], uptime: Any, wanted: tuple[str, str] | None) -> None:
    found = ids(check_pcie, with_aer(RAIL5, uptime, **counts))
    assert found == ([(*wanted, f"server-001/{RAIL5}")] if wanted else [])


def test_errors_of_the_bridge_above_count_and_those_of_a_gpu_do_not() -> None:
    assert ids(check_pcie, with_aer("0000:b2:01.0", fatal=2)) == [
        ("pcie-aer-fatal", "error", "server-001/0000:b2:01.0")
    ]
    assert ids(check_pcie, with_aer("0000:b3:00.0", fatal=2)) == []


def test_a_device_off_the_bus_is_an_error() -> None:
    found = only(check_pcie, changed(eight_rail_servers(), "server-001", "pcie", RAIL5, gone=True), "pcie-device-gone")
    assert (found.severity, found.subject) == ("error", f"server-001/{RAIL5}")
    assert texts(found) == [f"{RAIL5}: config space reads all ones"]


@pytest.mark.parametrize(
    ("speed", "width", "text"),
    [
        (32.0, 4, "32 GT/s x4"),
        (2.5, 1, "2.5 GT/s x1"),
        (None, 4, "? GT/s x4"),
        (16.0, None, "16 GT/s x?"),
        (None, None, "? GT/s x?"),
    ],
)
def test_a_link_in_words(speed: float | None, width: int | None, text: str) -> None:
    assert PciLink(speed, width).text() == text


def test_gen3_and_newer_lose_little_to_their_code() -> None:
    assert PciLink(8.0, 1).gbps() > 7.8 and PciLink(5.0, 1).gbps() == 4.0


def test_width_is_told_before_speed_and_once_for_a_slot() -> None:
    fabric = changed(spark_straight(), "spark-b", "pcie", "*", current_width=2, current_speed_gts=16.0)
    found = [one for one in ids(check_pcie, fabric) if one[2].startswith("spark-b")]
    assert found == [
        ("pcie-width-low", "error", "spark-b/roceP2p1s0f0"), ("pcie-width-low", "error", "spark-b/rocep1s0f0")
    ]  # fmt: skip


def test_the_slot_decides_where_it_is_narrower_than_the_card() -> None:
    fabric = changed(eight_rail_bad(), "server-002", "pcie", "0000:b2:01.0", max_width=8)
    slow = changed(fabric, "server-002", "pcie", RAIL5, current_speed_gts=16.0)
    assert ("pcie-speed-low", "error", "server-002/mlx5_5") in ids(check_pcie, slow)


@pytest.mark.parametrize("fact", [Unknown(unknown="x"), 0])
def test_a_bridge_that_does_not_tell_leaves_the_card_to_decide(fact: Any) -> None:
    fabric = changed(eight_rail_bad(), "server-002", "pcie", "0000:b2:01.0", max_width=fact)
    assert only(check_pcie, fabric, "pcie-width-low").subject == "server-002/mlx5_5"


def test_a_port_of_unknown_rate_needs_nothing() -> None:
    fabric = changed(eight_rail_bad(), "server-002", "port", "mlx5_5", rate_gbps=Unknown(unknown="x"))
    assert ids(check_pcie, fabric) == [("pcie-width-low", "info", "server-002/mlx5_5")]


def test_virtual_functions_and_hcas_without_a_function_are_passed_over() -> None:
    assert ids(check_pcie, with_virtual_functions(eight_rail_servers())) == []
    assert ids(check_pcie, changed(eight_rail_bad(), "server-002", "hca", "mlx5_5", pci="0000:ff:00.0")) == []


def test_a_gone_device_is_told_once_and_not_as_trained_down() -> None:
    fabric = changed(spark_x2(), "spark-b", "pcie", "0002:01:00.1", gone=True)
    assert [one[0] for one in ids(check_pcie, fabric)] == ["pcie-device-gone", "pcie-width-low"]


def test_totals_of_several_functions_are_one_finding() -> None:
    fabric = changed(eight_rail_servers(), "server-001", "pcie", "*", aer={"nonfatal": 2})
    found = only(check_pcie, fabric, "pcie-aer-nonfatal")
    assert len(found.evidence) == 16 and texts(found)[0].endswith("2 nonfatal errors since boot")
