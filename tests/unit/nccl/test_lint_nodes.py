"""Several nodes: what must agree and does not, compared as NCCL reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.lint import read_source
from fabricdoc.nccl.lint_nodes import lint_pair, lint_units_together, meaning
from fabricdoc.nccl.lint_units import arranged
from fabricdoc.nccl.variables import catalogue

pytestmark = pytest.mark.unit


def names(**files: dict[str, str]) -> list[str]:
    return [one.name for one in lint_pair(files)]


def test_what_must_agree_and_what_may_differ() -> None:
    assert names(a={"NCCL_BUFFSIZE": "1048576"}, b={"NCCL_BUFFSIZE": "2097152"}) == ["NCCL_BUFFSIZE"]
    assert names(a={"NCCL_IB_HCA": "=x", "NCCL_DEBUG": "INFO"}, b={"NCCL_IB_HCA": "=y"}) == []
    assert names(a={"NCCL_PROTO": "LL"}, b={"HF_HOME": "/x"}) == ["NCCL_PROTO"], "set here and not there differs"


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("NCCL_BUFFSIZE", "0x100000", "1048576"),
        ("NCCL_PROTO", "ll,simple", "LL,Simple"),
        ("NCCL_IB_SPLIT_DATA_ON_QPS", "1", "0x1"),
        ("NCCL_SHM_DISABLE", "0", "not set"),
        ("NCCL_BUFFSIZE", "4194304", "not set"),
        ("NCCL_PROTO", "", "not set"),
    ],
)
def test_what_is_written_otherwise_and_means_the_same(name: str, one: str, other: str) -> None:
    assert meaning(name, one) == meaning(name, other)


def test_the_fix_is_what_most_nodes_have() -> None:
    files = {name: {"NCCL_BUFFSIZE": "1048576"} for name in ("a", "b")} | {"c": {"NCCL_BUFFSIZE": "2097152"}}
    assert lint_pair(files)[0].fix == "NCCL_BUFFSIZE=1048576 in c"
    assert "one value on all nodes" in lint_pair({"a": {"NCCL_BUFFSIZE": "1"}, "b": {"NCCL_BUFFSIZE": "2"}})[0].fix
    rest = {name: {"NCCL_NET": "IB"} for name in ("a", "b")} | {"c": {"NCCL_NET": "IB", "NCCL_BUFFSIZE": "1"}}
    assert lint_pair(rest)[0].fix == "leave NCCL_BUFFSIZE out in c"


def test_a_remark_stands_at_the_line_that_differs_and_names_the_others() -> None:
    values = {"a.env": "LL", "b.env": "LL", "c.env": "Simple"}
    units = arranged([read_source(file, f"\nNCCL_PROTO={value}\n") for file, value in values.items()])
    (remark,) = lint_units_together(units)
    assert (remark.file, remark.line, remark.complaint.id) == ("c.env", 2, "must-agree-differs")
    assert [(one.file, one.line) for one in remark.also] == [("a.env", 2), ("b.env", 2)]
    assert "LL (a.env)" in remark.complaint.message and "Simple (c.env)" in remark.complaint.message


def test_a_file_without_any_variable_of_nccls_has_no_vote() -> None:
    units = arranged([read_source("a.env", "NCCL_PROTO=LL\n"), read_source("b.env", "HF_HOME=/x\n")])
    assert lint_units_together(units) == ()


def test_many_nodes_are_told_shortly() -> None:
    files = {f"n{number}": {"NCCL_BUFFSIZE": str(number)} for number in range(1, 2000)}
    (one,) = lint_pair(files)
    assert len(one.message) < 400 and "and 1991 more" in one.message


@given(st.sampled_from(sorted(catalogue())), st.text(max_size=20), st.text(max_size=20))
def test_equal_values_never_differ(name: str, one: str, other: str) -> None:
    assert lint_pair({"a": {name: one}, "b": {name: one}}) == ()
    lint_pair({"a": {name: one}, "b": {name: other}})


def found_in(file: str, text: str) -> list[tuple[int, str]]:
    return [(one.line, one.complaint.severity) for one in lint_units_together(arranged([read_source(file, text)]))]


def test_the_environments_of_one_file_are_held_together_where_they_set_the_same() -> None:
    compose = (
        "a:\n  environment:\n    NCCL_PROTO: LL\nb:\n  environment:\n    NCCL_PROTO: Simple\n    NCCL_BUFFSIZE: 1\n"
    )
    assert found_in("compose.yaml", compose) == [(6, "warning")], "only a warning: they may be of different jobs"
    script = 'if x; then\n  export NCCL_PROTO=LL\nelse\n  export NCCL_IB_HCA="=a"\nfi\nexport NCCL_BUFFSIZE=1\n'
    assert found_in("run.sh", script) == []
