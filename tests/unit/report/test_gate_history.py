"""The history of gates as a table and as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.report.gate_history import gates_payload, render_gates
from fabricdoc.store import GateSummary

pytestmark = pytest.mark.unit

GOOD = GateSummary("g2", "2026-01-02T00:00:00Z", "pair", "quick", "go", "all hold", ("alpha", "beta"), 0.62)
BAD = GateSummary("g1", "2026-01-01T00:00:00Z", "", "smoke", "no-go", "alpha/p0 is dark", ("alpha",), 3.0)


def test_nothing_yet(shown: Any) -> None:
    assert shown(render_gates(())) == "no gate is kept yet\n"


def test_each_gate_is_a_row_and_a_refusal_says_why(shown: Any) -> None:
    text = shown(render_gates((GOOD, BAD)))
    rows = [row.split() for row in text.splitlines()]
    assert ["g2", "go", "quick", "pair", "alpha,", "beta", "0.6"] in rows
    assert ["g1", "no-go", "smoke", "-", "alpha", "3.0"] in rows
    assert text.endswith("g1: alpha/p0 is dark\n")
    assert "all hold" not in text


def test_as_json() -> None:
    (one,) = gates_payload((BAD,))
    assert one["answer"] == "no-go"
    assert set(one) == {"id", "created", "preset", "level", "answer", "reason", "nodes", "seconds"}
