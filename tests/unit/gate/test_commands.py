"""Commands to paste survive hostile names."""

from __future__ import annotations

import shlex

import pytest

from fabricdoc.gate.commands import bench_command, node_words, on_node
from fabricdoc.model.preset import NodePreset, Preset

pytestmark = pytest.mark.unit

BENCH = "fabricdoc bench --nodes alpha=user@alpha,beta=user@beta --profile tiny"


def test_the_bench_command_is_quoted(preset: Preset) -> None:
    assert bench_command(preset) == BENCH
    odd = preset.model_copy(update={"nodes": (NodePreset(name="a b", target="a b;rm"),), "profile": ""})
    assert shlex.split(bench_command(odd)) == ["fabricdoc", "bench", "--nodes", "a b=a b;rm"]
    plain = preset.model_copy(update={"nodes": (NodePreset(name="local", target="local"),)})
    assert bench_command(plain) == "fabricdoc bench --nodes local --profile tiny"


def test_nodes_as_the_command_line_takes_them(preset: Preset) -> None:
    assert node_words(preset) == {"alpha": "alpha=user@alpha", "beta": "beta=user@beta"}


def test_a_command_on_a_node_is_quoted_and_says_where() -> None:
    command = on_node("alpha", "sudo", "ip", "link", "set", "dev", "p0; reboot", "up")
    assert command == ["on alpha:", "sudo ip link set dev 'p0; reboot' up"]
    assert shlex.split(command[1])[5] == "p0; reboot"
