"""Variables of one candidate: known, as NCCL reads them, safe, equal where ranks must agree."""

from __future__ import annotations

import pytest

from fabricdoc.bench.candidate_values import BadVariable, checked, needs_fresh_agent, unequal

pytestmark = pytest.mark.unit


def test_numbers_become_text() -> None:
    assert checked({"NCCL_MAX_CTAS": 4, "NCCL_PROTO": "Simple"}) == {"NCCL_MAX_CTAS": "4", "NCCL_PROTO": "Simple"}


def test_what_a_server_starts_with_may_be_set_too() -> None:
    assert checked({"CUDA_DEVICE_MAX_CONNECTIONS": 8, "OMP_NUM_THREADS": 4})


@pytest.mark.parametrize(
    ("table", "name", "said"),
    [
        ({"NCCL_PROTOO": "LL"}, "NCCL_PROTOO", "no variable NCCL_PROTOO is known"),
        ({"NCCL_PROTO": True}, "NCCL_PROTO", "text or a whole number"),
        ({"NCCL_PROTO": ["LL"]}, "NCCL_PROTO", "text or a whole number"),
        ({"NCCL_PROTO": "LL", "NCCL_ALGO": "Tree"}, "NCCL_ALGO", "leaves"),
        ({"NCCL_PROTO": "^Simple"}, "NCCL_PROTO", "forces LL128"),
        (3, "variables", "must be a table"),
        ({"PATH": "/bin"}, "PATH", "no variable PATH"),
    ],
)
def test_what_can_not_be_taken_names_its_variable(table: object, name: str, said: str) -> None:
    with pytest.raises(BadVariable, match=said) as caught:
        checked(table)
    assert caught.value.name == name


def test_a_misspelt_name_comes_with_the_right_one() -> None:
    with pytest.raises(BadVariable) as caught:
        checked({"NCCL_IB_HCAA": "x"})
    assert "NCCL_IB_HCA" in caught.value.fix


@pytest.mark.parametrize(
    ("common", "nodes", "found"),
    [
        ({}, {}, None),
        ({}, {"a": {"NCCL_IB_HCA": "x"}, "b": {"NCCL_IB_HCA": "y"}}, None),
        ({}, {"a": {"NCCL_PROTO": "LL"}, "b": {"NCCL_PROTO": "LL"}}, None),
        ({}, {"a": {"NCCL_PROTO": "LL"}, "b": {}}, ("NCCL_PROTO", "LL on a, (unset) on b")),
        ({"NCCL_PROTO": "Simple"}, {"a": {"NCCL_PROTO": "LL"}, "b": {}}, ("NCCL_PROTO", "LL on a, Simple on b")),
        ({"NCCL_PROTO": "LL"}, {"a": {"NCCL_PROTO": "LL"}, "b": {}}, None),
        ({}, {"a": {"UNKNOWN": "1"}, "b": {}}, None),
        ({}, {"a": {"NCCL_CROSS_NIC": "1"}, "b": {}}, None),  # nobody knows whether it may differ
    ],
)
def test_values_that_must_agree(
    common: dict[str, str], nodes: dict[str, dict[str, str]], found: tuple[str, str] | None
) -> None:
    assert unequal(common, nodes) == found


def test_what_is_read_when_torch_loads() -> None:
    assert needs_fresh_agent(["NCCL_PROTO", "LD_PRELOAD"])
    assert needs_fresh_agent(["OMP_NUM_THREADS"])
    assert not needs_fresh_agent(["NCCL_PROTO", "CUDA_LAUNCH_BLOCKING"])
