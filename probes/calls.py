"""How each op is called through torch.distributed: one closure per send and receive buffer, made before timing.

What torch can't do is refused here in words (all_reduce and broadcast exist in place only); the path to the library
itself is `nccl_direct`'s. torch is imported inside functions only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from .shapes import ROOT, Shape

Call = Callable[[], Any]
PATHS = ("torch", "direct", "both")
ONLY_IN_PLACE = ("all_reduce", "broadcast")


class Calls(Protocol):
    """Makes calls of one path ready to run."""

    def bind(self, shape: Shape, send: Any, receive: Any) -> Call:
        """A function that runs the op once from `send` to `receive`."""


def needs_direct(shape: Shape, backend: str) -> bool:
    """Whether torch has no such call but NCCL has; ValueError where nothing has."""
    if shape.in_place or shape.op not in ONLY_IN_PLACE:
        return False
    if backend != "nccl":
        raise ValueError(f"torch.distributed has {shape.op} in place only, and {backend} no other way: ask for that")
    return True


class TorchCalls:
    """torch.distributed's default group. Names that torch 2.13 gave anew are taken from it, the old ones before."""

    def __init__(self, rank: int, world: int) -> None:
        import torch.distributed as dist

        self._rank = rank
        self._world = world
        self._dist = dist
        self._gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
        self._scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor

    def bind(self, shape: Shape, send: Any, receive: Any) -> Call:
        """A function that runs the op once from `send` to `receive` (in place they share memory)."""
        dist = self._dist
        if shape.op == "all_reduce":
            return partial(dist.all_reduce, receive)
        if shape.op == "broadcast":
            return partial(dist.broadcast, receive, ROOT)
        if shape.op == "all_gather":
            return partial(self._gather, receive, send)
        if shape.op == "reduce_scatter":
            return partial(self._scatter, receive, send)
        if shape.op == "all_to_all":
            return partial(dist.all_to_all_single, receive, send)
        return partial(self._exchange, self._pair(send, receive))

    def _pair(self, send: Any, receive: Any) -> list[Any]:
        """A ring as in nccl-tests' sendrecv: to the next rank, from the one before."""
        after, before = (self._rank + 1) % self._world, (self._rank - 1) % self._world
        dist = self._dist
        return [dist.P2POp(dist.isend, send, after), dist.P2POp(dist.irecv, receive, before)]

    def _exchange(self, pair: list[Any]) -> None:
        for work in self._dist.batch_isend_irecv(pair):
            work.wait()
