"""A preset: variables per node with their reasons."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.report.preset import render_preset

pytestmark = pytest.mark.unit


def test_each_node_has_its_own_values_with_their_evidence(samples: Any, shown: Any) -> None:
    text = shown(render_preset(samples.preset()))
    alpha, beta = text.index("\nalpha\n"), text.index("\nbeta\n")
    assert alpha < text.index("NCCL_IB_HCA==rocep1s0f0") < beta < text.index("NCCL_IB_HCA==rocep1s0f1")
    assert "  NCCL_ALGO=ring;allreduce:tree\n    measured: 1.18 [1.15, 1.21]\n" in text
    assert "    placed: seen in the log of every launch\n" in text


def test_nodes_with_equal_lines_are_shown_once(samples: Any, shown: Any) -> None:
    preset = samples.preset()
    twin = preset.nodes[0].model_copy(update={"name": "beta"})
    text = shown(render_preset(preset.model_copy(update={"nodes": (preset.nodes[0], twin)})))
    assert "\nalpha, beta\n" in text
    assert text.count("NCCL_NET") == 0
    assert text.count("NCCL_IB_HCA") == 1


def test_what_was_and_was_not_tried_is_said(samples: Any, shown: Any) -> None:
    text = shown(render_preset(samples.preset()))
    assert "tried on   two namespaces sharing one GPU\n" in text
    assert "not tried  RoCE hardware under NCCL\n" in text
    assert "1 node and 1 port as they were measured (run 20260101-000000-ab12)" in text


def test_a_node_without_variables(samples: Any, shown: Any) -> None:
    preset = samples.preset()
    bare = preset.nodes[0].model_copy(update={"lines": ()})
    assert "nothing to set" in shown(render_preset(preset.model_copy(update={"nodes": (bare,)})))
