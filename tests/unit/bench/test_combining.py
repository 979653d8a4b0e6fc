"""Two candidates make one only where nothing of them contradicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.combining import COMBINED, combined
from fabricdoc.model.run import Candidate

pytestmark = pytest.mark.unit

TREE = Candidate(name="tree", variables={"NCCL_ALGO": "allreduce:tree"}, targets=("algorithm",), source="facts 1",
                 risk="None known.")  # fmt: skip
SIMPLE = Candidate(name="simple", variables={"NCCL_PROTO": "Simple"}, targets=("protocol",), source="facts 2",
                   risk="Slow at 8 B.", fresh_agent=True)  # fmt: skip


def test_the_union_says_what_it_is_and_keeps_targets_risk_and_source() -> None:
    both = combined([TREE, SIMPLE])
    assert both is not None
    assert (both.name, both.set_name, both.role) == ("tree+simple", COMBINED, "candidate")
    assert both.variables == TREE.variables | SIMPLE.variables
    assert (both.targets, both.source, both.fresh_agent) == (("algorithm", "protocol"), "facts 1; facts 2", True)
    assert both.risk == "None known. Slow at 8 B."
    assert both.why == "tree and simple together"


@pytest.mark.parametrize(
    "other",
    [
        Candidate(name="ring", variables={"NCCL_ALGO": "allreduce:ring"}),
        Candidate(name="own", variables={"NCCL_PROTO": "LL"}, on_base=False),
        Candidate(name="same", variables={"NCCL_ALGO": "allreduce:tree"}),
        Candidate(name="nodes", node_variables={"alpha": {"NCCL_ALGO": "x"}}),
        Candidate(name="nothing"),
    ],
)
def test_a_clash_or_nothing_new_is_no_combination(other: Candidate) -> None:
    assert combined([TREE, other]) is None
    assert combined([other, TREE]) is None


def test_an_equal_line_on_both_sides_is_no_clash() -> None:
    one = Candidate(name="one", variables={"A": "1", "B": "2"})
    two = Candidate(name="two", variables={"A": "1", "C": "3"})
    both = combined([one, two])
    assert both is not None
    assert both.variables == {"A": "1", "B": "2", "C": "3"}


def test_lines_of_single_nodes_are_joined_node_by_node() -> None:
    one = Candidate(name="one", node_variables={"alpha": {"HCA": "a"}, "beta": {"HCA": "b"}})
    two = Candidate(name="two", node_variables={"alpha": {"GID": "3"}}, variables={"Q": "4"})
    both = combined([one, two])
    assert both is not None
    assert both.node_variables == {"alpha": {"HCA": "a", "GID": "3"}, "beta": {"HCA": "b"}}
    assert combined([one, Candidate(name="x", node_variables={"beta": {"HCA": "c"}})]) is None


@pytest.mark.parametrize("members", [[], [TREE]])
def test_fewer_than_two_are_no_combination(members: list[Candidate]) -> None:
    assert combined(members) is None


variables = st.dictionaries(st.sampled_from("ABCD"), st.sampled_from("12"), max_size=3)


@given(variables, variables)
def test_a_union_holds_every_line_of_both_or_there_is_none(one: dict[str, str], two: dict[str, str]) -> None:
    both = combined([Candidate(name="one", variables=one), Candidate(name="two", variables=two)])
    clash = any(two.get(name, value) != value for name, value in one.items())
    if clash or one.items() <= two.items() or two.items() <= one.items():
        assert both is None
    else:
        assert both is not None
        assert both.variables == one | two


def test_variables_that_work_against_one_another_are_no_combination() -> None:
    few = Candidate(name="few", variables={"NCCL_MAX_CTAS": "1"})
    many = Candidate(name="many", variables={"NCCL_MIN_CTAS": "4"})
    assert combined([few, many]) is None
    assert combined([few, Candidate(name="one", variables={"NCCL_MIN_CTAS": "1"})]) is not None
    elsewhere = Candidate(name="elsewhere", node_variables={"alpha": {"NCCL_MIN_CTAS": "4"}})
    assert combined([few, elsewhere]) is None


def test_what_a_member_holds_already_keeps_no_other_from_it() -> None:
    odd = Candidate(name="odd", variables={"NCCL_MAX_CTAS": "1", "NCCL_MIN_CTAS": "4"})
    assert combined([odd, SIMPLE]) is not None, "it was launched as it is: what it does is known"
