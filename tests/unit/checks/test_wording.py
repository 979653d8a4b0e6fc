"""The words that families share."""

from __future__ import annotations

import shlex

import pytest

from fabricdoc.checks.wording import commands, exported, listed, of_nodes, plain, restart, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from tests.fabrics import node

pytestmark = pytest.mark.unit


def test_evidence_bears_the_nodes_name() -> None:
    assert [(one.file, one.line, one.text) for one in seen(node("alpha"), "a", "b")] == [
        ("alpha", None, "a"),
        ("alpha", None, "b"),
    ]


def test_commands_are_quoted_for_a_shell() -> None:
    assert commands(node("alpha"), ["ip", "link"], ["echo", "a b;c"]) == ("on alpha:", "ip link", "echo 'a b;c'")


@pytest.mark.parametrize(("names", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_lists(names: list[str], text: str) -> None:
    assert listed(names) == text


def test_a_fact_in_words() -> None:
    assert [plain(one) for one in ("x", 3, True, Unknown(unknown="why"))] == ["x", "3", "True", "unknown"]


def test_every_check_sees_every_node() -> None:
    def named(id: str) -> object:
        return lambda one: [Finding(id=id, severity="info", subject=one.name)]

    fabric = Fabric(nodes=(node("alpha"), node("beta")))
    found = of_nodes(fabric, named("x"), named("y"))  # type: ignore[arg-type]
    assert [(one.id, one.subject) for one in found] == [("x", "alpha"), ("y", "alpha"), ("x", "beta"), ("y", "beta")]


def test_a_restart_sets_an_interface_down_and_then_up() -> None:
    assert [" ".join(argv) for argv in restart("enp1s0f0np0")] == [
        "sudo ip link set dev enp1s0f0np0 down",
        "sudo ip link set dev enp1s0f0np0 up",
    ]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("=mlx5_0,mlx5_1", "export NCCL_IB_HCA='=mlx5_0,mlx5_1'"),
        ("^=mlx5_bond_0", "export NCCL_IB_HCA='^=mlx5_bond_0'"),
        ("mlx5_0", "export NCCL_IB_HCA=mlx5_0"),
        ("= it's", "export NCCL_IB_HCA='= it'\"'\"'s'"),
        ("", "export NCCL_IB_HCA=''"),
    ],
)
def test_a_value_to_export_is_read_alike_by_every_shell(value: str, line: str) -> None:
    assert exported("NCCL_IB_HCA", value) == line
    assert shlex.split(line)[1] == f"NCCL_IB_HCA={value}"
