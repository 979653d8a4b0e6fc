"""Looking deeper only where a node names an image."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import fabricdoc.fabric
from fabricdoc.checks import check_fabric, judging
from fabricdoc.fabric import cables
from fabricdoc.fabric.heard import Heard
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
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

    monkeypatch.setattr(looking, "look_once", lambda *_words, **_more: SEEN)
    monkeypatch.setattr(fabricdoc.fabric, "with_images", with_images)
    assert looking.look_deeply([NodeSpec("alpha", "local")], lambda _: None) is SEEN
    assert asked == []
    assert looking.look_deeply([NodeSpec("alpha", "local", image="vllm:v1")], lambda _: None).nodes == SEEN.nodes
    assert asked == [["vllm:v1"]]
    looking.look([NodeSpec("alpha", "local", image="vllm:v1")], lambda _: None)
    assert asked == [["vllm:v1"]], "the gate and a bench ask for the nodes alone"


@pytest.mark.long
@pytest.mark.parametrize("names", [("spark-a",), ("spark-a", "spark-b")])
def test_what_an_image_holds_is_judged_with_all_the_rest_and_once(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    """Beacons come after the images, and their findings stay."""
    nodes = tuple(one for one in spark_straight().nodes if one.name in names)
    stale = Finding(id="libnccl-missing", severity="warning", subject="spark-b")
    scanned = Fabric(nodes=nodes, links=Unknown(unknown="not asked"), findings=(stale,))
    inside = {one.name: one for one in with_images(spark_straight(), environment={"NCCL_IB_HCA": "mlx5_0"}).nodes}
    deaf = Heard(hearings=[], macs={("spark-a", "enp1s0f0np0"): ""}, stray=3)
    runs: list[int] = []

    def counted(fabric: Fabric) -> tuple[Finding, ...]:
        runs.append(len(fabric.nodes))
        return check_fabric(fabric)

    monkeypatch.setattr(looking, "scan", lambda _specs, judge, **_more: judging.judged(scanned) if judge else scanned)
    monkeypatch.setattr(
        fabricdoc.fabric,
        "with_images",
        lambda _specs, seen, _progress: seen.model_copy(
            update={"nodes": tuple(inside[one.name] for one in seen.nodes)}
        ),
    )
    monkeypatch.setattr(judging, "check_fabric", counted)
    monkeypatch.setattr(cables, "exchange", lambda *_words: deaf)
    monkeypatch.setattr(cables.map_cables, "__defaults__", (lambda _: None, cables.BEACONS_ALONE))
    specs = [NodeSpec(name, "local", image=IMAGE) for name in names]
    found = looking.look_deeply(specs, lambda _: None).findings
    assert runs == [len(names)], "judged once"
    assert [one.subject for one in found if one.id == "ib-hca-matches-nothing"] == [
        f"{name} (image {IMAGE})" for name in names
    ]
    assert stale not in found
    assert [one.id for one in found if one.id == "stray-beacons"] == ["stray-beacons"] * (len(names) - 1)


def test_a_look_once_says_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    hashed: list[bool] = []
    monkeypatch.setattr(looking, "scan", lambda *_words, **more: hashed.append(more["hashed"]) or SEEN)
    looking.look_once([NodeSpec("alpha", "local")], said.append)
    looking.look([NodeSpec("alpha", "local")], lambda _: None, hashed=True)
    assert hashed == [False, True]
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
