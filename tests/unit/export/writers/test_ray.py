"""ray and ray-start: one JSON for all nodes, one script per node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabricdoc.export import format_named, render
from tests.unit.export import readers
from tests.unit.export.presets_made import ALGO, HEAD, WORKER, pair

pytestmark = pytest.mark.unit


def test_runtime_env_holds_what_all_share_as_text() -> None:
    text = render(pair({"NCCL_IB_TC": "106", "NCCL_ALGO": ALGO}), None, "ray")
    assert json.loads(text) == {"env_vars": {"NCCL_NET": "IB", "NCCL_IB_TC": "106", "NCCL_ALGO": ALGO}}
    assert format_named("ray").refuse("A1", "${HOME}")


def test_each_node_starts_with_its_own(tmp_path: Path) -> None:
    both = pair()
    bins = readers.program(tmp_path / "bin", "ray")
    for one, values, words, address in (
        (both.nodes[0], HEAD, ["--head", "--port=6379"], "192.168.100.10"),
        (both.nodes[1], WORKER, ["--address=192.168.100.10:6379"], "192.168.100.11"),
    ):
        file = tmp_path / f"{one.name}.sh"
        file.write_text(render(both, one, "ray-start"))
        argv, seen = readers.run_script(file, "--num-gpus", "1", bins=bins)
        assert argv[1:] == ["start", *words, f"--node-ip-address={address}", "--num-gpus", "1"]
        assert readers.only(seen, values) == values
        assert seen["VLLM_HOST_IP"] == address


def test_what_vllm_would_carry_over_is_named_for_its_exclusion_file() -> None:
    both = pair()
    assert '["NCCL_IB_HCA", "NCCL_SOCKET_IFNAME"] into' in render(both, both.nodes[0], "ray-start")
