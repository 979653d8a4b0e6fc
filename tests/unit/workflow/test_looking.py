"""Looking deeper only where a node names an image."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import fabricdoc.fabric
from fabricdoc.model.fabric import Fabric
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow import looking
from tests.fabrics import node

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
    assert looking.look_deeply([NodeSpec("alpha", "local", image="vllm:v1")], lambda _: None) is SEEN
    assert asked == [["vllm:v1"]]


def test_a_look_once_says_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(looking, "scan", lambda *_words, **_more: SEEN)
    looking.look_once([NodeSpec("alpha", "local")], said.append)
    looking.look_once([NodeSpec(name, "local") for name in ("a", "b")], said.append, watch_s=10)
    assert said == ["looking at 1 node", "looking at 2 nodes, watching their counters for 10 s"]
