"""Commands to paste survive hostile names, and reach the nodes where they are now."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from fabricdoc.gate.commands import bench_command, node_options, node_words, on_node, port_options
from fabricdoc.model.fabric import Fabric, FailedNode
from fabricdoc.model.preset import Fingerprint, NodePreset, Preset

pytestmark = pytest.mark.unit

NOWHERE = Fabric()


def test_nodes_as_the_command_line_takes_them(preset: Preset) -> None:
    assert node_words(preset, NOWHERE) == {"alpha": "alpha=user@alpha", "beta": "beta=user@beta"}
    plain = preset.model_copy(update={"nodes": (), "fingerprint": preset.fingerprint})
    assert node_words(plain, NOWHERE) == {"alpha": "alpha", "beta": "beta"}


def test_where_a_node_was_reached_now_beats_where_it_was_measured(preset: Preset, fabric: Fabric) -> None:
    failed = FailedNode(name="beta", target="netns:7", id="x", message="x")
    now = fabric.model_copy(update={"nodes": fabric.nodes[:1], "failed": (failed,)})
    assert node_words(preset, now) == {"alpha": "alpha", "beta": "beta=netns:7"}


def test_the_bench_command_is_quoted(preset: Preset) -> None:
    expected = "fabricdoc bench --nodes alpha=user@alpha,beta=user@beta --profile tiny"
    assert bench_command(preset, node_words(preset, NOWHERE)) == expected
    odd = preset.model_copy(
        update={"nodes": (NodePreset(name="a b", target="a b;rm"),), "profile": "", "fingerprint": Fingerprint()}
    )
    command = bench_command(odd, node_words(odd, NOWHERE))
    assert shlex.split(command) == ["fabricdoc", "bench", "--nodes", "a b=a b;rm"]
    assert node_options([]) == []


def test_ports_without_rdma_device_are_named(preset: Preset, change: Any) -> None:
    assert port_options(preset) == []
    ports = tuple(port.model_copy(update={"hca": None}) for port in preset.fingerprint.nodes[0].ports)
    bare = change.printed(preset, "alpha", ports=ports)
    assert port_options(bare) == ["--ports", "enp1s0f0np0,enp1s0f1np1"]
    assert " --ports enp1s0f0np0,enp1s0f1np1 " in bench_command(bare, {})


def test_a_command_on_a_node_is_quoted_and_says_where() -> None:
    command = on_node("alpha", "sudo", "ip", "link", "set", "dev", "p0; reboot", "up")
    assert command == ["on alpha:", "sudo ip link set dev 'p0; reboot' up"]
    assert shlex.split(command[1])[5] == "p0; reboot"
