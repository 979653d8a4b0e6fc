"""Facts of a node as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.gate.nodes import fact_comparisons, node_comparison, same_version
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, FailedNode
from fabricdoc.model.preset import Preset
from tests.fabrics.images import nccl, server_image

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("then", "now", "same"),
    [
        ("2.13.0+cu130", "2.13.0", True),
        ("2.13.0", "2.13.0+cpu", True),
        ("2.13.0+cu130", "2.13.0+cpu", False),
        ("2.13.0", "2.13.1", False),
        ("2.13.0+cu130", "2.13.1+cu130", False),
    ],
)
def test_torch_versions_with_and_without_the_local_part(then: str, now: str, same: bool) -> None:
    assert same_version(then, now) is same


def test_failed_and_unasked_nodes_are_told_apart(fabric: Fabric) -> None:
    nodes = {node.name: node for node in fabric.nodes}
    failed = {"gamma": FailedNode(name="gamma", target="gamma", id="ssh", message="no route")}
    assert node_comparison("alpha", nodes, failed).outcome == "ok"
    assert node_comparison("gamma", nodes, failed).seen == "unknown: no route"
    assert node_comparison("delta", nodes, failed).seen == "unknown: not asked"
    failed["gamma"] = failed["gamma"].model_copy(update={"id": "netns-gone"})
    assert node_comparison("gamma", nodes, failed).note == "its namespace is gone"


def gpus_of(preset: Preset, fabric: Fabric) -> tuple[str, str, str]:
    found = {one.id: one for one in fact_comparisons(preset.fingerprint.nodes[0], fabric.nodes[0])}["gpus"]
    return found.outcome, found.expected, found.seen


def test_gpus_by_name_or_uuid_in_any_order(preset: Preset, fabric: Fabric, change: Any) -> None:
    assert gpus_of(preset, fabric) == ("ok", "1 x NVIDIA GB10", "1 x NVIDIA GB10")
    gpus = fabric.nodes[0].gpus
    assert not isinstance(gpus, Unknown)
    second = gpus[0].model_copy(update={"uuid": "GPU-2", "index": 1})
    two = change.node(fabric, "alpha", gpus=(second, gpus[0]))
    assert gpus_of(preset, two)[0] == "differs"
    by_uuid = change.printed(preset, "alpha", gpus=("GPU-alpha", "GPU-2"))
    assert gpus_of(by_uuid, two)[0] == "ok"
    assert gpus_of(by_uuid, fabric)[0] == "differs"


def test_unread_gpus(preset: Preset, fabric: Fabric, change: Any) -> None:
    deaf = Unknown(unknown="libnvidia-ml.so.1 is not there")
    unread = change.node(fabric, "alpha", gpus=deaf)
    assert gpus_of(preset, unread)[0] == "unknown"
    assert gpus_of(change.printed(preset, "alpha", gpus=()), unread)[0] == "ok"
    gpus = fabric.nodes[0].gpus
    assert not isinstance(gpus, Unknown)
    nameless = change.node(fabric, "alpha", gpus=(gpus[0].model_copy(update={"name": deaf}),))
    assert gpus_of(preset, nameless)[0] == "unknown"


def build_of(preset: Preset, fabric: Fabric) -> tuple[str, str, str]:
    found = {one.id: one for one in fact_comparisons(preset.fingerprint.nodes[0], fabric.nodes[0])}["nccl-build"]
    return found.outcome, found.expected, found.seen


def test_the_same_version_from_another_file_is_another_build(preset: Preset, fabric: Fabric, change: Any) -> None:
    mine = nccl("2.28.9")
    served = change.node(fabric, "alpha", image=server_image(libnccl=(mine,)))
    then = change.printed(preset, "alpha", nccl="2.28.9", nccl_sha256=mine.sha256)
    assert build_of(then, served) == ("ok", "2.28.9", "2.28.9")
    patched = mine.model_copy(update={"sha256": "0" * 64})
    rebuilt = change.node(fabric, "alpha", image=server_image(libnccl=(patched,)))
    assert build_of(then, rebuilt) == ("differs", f"2.28.9 ({str(mine.sha256)[:12]})", "2.28.9 (000000000000)")
    beside = change.node(fabric, "alpha", image=server_image(libnccl=(patched, mine)))
    assert build_of(then, beside)[0] == "ok"


def test_files_are_held_together_only_where_both_were_hashed(preset: Preset, fabric: Fabric, change: Any) -> None:
    mine = nccl("2.28.9")
    bare = mine.model_copy(update={"sha256": Unknown(unknown="not asked for")})
    then = change.printed(preset, "alpha", nccl="2.28.9", nccl_sha256=mine.sha256)
    assert build_of(then, change.node(fabric, "alpha", image=server_image(libnccl=(bare,))))[0] == "ok"
    unhashed = change.printed(preset, "alpha", nccl="2.28.9")
    assert build_of(unhashed, change.node(fabric, "alpha", image=server_image(libnccl=(mine,))))[0] == "ok"
    newer = change.node(fabric, "alpha", image=server_image(libnccl=(nccl("2.30.7"),)))
    assert build_of(then, newer) == ("differs", "2.28.9", "2.30.7")
