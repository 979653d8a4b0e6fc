"""Whether HCAs reach GPU memory, and the sentence that says why not."""

from __future__ import annotations

import pytest

from fabricdoc.bench.gpudirect import WAYS, gpu_direct_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_pair

pytestmark = pytest.mark.unit


def servers(**facts: object) -> Fabric:
    fabric = eight_rail_servers(2)
    return changed(fabric, "*", "gpu", "*", gpudirect_rdma=True, dma_buf=True) if not facts else fabric


def ways(fabric: Fabric, *platforms: str, with_hcas: bool = True) -> dict[str, str]:
    return gpu_direct_of(fabric.nodes, platforms, with_hcas=with_hcas)


def modules(fabric: Fabric, node: str, *loaded: str) -> Fabric:
    return changed(fabric, node, "host", modules=loaded)


def test_all_ways_are_open_on_servers_that_have_both() -> None:
    assert ways(modules(servers(), "*", "nvidia_peermem")) == dict.fromkeys(WAYS, "")


def test_without_the_module_dmabuf_is_the_only_way() -> None:
    found = ways(modules(servers(), "*"))
    assert found["any"] == found["dmabuf"] == ""
    assert found["peermem"] == "server-001: nvidia_peermem is not loaded"


def test_without_dmabuf_the_module_is_the_only_way() -> None:
    fabric = changed(modules(servers(), "*", "nvidia_peermem"), "server-002", "gpu", "*", dma_buf=False)
    found = ways(fabric)
    assert (found["any"], found["peermem"]) == ("", "")
    assert "server-002: GPU 0 has no DMA-BUF" in found["dmabuf"]


def test_with_neither_there_is_none_and_one_bad_node_closes_it_for_all() -> None:
    fabric = changed(modules(servers(), "server-002"), "server-002", "gpu", "*", dma_buf=False)
    assert "server-002" in ways(fabric)["any"]


@pytest.mark.parametrize("fact", [False, Unknown(unknown="no CUDA driver")])
def test_a_gpu_without_it_closes_every_way(fact: object) -> None:
    fabric = changed(modules(servers(), "*", "nvidia_peermem"), "server-002", "gpu", "*", gpudirect_rdma=fact)
    assert all("server-002" in reason and "GPU 0" in reason for reason in ways(fabric).values())


@pytest.mark.long
def test_what_is_unknown_is_not_open() -> None:
    fabric = changed(servers(), "server-001", "gpu", "*", dma_buf=Unknown(unknown="not read"))
    fabric = changed(fabric, "*", "host", modules=Unknown(unknown="no /proc/modules"))
    found = ways(fabric)
    assert "unknown: not read" in found["dmabuf"]
    assert "unknown: no /proc/modules" in found["peermem"]


def test_gb10_has_none_by_design_whatever_is_loaded() -> None:
    found = ways(modules(spark_pair(), "*", "nvidia_peermem"), "gb10")
    assert set(found.values()) == {
        "GB10 has none by design: every message is staged in host memory, and nothing is missing"
    }


def test_rails_without_hcas_have_nothing_that_could_reach_a_gpu() -> None:
    assert set(ways(servers(), with_hcas=False).values()) == {"the rails have no HCA"}


def test_a_node_without_gpus_is_named() -> None:
    fabric = servers()
    first = fabric.nodes[0].model_copy(update={"gpus": ()})
    assert ways(fabric.model_copy(update={"nodes": (first, *fabric.nodes[1:])}))["any"] == "server-001: no GPU was read"
