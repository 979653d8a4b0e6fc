"""The gate: answer first, causes, then only what does not hold."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.report.gate import render_gate

pytestmark = pytest.mark.unit


def test_no_go(samples: Any, shown: Any) -> None:
    text = shown(render_gate(samples.gate()))
    assert text.startswith("no-go for preset pair-tree: 1 cause\n\nerror: the mtu is not the one measured")
    assert "    sudo ip link set dev enp1s0f0np0 mtu 9000\n" in text
    rows = [row.split() for row in text.splitlines()]
    assert ["alpha", "enp1s0f0np0", "mtu", "9000", "1500", "differs"] in rows
    assert ["alpha", "torch", "2.13.0", "?", "unknown"] in rows
    assert "  ? alpha torch: no torch\n" in text
    assert not any(row[:2] == ["alpha", "node"] for row in rows)
    assert text.endswith("1 check of 3 holds\n")


def test_go_is_one_line(samples: Any, shown: Any) -> None:
    gate = samples.gate()
    fit = gate.model_copy(
        update={"answer": "go", "reason": "all 34 checks hold", "findings": (), "checks": gate.checks[:1]}
    )
    assert shown(render_gate(fit)) == "go for preset pair-tree: all 34 checks hold\n"


def test_could_not_tell(samples: Any, shown: Any) -> None:
    gate = samples.gate().model_copy(update={"answer": "could-not-tell", "findings": (), "reason": "no torch"})
    assert shown(render_gate(gate)).startswith("could not tell for preset pair-tree: no torch\n")


def test_evidence_is_not_told_twice(samples: Any, shown: Any) -> None:
    gate = samples.gate()
    told = gate.findings[0].model_copy(update={"evidence": samples.findings[0].evidence})
    assert "seen:" not in shown(render_gate(gate.model_copy(update={"findings": (told,)})))


def test_a_reason_is_never_cut(samples: Any, shown: Any) -> None:
    """It used to stand in the table, with its middle gone."""
    gate = samples.gate()
    why = "no package metadata of torch on this python's path"
    checks = tuple(
        check.model_copy(update={"found": f"unknown: {why}", "outcome": "unknown"}) if check.id == "torch" else check
        for check in gate.checks
    )
    for width in (60, 80, 120):
        text = shown(render_gate(gate.model_copy(update={"checks": checks})), width)
        assert f"alpha torch: {why}" in " ".join(text.split())
        assert "…" not in text
