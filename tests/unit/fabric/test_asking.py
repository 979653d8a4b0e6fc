"""A scan that begins before its reports can be read: nothing heavy is loaded, and the answers wait."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.fabric import begin_scan, scan
from fabricdoc.transport import NodeSpec

pytestmark = pytest.mark.unit

HEAVY = ("pydantic", "rich", "pyroute2", "asyncio", "torch")


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
