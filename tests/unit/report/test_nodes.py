"""A node: host, GPUs, and unknown facts with their reasons."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Library, ServerImage
from fabricdoc.report.nodes import nccl_versions, render_failed, render_node

pytestmark = pytest.mark.unit


@pytest.fixture
def alpha(samples: Any) -> Any:
    return samples.fabric().nodes[0]


def test_what_a_node_is(alpha: Any, shown: Any) -> None:
    rows = shown(render_node(alpha)).splitlines()
    assert rows[0] == "alpha  netns:4711"
    assert rows[1] == "  host  Ubuntu 24.04.1 LTS, kernel 6.11.0-1016-nvidia, aarch64, python 3.12.3"
    assert rows[2] == "  GPU   1 x NVIDIA GB10"
    assert "  ? torch: no such file" in rows
    assert "  ? speed of enp1s0f1np1: Invalid argument" in rows


def test_the_target_is_told_once(alpha: Any, shown: Any) -> None:
    same = alpha.model_copy(update={"target": "alpha"})
    assert shown(render_node(same)).splitlines()[0] == "alpha"


def test_a_reason_is_told_once_for_all_its_facts(alpha: Any, shown: Any) -> None:
    host = alpha.host.model_copy(update={"kernel": Unknown(unknown="no such file")})
    text = shown(render_node(alpha.model_copy(update={"host": host})))
    assert "? kernel, torch: no such file" in text
    assert text.count("no such file") == 1


def test_gpus_are_counted_by_kind(alpha: Any, shown: Any) -> None:
    one = alpha.gpus[0].model_copy(update={"memory_bytes": 139 << 30})
    text = shown(render_node(alpha.model_copy(update={"gpus": (one, one, alpha.gpus[0])})))
    assert "GPU   2 x NVIDIA GB10 139 GiB, 1 x NVIDIA GB10\n" in text
    assert "GPU   none\n" in shown(render_node(alpha.model_copy(update={"gpus": ()})))
    unread = alpha.model_copy(update={"gpus": Unknown(unknown="libnvidia-ml.so.1 is missing")})
    assert "GPU   unknown: libnvidia-ml.so.1 is missing\n" in shown(render_node(unread))


def test_inside_a_container(alpha: Any, shown: Any) -> None:
    inside = alpha.model_copy(update={"container": alpha.container.model_copy(update={"kind": "docker"})})
    assert "inside docker" in shown(render_node(inside))


def test_a_failed_node_says_why_and_what_to_do(samples: Any, shown: Any) -> None:
    text = shown(render_failed(samples.fabric().failed[0]))
    assert text == "gamma  user@gamma  could not be read: refused\n  start sshd there\n"
    named = samples.fabric().failed[0].model_copy(update={"message": "gamma: refused"})
    assert shown(render_failed(named)) == text


def test_how_rdma_reaches_a_gpus_memory_and_who_uses_it(alpha: Any, shown: Any) -> None:
    def said(**fields: Any) -> str:
        gpu = alpha.gpus[0].model_copy(update=fields)
        text: str = shown(render_node(alpha.model_copy(update={"gpus": (gpu,)}))).splitlines()[2]
        return text

    assert said() == "  GPU   1 x NVIDIA GB10"
    assert said(gpudirect_rdma=False, dma_buf=False).endswith("NVIDIA GB10, no GPUDirect: host-staged")
    assert said(gpudirect_rdma=False, dma_buf=True).endswith("NVIDIA GB10, GPUDirect")
    assert said(processes=(7, 8)).endswith("NVIDIA GB10, in use by 2 processes")
    assert said(processes=(7,)).endswith("in use by 1 process")


def test_every_nccl_is_named_once(alpha: Any, shown: Any) -> None:
    found = (
        Library(path="/a", version="2.28.9"),
        Library(path="/b", version="2.30.7"),
        Library(path="/c", version="2.28.9"),
        Library(path="/d"),
    )
    node = alpha.model_copy(update={"host": alpha.host.model_copy(update={"libnccl": found})})
    assert nccl_versions(node) == ["2.28.9", "2.30.7"]
    assert "NCCL 2.28.9, NCCL" in " ".join(shown(render_node(node)).split())
    assert nccl_versions(alpha) == []


def test_the_image_a_server_runs_from(alpha: Any, shown: Any) -> None:
    def said(image: Any) -> list[str]:
        rows = shown(render_node(alpha.model_copy(update={"image": image}))).splitlines()
        return [row for row in rows if row.startswith("  image")]

    whole = ServerImage(
        name="vllm:v1", torch="2.11.0", python="3.12.3", libibverbs="/usr/lib/libibverbs.so.1",
        libnccl=(Library(path="/a", version="2.30.7"), Library(path="/b")),
    )  # fmt: skip
    assert said(whole) == ["  image vllm:v1, NCCL 2.30.7, torch 2.11.0, python 3.12.3"]
    bare = whole.model_copy(update={"libibverbs": Unknown(unknown="can't be loaded"), "libnccl": ()})
    assert said(bare) == ["  image vllm:v1, torch 2.11.0, python 3.12.3, no libibverbs: NCCL would use TCP"]
    assert said(Unknown(unknown="no such image")) == ["  image unknown: no such image"]
    assert said(alpha.image) == []
