"""--no-strict and --first-launch change what is written, and nothing that was measured."""

from __future__ import annotations

import pytest

from fabricdoc.export import FORMATS, format_named, render, wanted_lines
from fabricdoc.export.content import common_lines
from fabricdoc.export.policy import by_choice
from fabricdoc.files import shipped
from fabricdoc.model.policy import Policy
from fabricdoc.model.preset import NodePreset
from fabricdoc.nccl import check_variables
from tests.unit.export.presets_made import HEAD, WORKER, node, preset, printed

pytestmark = pytest.mark.unit

PAIR = preset(
    node("alpha", HEAD), node("beta", WORKER),
    prints=(printed("alpha", "enp1s0f1np1", "10.0.0.1/24"), printed("beta", "enp1s0f0np0", "10.0.0.2/24")),
)  # fmt: skip


def _values(one: NodePreset) -> dict[str, str]:
    return {line.name: line.value for line in one.lines}


def test_no_strict_leaves_out_that_one_line_alone() -> None:
    loose = wanted_lines(PAIR, "env", strict=False)
    assert _values(loose.nodes[0]) == {name: value for name, value in HEAD.items() if name != "NCCL_NET"}
    assert wanted_lines(PAIR, "env") == PAIR
    sockets = preset(node("alpha", {"NCCL_NET": "Socket"}))
    assert wanted_lines(sockets, "env", strict=False) == sockets


def test_what_may_be_left_out_is_the_policys_to_say() -> None:
    chosen = {(one.name, one.value) for one in shipped(Policy).reason if one.by_choice}
    assert chosen == {("NCCL_NET", "IB")}
    loose = wanted_lines(PAIR, "env", strict=False)
    for one, whole in zip(loose.nodes, PAIR.nodes, strict=True):
        left = [(line.name, line.value) for line in whole.lines if line not in one.lines]
        assert [pair for pair in left if not by_choice(*pair)] == []
        assert not any(by_choice(line.name, line.value) for line in one.lines)
    assert not by_choice("NCCL_NET", "Socket")
    assert not by_choice("NCCL_IB_HCA", "IB")


def test_the_first_launch_adds_logs_dumps_and_time_outs_to_every_node() -> None:
    first = wanted_lines(PAIR, "env", first_launch=True)
    for one, plain in zip(first.nodes, PAIR.nodes, strict=True):
        added = one.lines[len(plain.lines) :]
        assert one.lines[: len(plain.lines)] == plain.lines
        assert {line.kind for line in added} == {"diagnostic"}
        assert {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "TORCH_NCCL_DUMP_ON_TIMEOUT", "VLLM_ENGINE_READY_TIMEOUT_S"} <= {
            line.name for line in added
        }
        assert all(line.evidence.startswith("for the first launch alone: ") for line in added)
    assert "NCCL_DEBUG" in {line.name for line in common_lines(first.nodes)}
    assert "# diagnostic: for the first launch alone" in render(first, first.nodes[0], "env")


def test_engines_get_only_what_they_read() -> None:
    for fmt in ("sglang", "trtllm"):
        names = {line.name for line in wanted_lines(PAIR, fmt, first_launch=True).nodes[0].lines}
        assert not any(name.startswith("VLLM_") for name in names)
        assert "NCCL_DEBUG" in names
    assert "VLLM_ENGINE_READY_TIMEOUT_S" in _values(wanted_lines(PAIR, "vllm", first_launch=True).nodes[0])


def test_the_presets_own_value_wins_over_a_diagnostic() -> None:
    own = preset(node("alpha", {"NCCL_DEBUG": "WARN"}))
    assert _values(wanted_lines(own, "env", first_launch=True).nodes[0])["NCCL_DEBUG"] == "WARN"


def test_a_gloo_preset_gets_none() -> None:
    gloo = PAIR.model_copy(update={"backend": "gloo"})
    assert wanted_lines(gloo, "env", first_launch=True) == gloo


@pytest.mark.parametrize("fmt", sorted(FORMATS))
def test_every_format_carries_the_diagnostics(fmt: str) -> None:
    first = wanted_lines(PAIR, fmt, first_launch=True)
    one = None if format_named(fmt).scope != "node" else first.nodes[0]
    assert "NCCL_DEBUG" in render(first, one, fmt)


def test_no_diagnostic_is_wrong_for_nccl() -> None:
    added = _values(wanted_lines(preset(node("alpha", {})), "env", first_launch=True).nodes[0])
    own = {name: value for name, value in added.items() if name.startswith("NCCL_")}
    assert not [one for one in check_variables(own) if one.severity == "error"]
