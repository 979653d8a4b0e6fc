"""Which nodes a bench can't use, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.bench.greeting import refuse_others, refuse_without_torch
from fabricdoc.errors import NodeError

pytestmark = pytest.mark.unit

WITH: dict[str, Any] = {"torch": "2.13.0", "executable": "/opt/t/bin/python", "python": "3.11.7"}
WITHOUT: dict[str, Any] = {
    "torch": None,
    "torch_error": "ModuleNotFoundError: No module named 'torch'",
    "executable": "/usr/bin/python3",
    "python": "3.11.7",
}


def test_torch_everywhere_is_fine() -> None:
    refuse_without_torch({"alpha": WITH, "beta": WITH})


def test_every_node_without_torch_is_named_with_its_python() -> None:
    with pytest.raises(NodeError) as caught:
        refuse_without_torch({"beta": WITHOUT, "gamma": WITH, "alpha": WITHOUT})
    assert caught.value.id == "torch-missing"
    assert caught.value.message == (
        "alpha and beta: torch can't be imported by /usr/bin/python3 (3.11.7): "
        "ModuleNotFoundError: No module named 'torch'"
    )
    assert "--python" in caught.value.fix


def test_different_pythons_are_told_apart() -> None:
    other = WITHOUT | {"executable": "/opt/py", "torch_error": "OSError: libcudart.so.13"}
    with pytest.raises(NodeError, match=r"alpha: .* /usr/bin/python3 .*; beta: .* /opt/py .*libcudart"):
        refuse_without_torch({"alpha": WITHOUT, "beta": other})


def hello(pid: int, other: int = 0) -> dict[str, Any]:
    return WITH | {"pid": pid, "other_agent": other}


def test_a_free_node_and_our_own_second_agent_are_fine() -> None:
    refuse_others({"alpha": hello(1), "beta": hello(2)})
    refuse_others({"alpha": hello(1), "also-alpha": hello(2, other=1)})


@pytest.mark.parametrize(("other", "who"), [(77, "pid 77"), (-1, "can't be seen")])
def test_another_bench_on_a_node_is_refused_and_named(other: int, who: str) -> None:
    with pytest.raises(NodeError, match=f"^beta: another bench .*{who}") as caught:
        refuse_others({"alpha": hello(1), "beta": hello(2, other)})
    assert caught.value.id == "node-busy"
