"""Arrival skew apart from transport: told where it was asked for and the gates did not disturb."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.run import Shape
from fabricdoc.report.skew import render_skew

pytestmark = pytest.mark.unit


def gated(samples: Any, *skews: float | None) -> Any:
    """A run whose base has graph cells of 8 KiB, 20 KiB ... with these skews."""
    run = samples.run()
    sizes = (8192, 20480, 65536)[: len(skews)]
    cell = run.launches[0].cells[0]
    cells = tuple(
        cell.model_copy(update={"view": "graph", "size": size, "skew_us": skew})
        for size, skew in zip(sizes, skews, strict=True)
    )
    shapes = tuple(Shape(op="all_reduce", size=size) for size in sizes)
    plan = run.plan.model_copy(update={"skew": True, "views": ("graph", "eager"), "shapes": shapes})
    launches = (run.launches[0].model_copy(update={"cells": cells}),)
    return run.model_copy(update={"plan": plan, "launches": launches})


def text(shown: Any, run: Any) -> str:
    return " ".join(shown(render_skew(run)).split())


def test_each_size_has_its_skew(samples: Any, shown: Any) -> None:
    said = text(shown, gated(samples, 3.25, 12.5))
    assert "arrival skew of base, all_reduce" in said
    assert "graph: 8 KiB 3.25, 20 KiB 12.5" in said
    assert "eager" not in said, "no eager call was timed"
    assert "rejected" not in said


def test_where_the_gates_disturbed_it_is_rejected_and_said(samples: Any, shown: Any) -> None:
    said = text(shown, gated(samples, 3.25, None, None))
    assert "graph: 8 KiB 3.25; rejected at 20 KiB, 64 KiB: the gates disturbed what they stand before" in said
    assert "graph: rejected at 8 KiB" in text(shown, gated(samples, None))


def test_nothing_where_nobody_asked(samples: Any) -> None:
    run = gated(samples, 3.0)
    assert render_skew(run.model_copy(update={"plan": run.plan.model_copy(update={"skew": False})})) == []
    assert render_skew(run.model_copy(update={"launches": ()})) == []
