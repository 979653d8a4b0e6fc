"""One collective of one size as torch tensors: its buffers, its call, and the comparison that proves the result.

Buffers are made once for the largest shape and sliced, so a launch allocates nothing while it measures. Nothing here
keeps time, and nothing is called correct that was not compared. torch is imported inside functions only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import payload

_ALIGNMENT = 16
OPS = ("all_reduce", "all_gather")


@dataclass(frozen=True)
class Shape:
    """One measured message. `size` is in bytes as nccl-tests counts it: for all_gather the whole gathered buffer."""

    op: str
    size: int
    dtype: str

    def __post_init__(self) -> None:
        """Refuse what can't be measured (ValueError)."""
        if self.op not in OPS:
            raise ValueError(f"unknown op {self.op!r}; known: {', '.join(OPS)}")
        if self.dtype not in payload.ITEM_BYTES:
            raise ValueError(f"unknown dtype {self.dtype!r}; known: {', '.join(payload.ITEM_BYTES)}")
        if self.size < 1:
            raise ValueError(f"a message of {self.size} bytes can't be sent")


def elements(shape: Shape, world: int) -> tuple[int, int]:
    """(elements of the whole buffer, elements of one rank's part), each part at least one element.

    A size that does not divide evenly is rounded down; an all-gather smaller than one element per rank is rounded up.
    """
    whole = max(1, shape.size // payload.ITEM_BYTES[shape.dtype])
    if shape.op == "all_reduce":
        return whole, whole
    part = max(1, whole // world)
    return part * world, part


def tile(values: Sequence[int], scale: int, dtype: str, device: Any) -> Any:
    """PERIOD values times `scale` as a tensor; exact by payload's rules (scale up to 2**126 fits float64)."""
    import torch

    exact = torch.tensor(values, dtype=torch.float64) * float(scale)
    return exact.to(getattr(torch, dtype)).to(device)


def fill(buffer: Any, pattern: Any) -> None:
    """Repeat `pattern` over the flat `buffer`."""
    period = pattern.numel()
    whole = buffer.numel() // period
    buffer[: whole * period].view(whole, period).copy_(pattern.expand(whole, period))
    buffer[whole * period :].copy_(pattern[: buffer.numel() - whole * period])


def holds(buffer: Any, pattern: Any) -> bool:
    """Whether the flat `buffer` is exactly `pattern` repeated (compared where the buffer lives)."""
    import torch

    period = pattern.numel()
    whole = buffer.numel() // period
    body = buffer[: whole * period].view(whole, period)
    rest = buffer[whole * period :]
    return bool((body == pattern).all().item()) and torch.equal(rest, pattern[: rest.numel()])


class Workspace:
    """The memory of a launch on one rank: a buffer to reduce or gather into, and one holding what this rank sends."""

    def __init__(self, shapes: list[Shape], rank: int, world: int, device: Any) -> None:
        import torch

        self.rank = rank
        self.world = world
        self.device = device
        need = max((elements(s, world)[0] * payload.ITEM_BYTES[s.dtype] for s in shapes), default=0)
        need += -need % _ALIGNMENT  # every dtype can view the whole of it
        self._buffer = torch.empty(need, dtype=torch.uint8, device=device)
        self._source = torch.empty(need, dtype=torch.uint8, device=device)
        self._sends: tuple[str, str] | None = None
        self._tiles: dict[tuple[str, str, int], Any] = {}

    def collective(self, shape: Shape) -> Collective:
        """The shape laid out in this memory, with this rank's payload in place; the one before is no longer valid."""
        import torch

        kind = getattr(torch, shape.dtype)
        buffer, source = self._buffer.view(kind), self._source.view(kind)
        if self._sends != (shape.op, shape.dtype):
            fill(source, self._sent(shape))
            self._sends = (shape.op, shape.dtype)
        whole, part = elements(shape, self.world)
        return Collective(shape, self, buffer[:whole], source[:part])

    def expected(self, shape: Shape, calls: int) -> Any:
        """The tile of the result after `calls` (>= 1) calls; for all_gather that of rank 0's shard."""
        gathers = shape.op == "all_gather"
        key = (shape.op, shape.dtype, 1 if gathers else calls)
        if key not in self._tiles:
            values = payload.shard(0) if gathers else payload.total(self.world, self._bits(shape))
            scale = 1 if gathers else self.world ** (calls - 1)
            self._tiles[key] = tile(values, scale, shape.dtype, self.device)
        return self._tiles[key]

    def _sent(self, shape: Shape) -> Any:
        if shape.op == "all_gather":
            return tile(payload.shard(self.rank), 1, shape.dtype, self.device)
        return tile(payload.contribution(self.rank, self.world, self._bits(shape)), 1, shape.dtype, self.device)

    def _bits(self, shape: Shape) -> int:
        return payload.SIGNIFICAND_BITS[shape.dtype]


class Collective:
    """One shape ready to run: `restart`, then up to `chain` times `call`, then `correct`.

    all_reduce works in place, so every call depends on the one before. all_gather sends from its own shard into the
    whole buffer, as servers do; calls follow each other because they share a stream.
    """

    def __init__(self, shape: Shape, workspace: Workspace, buffer: Any, source: Any) -> None:
        import torch.distributed as dist

        self.shape = shape
        self._space = workspace
        self._buffer = buffer
        self._source = source
        self._all_reduce = dist.all_reduce
        # torch 2.13 renamed it and warns about the old name; older ones have only that
        self._all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
        gathers = shape.op == "all_gather"
        limit = payload.chain_limit(workspace.world, payload.SIGNIFICAND_BITS[shape.dtype])
        self.chain = payload.LONGEST_CHAIN if gathers else limit

    def restart(self) -> None:
        """Put the payload back (all_reduce) or wipe what was gathered; may be captured in a graph."""
        if self.shape.op == "all_reduce":
            self._buffer.copy_(self._source)
        else:
            self._buffer.zero_()

    def call(self) -> None:
        """Run the collective once; on a GPU it is enqueued on the current stream."""
        if self.shape.op == "all_reduce":
            self._all_reduce(self._buffer)
        else:
            self._all_gather(self._buffer, self._source)

    def correct(self, calls: int) -> bool:
        """Compare every element with the result of `calls` calls since `restart`; waits for the GPU."""
        expected = self._space.expected(self.shape, calls)
        if self.shape.op == "all_reduce":
            return holds(self._buffer, expected)
        part = self._source.numel()
        shards = (self._buffer[rank * part : (rank + 1) * part] for rank in range(self._space.world))
        return all(holds(s, expected.roll(-payload.shard_shift(rank))) for rank, s in enumerate(shards))
