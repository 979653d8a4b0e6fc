"""GPUDirect RDMA: a fact on GB10, and what breaks it elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.gpudirect import check_gpudirect
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, GpuPath
from tests.fabrics.altering import changed
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_fabrics_have_no_more_than_the_fact(name: str) -> None:
    assert {(id, severity) for id, severity, _subject in ids(check_gpudirect, RECORDED[name]())} <= {
        ("gpudirect-not-available", "info")
    }


def test_gb10_is_host_staged_and_well() -> None:
    found = next(iter(check_gpudirect(spark_one_cable())))
    assert (found.id, found.severity, found.subject) == ("gpudirect-not-available", "info", "spark-a")
    assert "host-staged" in found.cause
    assert "failed" not in " ".join((found.cause, *found.fix))
    assert texts(found) == ["GPU 0 NVIDIA GB10: no GPUDirect RDMA"]


def test_gb10_is_never_told_to_load_a_module_or_to_change_its_iommu() -> None:
    fabric = changed(spark_one_cable(), "*", "gpu", 0, gpudirect_rdma=True, dma_buf=False)
    fabric = changed(fabric, "*", "host", modules=(), iommu="translated")
    assert ids(check_gpudirect, fabric) == []


def test_without_the_attribute_nothing_is_said() -> None:
    fabric = changed(spark_one_cable(), "*", "gpu", 0, gpudirect_rdma=Unknown(unknown="x"))
    assert ids(check_gpudirect, fabric) == []


@pytest.mark.parametrize(
    ("dma_buf", "modules", "told"),
    [
        (False, ("mlx5_core", "nvidia"), True),
        (False, ("mlx5_core", "nvidia", "nvidia_peermem"), False),
        (True, ("mlx5_core", "nvidia"), False),
        (Unknown(unknown="x"), ("mlx5_core", "nvidia"), False),
        (False, Unknown(unknown="x"), False),
    ],
)
def test_a_missing_module_counts_only_without_dma_buf(dma_buf: Any, modules: Any, told: bool) -> None:
    fabric = changed(eight_rail_servers(1), "*", "gpu", "*", dma_buf=dma_buf)
    fabric = changed(fabric, "*", "host", modules=modules)
    wanted = [("gpudirect-path-missing", "warning", "server-001")] if told else []
    assert ids(check_gpudirect, fabric) == wanted
    if told:
        assert only(check_gpudirect, fabric, "gpudirect-path-missing").fix[1] == "sudo modprobe nvidia_peermem"


def test_gpus_without_hcas_need_no_gpudirect() -> None:
    fabric = changed(eight_rail_servers(1), "*", "gpu", "*", dma_buf=False)
    fabric = changed(fabric, "*", "host", modules=(), iommu="translated")
    fabric = changed(fabric, "*", "port", "*", state="DOWN")
    assert ids(check_gpudirect, fabric) == []


def with_acs(*bridges: str) -> Fabric:
    fabric = eight_rail_servers(1)
    for bridge in bridges:
        fabric = changed(fabric, "server-001", "pcie", bridge, acs=True)
    return fabric


def test_acs_below_a_switch_that_gpu_and_hca_share() -> None:
    found = only(check_gpudirect, with_acs("0000:b2:01.0", "0000:12:00.0"), "acs-breaks-gpudirect")
    assert (found.severity, found.subject, found.confidence) == ("warning", "server-001", "likely")
    assert [text.split(":", 3)[:3] for text in texts(found)] == [["0000", "12", "00.0"], ["0000", "b2", "01.0"]]
    assert "sudo setpci -s 0000:12:00.0 ECAP_ACS+0x6.w=0000" in found.fix


@pytest.mark.parametrize("bridge", ["0000:10:01.0", "0000:11:00.0"])
def test_acs_above_it_is_not_in_the_way(bridge: str) -> None:
    assert ids(check_gpudirect, with_acs(bridge)) == []


def test_acs_does_not_matter_without_gpudirect() -> None:
    fabric = changed(with_acs("0000:b2:01.0"), "*", "gpu", "*", gpudirect_rdma=False)
    assert [id for id, *_rest in ids(check_gpudirect, fabric)] == ["gpudirect-not-available"]


@pytest.mark.parametrize(
    ("mode", "told"), [("translated", True), ("passthrough", False), ("off", False), (Unknown(unknown="x"), False)]
)
def test_a_translating_iommu(mode: Any, told: bool) -> None:
    fabric = changed(eight_rail_servers(1), "*", "host", iommu=mode)
    assert ids(check_gpudirect, fabric) == ([("iommu-breaks-p2p", "warning", "server-001")] if told else [])


def far(*gpus: int) -> Fabric:
    fabric = eight_rail_servers(1)
    paths = tuple(
        GpuPath(gpu=one.gpu, hca=one.hca, path="NODE") if one.gpu in gpus and one.path == "PIX" else one
        for one in fabric.nodes[0].gpu_paths
    )
    return changed(fabric, "server-001", "node", gpu_paths=paths)


def test_a_gpu_without_a_near_hca_among_others_that_have_one() -> None:
    found = only(check_gpudirect, far(5), "gpu-far-from-hcas")
    assert (found.severity, found.subject) == ("warning", "server-001")
    assert texts(found)[0].startswith("GPU 5: no HCA within PXB")


def test_where_no_gpu_has_a_near_hca_it_is_how_the_node_is_built() -> None:
    assert ids(check_gpudirect, far(*range(8))) == []
    assert ids(check_gpudirect, changed(far(5), "*", "node", gpu_paths=())) == []


def test_many_gpus_are_told_in_part() -> None:
    fabric = eight_rail_servers(1)
    assert not isinstance(fabric.nodes[0].gpus, Unknown)
    many = tuple(fabric.nodes[0].gpus[0].model_copy(update={"index": k, "dma_buf": False}) for k in range(40))
    fabric = changed(changed(fabric, "*", "node", gpus=many), "*", "host", modules=())
    found = only(check_gpudirect, fabric, "gpudirect-path-missing")
    assert len(found.evidence) == 17 and texts(found)[-1] == "modules: no nvidia_peermem"


def test_a_gpu_whose_function_was_not_read_shares_no_switch() -> None:
    fabric = changed(with_acs("0000:b2:01.0"), "*", "gpu", "*", pci=Unknown(unknown="x"))
    assert ids(check_gpudirect, fabric) == []
    assert ids(check_gpudirect, changed(with_acs("0000:b2:01.0"), "*", "hca", "*", pci=Unknown(unknown="x"))) == []


NEAR = dict.fromkeys(("PIX", "PXB", "P2C", "C2C"), True) | dict.fromkeys(("PHB", "NODE", "SYS"), False)


@pytest.mark.parametrize(("path", "near"), NEAR.items())
def test_how_near_is_near_enough(path: str, near: bool) -> None:
    fabric = far(5)
    paths = tuple(
        one.model_copy(update={"path": path}) if (one.gpu, one.hca) == (5, "mlx5_5") else one
        for one in fabric.nodes[0].gpu_paths
    )
    assert ids(check_gpudirect, changed(fabric, "server-001", "node", gpu_paths=paths)) == (
        [] if near else [("gpu-far-from-hcas", "warning", "server-001")]
    )


def test_a_gpu_of_which_no_path_is_known_is_not_far() -> None:
    fabric = far(5)
    paths = tuple(one for one in fabric.nodes[0].gpu_paths if one.gpu != 5)
    assert ids(check_gpudirect, changed(fabric, "server-001", "node", gpu_paths=paths)) == []
