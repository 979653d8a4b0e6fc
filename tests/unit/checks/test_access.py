"""Whether HCAs can be used from where the probe ran: device files, library, locked memory."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.access import MEMLOCK_NEEDED, NOT_LOADED, check_access
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Container, DeviceFile, Fabric, Node
from tests.fabrics import hca, netdev, node

pytestmark = pytest.mark.unit

WELL: dict[str, Any] = {
    "infiniband_devices": ("rdma_cm", "uverbs0"),
    "libibverbs": "/usr/lib/libibverbs.so.1",
    "memlock": -1,
}


def machine(kind: Any = "none", here: bool = True, **facts: Any) -> Node:
    made = node("alpha", netdevs=[netdev("p0", ip="10.0.0.1")], hcas=[hca("rocep1s0f0", "p0" if here else "elsewhere")])
    host = made.host.model_copy(update=WELL | facts)
    return made.model_copy(update={"host": host, "container": Container(kind=kind)})


def files(access: Any) -> Any:
    """Device files by their name and what opening them gave."""
    if isinstance(access, Unknown):
        return access
    return tuple(DeviceFile(name=name, access=why) for name, why in access.items())


def found(one: Node) -> list[tuple[str, str]]:
    return [(finding.id, finding.severity) for finding in check_access(Fabric(nodes=(one,)))]


def test_a_well_set_up_node_is_silent() -> None:
    assert found(machine()) == []


@pytest.mark.parametrize("devices", [(), ("rdma_cm",)])
def test_a_container_without_device_files_is_an_error(devices: tuple[str, ...]) -> None:
    (finding,) = check_access(Fabric(nodes=(machine("docker", infiniband_devices=devices),)))
    assert (finding.id, finding.severity, finding.confidence) == ("container-rdma-device-missing", "error", "certain")
    assert finding.evidence[0].text == "/sys/class/infiniband: rocep1s0f0"
    assert finding.evidence[1].text == f"/dev/infiniband: {', '.join(devices) or 'nothing'}"
    assert "--device /dev/infiniband" in finding.fix[0]


def test_on_a_host_the_module_is_what_is_missing() -> None:
    assert found(machine(infiniband_devices=())) == [("uverbs-missing", "error")]


def test_an_unknown_container_makes_it_likely_only() -> None:
    (finding,) = check_access(Fabric(nodes=(machine(Unknown(unknown="overlay"), infiniband_devices=()),)))
    assert (finding.id, finding.confidence) == ("container-rdma-device-missing", "likely")


def test_hcas_of_another_namespace_are_only_information() -> None:
    assert found(machine("docker", here=False, infiniband_devices=())) == [("container-rdma-device-missing", "info")]


def test_a_missing_library_is_a_warning_a_silent_one_is_none() -> None:
    missing = Unknown(unknown=f"{NOT_LOADED}: cannot open shared object file")
    assert found(machine(libibverbs=missing)) == [("libibverbs-missing", "warning")]
    assert found(machine(libibverbs=Unknown(unknown="no answer within 3 s"))) == []
    assert found(machine(here=False, libibverbs=missing)) == []


@pytest.mark.parametrize(
    ("limit", "ids"),
    [
        (-1, []),
        (MEMLOCK_NEEDED, []),
        (MEMLOCK_NEEDED - 1, [("memlock-limit-too-low", "warning")]),
        (8 << 20, [("memlock-limit-too-low", "warning")]),
        (0, [("memlock-limit-too-low", "warning")]),
        (Unknown(unknown="x"), []),
    ],
)
def test_locked_memory(limit: Any, ids: list[tuple[str, str]]) -> None:
    assert found(machine(memlock=limit)) == ids


def test_without_hcas_nothing_is_missing() -> None:
    bare = node("alpha", netdevs=[netdev("p0", ip="10.0.0.1")])
    host = bare.host.model_copy(update={"memlock": 0, "libibverbs": Unknown(unknown=NOT_LOADED)})
    assert found(bare.model_copy(update={"host": host})) == []
    assert found(bare.model_copy(update={"hcas": Unknown(unknown="x"), "host": host})) == []


@pytest.mark.parametrize(
    ("kind", "access", "severity"),
    [
        ("docker", {"uverbs0": "EPERM"}, "error"),
        ("docker", {"uverbs0": "EACCES", "uverbs1": "ok"}, "error"),
        (Unknown(unknown="overlay"), {"uverbs0": "EPERM"}, "error"),
        ("none", {"uverbs0": "EACCES"}, "warning"),
        ("none", {"uverbs0": "EPERM"}, "warning"),
    ],
)
def test_device_files_that_may_not_be_opened(kind: Any, access: dict[str, str], severity: str) -> None:
    assert found(machine(kind, uverbs=files(access))) == [("container-rdma-device-not-accessible", severity)]


@pytest.mark.parametrize(
    "access",
    [
        {"uverbs0": "ok"},
        {"uverbs0": "ENXIO", "uverbs1": "ENOENT"},
        {},
        Unknown(unknown="no answer within 3 s"),
    ],
)
def test_files_that_open_or_fail_otherwise_are_not_closed(access: Any) -> None:
    assert found(machine("docker", uverbs=files(access))) == []


def test_hcas_that_are_elsewhere_are_not_opened_from_here() -> None:
    assert found(machine("docker", here=False, uverbs=files({"uverbs0": "EPERM"}))) == []


def test_closed_files_are_named_with_the_cure_of_their_place() -> None:
    access = {"uverbs0": "EPERM", "uverbs1": "ok", "uverbs2": "EPERM"}
    (inside,) = check_access(Fabric(nodes=(machine("docker", uverbs=files(access)),)))
    assert [piece.text for piece in inside.evidence[1:]] == [
        "/dev/infiniband/uverbs0: EPERM",
        "/dev/infiniband/uverbs2: EPERM",
        "1 of 3 uverbs files can be opened",
    ]
    assert "fewer HCAs" in inside.cause and "--device /dev/infiniband" in inside.fix[0]
    (outside,) = check_access(Fabric(nodes=(machine(uverbs=files({"uverbs0": "EACCES"})),)))
    assert "over TCP" in outside.cause and outside.fix[:2] == (
        "on alpha:",
        "ls -l /dev/infiniband/uverbs0; rdma system",
    )
