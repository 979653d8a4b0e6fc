"""The gate: answer first, causes, then only what does not hold."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.gate import GateCheck, Waiver
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


def test_what_refuses_without_a_finding_says_what_to_do_too(samples: Any, shown: Any) -> None:
    gate = samples.gate()
    bare = GateCheck(
        id="hca-active",
        node="alpha",
        expected="mlx5_0 ACTIVE",
        found="DOWN",
        outcome="differs",
        fix=("mend it",),
        who="launcher",
    )
    text = shown(render_gate(gate.model_copy(update={"checks": (*gate.checks, bare)})))
    assert "error: alpha: expected mlx5_0 ACTIVE, found DOWN  [hca-active]" in text
    assert "    mend it\n" in text
    assert "for who starts the job: hca-active (alpha)\n" in text
    assert text.count("sudo ip link set dev enp1s0f0np0 mtu 9000") == 1
    waived = bare.model_copy(update={"waived": "known"})
    assert "mend it" not in shown(render_gate(gate.model_copy(update={"checks": (*gate.checks, waived)})))


def test_waivers_and_what_nothing_stands_behind_are_said_once(samples: Any, shown: Any) -> None:
    gate = samples.gate().model_copy(
        update={
            "preset": "",
            "answer": "go",
            "findings": (),
            "checks": (),
            "reason": "all hold; nothing measured stands behind it",
            "waivers": (Waiver(id="mtu", reason="being mended", used=True), Waiver(id="speed", reason="x")),
        }
    )
    text = " ".join(shown(render_gate(gate)).split())
    assert text.startswith("go without a preset: all hold; nothing measured stands behind it")
    assert text.count("nothing measured") == 1
    assert "waived: mtu: being mended waived: speed: x (was not needed)" in text


def test_one_nodes_own_part_says_so(samples: Any, shown: Any) -> None:
    gate = samples.gate().model_copy(update={"scope": "local", "answer": "go", "findings": ()})
    assert shown(render_gate(gate)).startswith("go for preset pair-tree, alpha alone: ")
