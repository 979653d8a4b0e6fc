"""The plan and its bounds, before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.run import Candidate, NotOffered
from fabricdoc.report.plan import render_plan, render_planned

pytestmark = pytest.mark.unit


def test_what_will_be_done_and_what_it_may_cost(samples: Any, shown: Any) -> None:
    text = " ".join(shown(render_plan(samples.plan(), ("not measured: pat: needs NCCL 2.23",))).split())
    for piece in (
        "nccl, 2 ranks on alpha, beta;",
        "2 candidates x 6 blocks, base twice in each;",
        "grid search; views graph, eager; 3 shapes;",
        "profile dense-small-tp2, objective decode; seed 7",
        "candidates base, tree",
        "about 3 min 20 s, up to 33 launches (each a fresh start of 2 ranks), 1 GiB over a link, ",
        "3.5 GiB of memory per node",
        "not measured: pat: needs NCCL 2.23",
    ):
        assert piece in text


def left_out(samples: Any) -> Any:
    reason = "needs GPUDirect RDMA: GB10 has none by design"
    left = [NotOffered(name=name, set_name="gdr", reason=reason) for name in ("gdr-off", "gdr-sys")]
    left.append(NotOffered(name="subnet-aware", set_name="roce", reason="needs 3 nodes, there are 2"))
    tree = Candidate(
        name="tc-106",
        variables={"NCCL_IB_TC": "106"},
        node_variables={"alpha": {"NCCL_IB_HCA": "=mlx5_0"}},
        why="data in the class of DSCP 26",
        risk="must agree with the switch",
    )
    plan = samples.plan()
    changes = {"not_offered": tuple(left), "candidates": (*plan.candidates, tree), "budget_s": 600.0}
    return plan.model_copy(update=changes)


def test_those_left_out_are_shown_by_reason(samples: Any, shown: Any) -> None:
    text = " ".join(shown(render_plan(left_out(samples))).split())
    assert "not tried 3 candidates gdr-off, gdr-sys: needs GPUDirect RDMA: GB10 has none by design" in text
    assert "subnet-aware: needs 3 nodes, there are 2" in text
    assert "; within 10 min, as asked" in text


def test_a_plan_alone_says_what_each_candidate_sets_and_may_break(samples: Any, shown: Any) -> None:
    text = shown(render_planned(left_out(samples)))
    assert "tc-106  data in the class of DSCP 26" in text
    assert "    NCCL_IB_TC=106" in text
    assert "    alpha: NCCL_IB_HCA==mlx5_0" in text
    assert "    risk: must agree with the switch" in text
    assert "up to 33 launches" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
