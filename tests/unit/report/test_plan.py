"""The plan and its bounds, before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.report.plan import render_plan

pytestmark = pytest.mark.unit


def test_what_will_be_done_and_what_it_may_cost(samples: Any, shown: Any) -> None:
    text = " ".join(shown(render_plan(samples.plan(), ("not measured: pat: needs NCCL 2.23",))).split())
    for piece in (
        "nccl, 2 ranks on alpha, beta;",
        "2 candidates x 6 blocks, base twice in each;",
        "views graph, eager; 3 sizes;",
        "profile dense-small-tp2, objective decode; seed 7",
        "candidates base, tree",
        "about 3 min 20 s, up to 33 launches (each a fresh start of 2 ranks), 1 GiB over a link, ",
        "3.5 GiB of memory per node",
        "not measured: pat: needs NCCL 2.23",
    ):
        assert piece in text
