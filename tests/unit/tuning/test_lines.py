"""A line's own effect and what its set gained: the numbers behind each line of a preset."""

from __future__ import annotations

import pytest

from fabricdoc.model.run import Candidate, Run
from fabricdoc.model.verdict import Interval, LineVerdict, Verdict
from fabricdoc.tuning import judge
from fabricdoc.tuning.lines import chosen_of, left_out, lines_of

pytestmark = pytest.mark.unit

TWO = Candidate(name="two", variables={"A": "1", "B": "2"}, node_variables={"beta": {"B": "3"}})


@pytest.fixture
def run(synthetic) -> Run:
    return synthetic(effects={"two": {None: 1.3}}, candidates=(TWO,), noise=0.01).run()


def _checked(run: Run, profile, **lines: tuple[float, float, float]) -> Verdict:
    verdict = judge(run, profile)
    told = tuple(
        LineVerdict(name=name, pays=True, reason=f"without it slower {name}",
                    without=Interval(ratio=ratio, low=low, high=high, blocks=6))
        for name, (ratio, low, high) in lines.items()
    )  # fmt: skip
    return verdict.model_copy(update={"lines": told})


def test_a_line_that_was_taken_away_carries_its_own_effect(run: Run, profile) -> None:
    verdict = _checked(run, profile, A=(0.8, 0.75, 0.85))
    one, other = (line for line in lines_of(run.nodes[0], run, verdict) if line.kind == "measured")
    assert one.effect is not None
    assert (one.effect.ratio, one.effect.low, one.effect.high) == pytest.approx((1.25, 1 / 0.85, 1 / 0.75))
    assert "This line: without it slower A." in one.evidence
    assert other.effect is not None
    assert other.effect == verdict.candidates[0].confirmation
    assert "This line" not in other.evidence


def test_a_nodes_own_value_stands_in_its_lines(run: Run, profile) -> None:
    verdict = judge(run, profile)
    assert chosen_of(run, verdict) == TWO
    values = [{line.name: line.value for line in lines_of(node, run, verdict)} for node in run.nodes]
    assert (values[0]["B"], values[1]["B"]) == ("2", "3")
    assert values[0]["GLOO_SOCKET_IFNAME"] == "eth0"


def test_base_has_placed_lines_alone_and_leaves_nothing_out(run: Run, profile) -> None:
    kept = judge(run, profile).model_copy(update={"choice": "base"})
    assert chosen_of(run, kept) is None
    assert {line.kind for line in lines_of(run.nodes[0], run, kept)} == {"placed"}
    assert left_out(run, kept) == ()


def test_a_choice_nobody_judged_still_names_its_run(run: Run, profile) -> None:
    bare = judge(run, profile).model_copy(update={"candidates": ()})
    line = next(line for line in lines_of(run.nodes[0], run, bare) if line.kind == "measured")
    assert (line.evidence, line.effect) == ("chosen by run run-1", None)
