"""Products and gates: made once, bounded, and harmless however often they run."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.probes.arms import gate_of, gemm_of
from fabricdoc.probes.payload import ITEM_BYTES

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.unit

CPU = torch.device("cpu")


def test_without_sizes_there_is_no_product() -> None:
    assert gemm_of(None, "bfloat16", CPU) is None
    assert gemm_of({}, "bfloat16", CPU) is None


@pytest.mark.parametrize("dtype", sorted(ITEM_BYTES))
def test_a_product_of_every_dtype_has_the_sizes_asked_for(dtype: str) -> None:
    step: Any = gemm_of({"m": 2, "n": 5, "k": 3}, dtype, CPU)
    assert step().shape == (2, 5)
    assert step().data_ptr() == step().data_ptr(), "into the same memory each time"
    assert step().dtype == (torch.bfloat16 if dtype == "int32" else getattr(torch, dtype))


def test_the_first_product_is_made_before_anything_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(torch, "mm", lambda *_words, out: made.append(out.numel()))
    gemm_of({"m": 2, "n": 5, "k": 3}, "bfloat16", CPU)
    assert made == [10]


@pytest.mark.parametrize("sizes", [{"m": 0, "n": 1, "k": 1}, {"m": 1, "n": 1 << 20, "k": 1}, {"m": 1, "n": 1, "k": -3}])
def test_a_product_of_no_size_or_too_large_is_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="is not made: 1 to 32768 each"):
        gemm_of(sizes, "bfloat16", CPU)


@pytest.mark.parametrize("sizes", [{"m": 1, "n": 1}, {"m": "many", "n": 1, "k": 1}])
def test_a_product_that_lacks_a_size_is_an_error(sizes: dict[str, Any]) -> None:
    with pytest.raises((KeyError, ValueError)):
        gemm_of(sizes, "bfloat16", CPU)


def test_a_gate_is_a_sum_that_stays_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("torch.distributed.all_reduce", lambda one: seen.append(one.mul_(2).item()))
    gate = gate_of(CPU)
    for _ in range(200):
        gate()
    assert seen == [0.0] * 200
