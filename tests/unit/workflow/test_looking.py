"""Looking deeper only where a node names an image."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import fabricdoc.fabric
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow import looking
from tests.fabrics import node
from tests.fabrics.images import IMAGE, with_images
from tests.fabrics.spark import spark_straight

pytestmark = pytest.mark.unit

SEEN = Fabric(nodes=(node("alpha"),))


def test_images_are_looked_into_only_where_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def with_images(specs: Sequence[NodeSpec], fabric: Fabric, _progress: looking.Progress) -> Fabric:
        asked.append([spec.image for spec in specs])
        return fabric

    monkeypatch.setattr(looking, "look", lambda *_words, **_more: SEEN)
    monkeypatch.setattr(fabricdoc.fabric, "with_images", with_images)
    assert looking.look_deeply([NodeSpec("alpha", "local")], lambda _: None) is SEEN
    assert asked == []
    assert looking.look_deeply([NodeSpec("alpha", "local", image="vllm:v1")], lambda _: None).nodes == SEEN.nodes
    assert asked == [["vllm:v1"]]


def test_what_an_image_holds_is_judged_and_what_beacons_found_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    beacons = Finding(id="link-one-way", severity="error", subject="x", evidence=(Evidence(file="spark-a", text="3"),))
    stale = Finding(id="libnccl-missing", severity="warning", subject="spark-b")
    before = spark_straight().model_copy(update={"findings": (beacons, stale)})
    inside = with_images(spark_straight(), environment={"NCCL_IB_HCA": "mlx5_0"})
    monkeypatch.setattr(looking, "look", lambda *_words, **_more: before)
    monkeypatch.setattr(
        fabricdoc.fabric, "with_images", lambda _specs, seen, _progress: seen.model_copy(update={"nodes": inside.nodes})
    )
    specs = [NodeSpec(name, "local", image=IMAGE) for name in ("spark-a", "spark-b")]
    found = looking.look_deeply(specs, lambda _: None).findings
    assert [one.subject for one in found if one.id == "ib-hca-matches-nothing"] == [
        f"spark-a (image {IMAGE})",
        f"spark-b (image {IMAGE})",
    ]
    assert beacons in found and stale not in found


def test_a_look_once_says_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(looking, "scan", lambda *_words, **_more: SEEN)
    looking.look_once([NodeSpec("alpha", "local")], said.append)
    looking.look_once([NodeSpec(name, "local") for name in ("a", "b")], said.append, watch_s=10)
    assert said == ["looking at 1 node", "looking at 2 nodes, watching their counters for 10 s"]


def test_lldp_is_heard_after_the_scan_and_before_the_cables(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(looking, "look_once", lambda *_words, **_more: order.append("scan") or SEEN)
    monkeypatch.setattr(looking, "with_cables", lambda *_words: order.append("cables") or SEEN)
    monkeypatch.setattr(fabricdoc.fabric, "hear_lldp", lambda *_words: order.append("lldp") or SEEN)
    specs = [NodeSpec(name, "local") for name in ("a", "b")]
    looking.look(specs, lambda _: None)
    looking.look_deeply(specs, lambda _: None, lldp=True)
    looking.look(specs[:1], lambda _: None, lldp=True)
    assert order == ["scan", "cables", "scan", "lldp", "cables", "scan", "lldp"]
