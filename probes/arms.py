"""What may lie before each timed call: a matrix product as in a decode step, or gates that take up arrival skew.

Neither is part of a sample. A gate is a sum of one element over the same ranks; of two in a row the first also waits
for the last rank to arrive, so what the first takes longer is how long this rank waited. Whether gates disturb what is
measured is judged by the controller. torch is imported inside functions only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Step = Callable[[], Any]
_LARGEST = 1 << 15


def gemm_of(asked: Mapping[str, Any] | None, dtype: str, device: Any) -> Step | None:
    """work["gemm"] = {"m", "n", "k"}: one product of m x k by k x n on the current stream, None where none is asked.

    In the shape's dtype, bfloat16 for int32, which has no product on a GPU. ValueError for sizes that are none.
    """
    if not asked:
        return None
    import torch

    m, n, k = (int(asked[name]) for name in ("m", "n", "k"))
    if not all(1 <= size <= _LARGEST for size in (m, n, k)):
        raise ValueError(f"a product of {m} x {k} by {k} x {n} is not made: 1 to {_LARGEST} each")
    kind = torch.bfloat16 if dtype == "int32" else getattr(torch, dtype)
    left, right, out = (torch.zeros(shape, dtype=kind, device=device) for shape in ((m, k), (k, n), (m, n)))
    step = partial(torch.mm, left, right, out=out)
    step()  # cuBLAS makes its handle and workspace at the first one, which a capture does not allow
    return step


def gate_of(device: Any) -> Step:
    """A gate: an all-reduce of one zero, which stays zero however often it runs."""
    import torch
    import torch.distributed as dist

    return partial(dist.all_reduce, torch.zeros(1, device=device))
