"""A scan that begins before its reports can be read: nothing heavy is loaded, and the answers wait."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.fabric import begin_scan, scan
from fabricdoc.fabric.signatures import kernel_signatures
from fabricdoc.model.documents import Unknown
from fabricdoc.transport import NodeSpec

pytestmark = pytest.mark.unit

HEAVY = ("pydantic", "rich", "pyroute2", "asyncio", "torch", "tomllib")


@pytest.mark.long
def test_beginning_loads_nothing_heavy() -> None:
    code = (
        "import json, sys\n"
        "from fabricdoc.fabric import begin_scan\n"
        "from fabricdoc.transport import NodeSpec\n"
        "begun = begin_scan([NodeSpec('local', 'local')])\n"
        "loaded = list(sys.modules)\n"
        "answers = begun.answers()\n"
        "print(json.dumps([loaded, [a.error is None for a in answers]]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded, answered = json.loads(done.stdout)
    assert not [name for name in HEAVY if name in loaded]
    assert answered == [True]


@pytest.mark.long
def test_a_begun_scan_is_read_to_the_same_fabric() -> None:
    specs = [NodeSpec("local", "local")]
    begun = begin_scan(specs)
    fabric = scan(specs, begun=begun)
    assert [node.name for node in fabric.nodes] == ["local"]
    assert fabric.failed == ()
    assert fabric.nodes[0].host.hostname == scan(specs).nodes[0].host.hostname


def test_a_node_that_can_not_be_started_is_a_failed_node() -> None:
    specs = [NodeSpec("gone", "netns:999999999")]
    fabric = scan(specs, begun=begin_scan(specs))
    assert [failed.name for failed in fabric.failed] == ["gone"]
    assert fabric.failed[0].fix


def test_nodes_of_one_name_are_refused_before_anything_starts() -> None:
    with pytest.raises(UsageError):
        begin_scan([NodeSpec("a", "local"), NodeSpec("a", "local")])


@pytest.mark.parametrize(("options", "request_", "deadline_s"), [
    ({}, {"do": "scan", "deadline_s": 7.0}, 10.0),
    ({"cuda": False}, {"do": "scan", "deadline_s": 7.0, "cuda": False}, 10.0),
    ({"hashed": True}, {"do": "scan", "deadline_s": 7.0, "hash": True}, 10.0),
    ({"watch_s": 30.0}, {"do": "scan", "deadline_s": 7.0, "watch_s": 30.0}, 40.0),
    ({"watch_s": 0.5, "deadline_s": 2.0}, {"do": "scan", "deadline_s": 1.4, "watch_s": 0.5}, 2.5),
])  # fmt: skip
def test_watching_comes_on_top_of_the_deadline(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], request_: dict[str, Any], deadline_s: float
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("fabricdoc.fabric.asking.Asking", lambda *args, **kwargs: asked.append((args, kwargs)))
    specs = [NodeSpec("a", "local")]
    begin_scan(specs, **options)
    request_ = {**request_, "kernel_signatures": list(kernel_signatures())}
    assert asked == [((specs, "scan", request_), {"deadline_s": deadline_s})]


@pytest.mark.long
def test_the_probe_is_told_what_to_look_for_in_the_kernels_log() -> None:
    """Against this machine: the request is taken, whether or not the log may be read here."""
    (node,) = scan([NodeSpec("a", "local")]).nodes
    told = node.host.kernel_log
    assert not isinstance(told, Unknown) or "/dev/kmsg" in told.unknown


@pytest.mark.parametrize("watch_s", [-1.0, 600.5, float("nan"), float("inf")])
def test_a_watch_that_is_none_is_refused_before_anything_starts(watch_s: float) -> None:
    with pytest.raises(UsageError, match="watched for 0 to 600 s") as refused:
        begin_scan([NodeSpec("a", "local")], watch_s=watch_s)
    assert refused.value.fix


@pytest.mark.long
def test_a_scan_that_watches_says_for_how_long() -> None:
    """Where there is no HCA nothing is watched, and nobody waits."""
    fabric = scan([NodeSpec("a", "local")], watch_s=0.2)
    assert fabric.failed == ()
    (node,) = fabric.nodes
    assert node.watched_s >= 0.2 if node.hcas else node.watched_s == 0.0
