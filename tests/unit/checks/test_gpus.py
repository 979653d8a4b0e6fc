"""GPUs: caps, clamps, heat, spinning ranks, users."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.gpus import check_gpus
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Counters, Fabric, Tenant
from tests.fabrics.altering import changed
from tests.fabrics.others import laptop
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_gpu, spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

UNREAD: Any = Unknown(unknown="x")
CLAMPED: dict[str, Any] = {"utilization_percent": 97, "sm_clock_mhz": 611, "power_w": 14.2}
SPINNING: dict[str, Any] = {"utilization_percent": 96, "sm_clock_mhz": 2400, "power_w": 19.0}


def spark(**facts: Any) -> Fabric:
    return changed(spark_one_cable(), "spark-a", "gpu", 0, **facts)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_gpus_are_well(name: str) -> None:
    assert ids(check_gpus, RECORDED[name]()) == []


@pytest.mark.parametrize(
    ("cap", "most", "told"),
    [
        (1000, 2502, True),
        (2376, 2502, True),
        (2377, 2502, False),
        (2502, 2502, False),
        (UNREAD, 2502, False),
        (1000, UNREAD, False),
    ],
)
def test_a_clock_cap(cap: Any, most: Any, told: bool) -> None:
    fabric = spark(sm_clock_cap_mhz=cap, sm_clock_max_mhz=most)
    assert ids(check_gpus, fabric) == ([("gpu-clock-capped", "warning", "spark-a/GPU 0")] if told else [])


def test_a_clock_cap_is_taken_away_by_name() -> None:
    fabric = changed(eight_rail_servers(1), "server-001", "gpu", 3, sm_clock_cap_mhz=1200)
    found = only(check_gpus, fabric, "gpu-clock-capped")
    assert texts(found) == ["GPU 3: SM clock capped at 1200 MHz of 1980 MHz"]
    assert found.fix == ("on server-001:", "sudo nvidia-smi -i 3 -rac", "sudo nvidia-smi -i 3 -rgc")


def test_a_power_clamp_is_an_error() -> None:
    found = only(check_gpus, spark(**CLAMPED), "gpu-power-clamp")
    assert (found.severity, found.subject, found.confidence) == ("error", "spark-a/GPU 0", "likely")
    assert "97 % busy, 611 MHz, 14 W" in texts(found)[0]


@pytest.mark.parametrize(
    "nearly",
    [
        {"utilization_percent": 89},  # not under load: an idle GPU is slow and frugal
        {"utilization_percent": UNREAD},
        {"sm_clock_mhz": 1400},
        {"sm_clock_mhz": UNREAD},
        {"power_w": 40.0},
        {"power_w": UNREAD},
        {"throttle_reasons": ("sw_thermal_slowdown",)},  # heat explains it
        {"sm_clock_cap_mhz": 600},  # somebody's cap explains it
    ],
)
def test_what_is_nearly_a_clamp(nearly: dict[str, Any]) -> None:
    assert "gpu-power-clamp" not in [id for id, *_rest in ids(check_gpus, spark(**(CLAMPED | nearly)))]


def test_a_clamp_is_known_of_gb10_only() -> None:
    fabric = changed(eight_rail_servers(1), "server-001", "gpu", 0, **CLAMPED)
    assert ids(check_gpus, fabric) == []


def test_an_idle_reason_explains_no_low_clock() -> None:
    assert only(check_gpus, spark(**CLAMPED, throttle_reasons=("gpu_idle",)), "gpu-power-clamp")


@pytest.mark.parametrize(
    ("heat", "reasons", "told"),
    [
        (88, (), True),
        (87, (), False),
        (70, ("sw_thermal_slowdown",), True),
        (70, ("hw_thermal_slowdown",), True),
        (70, ("sw_power_cap",), False),
        (UNREAD, ("hw_thermal_slowdown",), True),
        (UNREAD, UNREAD, False),
    ],
)
def test_heat(heat: Any, reasons: Any, told: bool) -> None:
    found = ids(check_gpus, spark(temperature_c=heat, throttle_reasons=reasons))
    assert found == ([("gpu-too-hot", "warning", "spark-a/GPU 0")] if told else [])


def test_a_server_gpu_at_88_degrees_is_well() -> None:
    assert ids(check_gpus, changed(eight_rail_servers(1), "*", "gpu", 0, temperature_c=88)) == []


def watched(sent: int, seconds: float = 10.0) -> Fabric:
    deltas = {"port_xmit_data": sent} if sent else {}
    counters = (Counters(subject="rocep1s0f0/1", source="port", values={"port_xmit_data": 7}, deltas=deltas),)
    return changed(spark(**SPINNING), "spark-a", "node", counters=counters, watched_s=seconds)


def test_a_spinning_rank_sends_nothing() -> None:
    found = only(check_gpus, watched(0), "gpu-spinning")
    assert (found.severity, found.subject) == ("warning", "spark-a/GPU 0")
    assert "ports sent nothing in 10 s" in texts(found)
    assert ids(check_gpus, watched(1)) == []


def test_without_watching_nobody_knows_whether_it_spins() -> None:
    assert ids(check_gpus, watched(0, 0.0)) == []
    assert ids(check_gpus, changed(watched(0), "spark-a", "node", counters=UNREAD)) == []
    assert ids(check_gpus, changed(watched(0), "spark-a", "node", counters=())) == []


def test_a_busy_gpu_at_work_does_not_spin() -> None:
    assert ids(check_gpus, changed(watched(0), "spark-a", "gpu", 0, power_w=25.1)) == []
    assert ids(check_gpus, changed(watched(0), "spark-a", "gpu", 0, utilization_percent=50)) == []


def test_users_are_information_with_their_names() -> None:
    tenants = (Tenant(pid=4242, name="vllm", container="3f9c"), Tenant(pid=7, name=UNREAD))
    found = only(check_gpus, spark(tenants=tenants), "gpu-in-use")
    assert (found.severity, found.subject) == ("info", "spark-a")
    assert texts(found) == ["GPU 0: pid 4242 vllm in 3f9c", "GPU 0: pid 7 ?"]


def test_the_gpu_of_a_laptop_is_nobodys_business() -> None:
    fabric = changed(laptop(), "*", "node", gpus=(spark_gpu(0).model_copy(update={"sm_clock_cap_mhz": 300}),))
    assert ids(check_gpus, fabric) == []


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({}, True),
        ({"utilization_percent": 90}, True),
        ({"utilization_percent": 89}, False),
        ({"sm_clock_mhz": 1399}, True),
        ({"sm_clock_mhz": 1400}, False),
        ({"power_w": 39.9}, True),
        ({"power_w": 40.0}, False),
        ({"sm_clock_cap_mhz": 1400}, True),
        ({"sm_clock_cap_mhz": 1399}, False),
        ({"sm_clock_cap_mhz": UNREAD}, True),
        ({"throttle_reasons": ("hw_power_brake_slowdown",)}, False),
        ({"throttle_reasons": ("gpu_idle",)}, True),
    ],
)
def test_a_clamp_at_its_borders(facts: dict[str, Any], told: bool) -> None:
    assert ("gpu-power-clamp" in [one[0] for one in ids(check_gpus, spark(**{**CLAMPED, **facts}))]) is told


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({}, True),
        ({"power_w": 25.0}, True),
        ({"power_w": 25.1}, False),
        ({"sm_clock_mhz": 1400}, True),
        ({"sm_clock_mhz": 1399}, False),
    ],
)
def test_a_spinning_gpu_at_its_borders(facts: dict[str, Any], told: bool) -> None:
    fabric = changed(spark(**{**SPINNING, **facts}), "spark-a", "node", watched_s=10.0)
    assert ("gpu-spinning" in [one[0] for one in ids(check_gpus, fabric)]) is told


def test_ports_that_were_not_watched_or_that_sent_are_not_silent() -> None:
    quiet = changed(spark(**SPINNING), "spark-a", "node", watched_s=10.0)
    assert "gpu-spinning" not in [one[0] for one in ids(check_gpus, changed(quiet, "spark-a", "node", watched_s=0.0))]
    assert "gpu-spinning" not in [one[0] for one in ids(check_gpus, changed(quiet, "spark-a", "node", counters=UNREAD))]
    other = (Counters(subject="enp1s0f0np0", source="ethtool", values={}, deltas={}, names=3),)
    assert "gpu-spinning" not in [one[0] for one in ids(check_gpus, changed(quiet, "spark-a", "node", counters=other))]
    hardware = Counters(subject="rocep1s0f0/1", source="hw", deltas={"port_xmit_data": 5}, names=3)
    port = Counters(subject="rocep1s0f0/1", source="port", names=3)
    mixed = changed(quiet, "spark-a", "node", counters=(hardware, port))
    assert "gpu-spinning" in [one[0] for one in ids(check_gpus, mixed)], "only the port's own counter tells of data"
