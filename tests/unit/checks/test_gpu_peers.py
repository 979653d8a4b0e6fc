"""ACS and IOMMU between the GPUs of a node: a fault without NVLink, none with it."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.gpu_peers import check_gpu_peers, pcie_gpus
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import chain, eight_rail_servers
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

ROOT, UP, FIRST, SECOND = chain(0)
FAULT = [("acs-breaks-p2p", "warning", "server-001")]


def server(*acs: str, nvlinks: Any = 0, direct: bool = False) -> Fabric:
    """A server whose GPU 0 and GPU 1 are below one switch, with ACS redirect on some bridges."""
    fabric = changed(eight_rail_servers(1), "server-001", "gpu", "*", nvlinks=nvlinks, gpudirect_rdma=direct)
    gpus = fabric.nodes[0].gpus
    assert isinstance(gpus, tuple)
    for gpu, bridge in ((gpus[0], FIRST), (gpus[1], SECOND)):
        fabric = changed(fabric, "server-001", "pcie", str(gpu.pci), upstream=(ROOT, UP, bridge))
    for bridge in acs:
        fabric = changed(fabric, "server-001", "pcie", bridge, acs=True)
    return fabric


def test_acs_between_gpus_without_nvlink() -> None:
    found = only(check_gpu_peers, server(FIRST, SECOND), "acs-breaks-p2p")
    assert (found.severity, found.subject, found.confidence) == ("warning", "server-001", "likely")
    assert texts(found)[:2] == [f"{one}: ACS redirect on, between GPU 0 and GPU 1" for one in sorted((FIRST, SECOND))]
    assert texts(found)[2] == "no NVLink: GPU 0, 1, 2, 3, 4, 5, 6, 7"
    assert f"sudo setpci -s {FIRST} ECAP_ACS+0x6.w=0000" in found.fix


@pytest.mark.parametrize(
    ("fabric", "expected"),
    [
        (server(FIRST), FAULT),
        (server(ROOT, UP), []),
        (server(), []),
        (server(chain(5)[2]), []),
        (server(FIRST, SECOND, nvlinks=18), []),
        (server(FIRST, SECOND, nvlinks=1), []),
        (server(FIRST, SECOND, nvlinks=Unknown(unknown="NVML: this driver lacks the function")), []),
        (changed(server(FIRST), "*", "gpu", 0, nvlinks=12), []),
        (changed(server(FIRST), "*", "pcie", FIRST, acs=Unknown(unknown="needs root")), []),
        (changed(server(FIRST), "*", "node", hcas=()), []),
        (changed(server(FIRST), "*", "node", pcie=()), []),
        (changed(server(FIRST), "*", "gpu", 0, pci=Unknown(unknown="x")), []),
    ],
)
def test_what_has_it_and_what_nearly_has_it(fabric: Fabric, expected: list[tuple[str, str, str]]) -> None:
    assert ids(check_gpu_peers, fabric) == expected


@pytest.mark.parametrize(
    ("iommu", "nvlinks", "direct", "told"),
    [
        ("translated", 0, False, True),
        ("passthrough", 0, False, False),
        ("off", 0, False, False),
        ("translated", 18, False, False),
        ("translated", 0, True, False),
        (Unknown(unknown="x"), 0, False, False),
    ],
)
def test_an_iommu_that_translates(iommu: Any, nvlinks: int, direct: bool, told: bool) -> None:
    fabric = changed(server(nvlinks=nvlinks, direct=direct), "*", "host", iommu=iommu)
    assert ids(check_gpu_peers, fabric) == ([("iommu-breaks-p2p", "warning", "server-001")] if told else [])


def test_one_gpu_has_no_peer() -> None:
    fabric = changed(server(FIRST), "*", "host", iommu="translated")
    gpus = fabric.nodes[0].gpus
    assert isinstance(gpus, tuple)
    alone = changed(fabric, "*", "node", gpus=gpus[:1])
    assert pcie_gpus(alone.nodes[0]) == []
    assert ids(check_gpu_peers, alone) == []


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_fabrics(name: str) -> None:
    assert ids(check_gpu_peers, RECORDED[name]()) == []
