"""One collective of one size as torch tensors: its buffers, its payload, and the comparison that proves the result.

Buffers are made once for the largest shape and sliced, so a launch allocates nothing while it measures. A sum in
place carries an error on to the last call (unless it is so small that a later sum rounds it away). Any other call is
covered by the next one that writes to the same place, so each call of a series has a slot of its own, as many as fit
SLOT_BYTES. `compare` counts wrong elements where the buffers live and can be captured in a graph. Nothing here keeps
time. torch is imported inside functions only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import payload
from .calls import Calls
from .shapes import ROOT, Layout, Shape, layout

SLOT_BYTES = 32 << 20
_ALIGNMENT = 256
_FLIPPED = {"bfloat16": 1 << 6, "float16": 1 << 9, "float32": 1 << 22, "int32": 1 << 6}


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


def differing(buffer: Any, pattern: Any) -> Any:
    """How many elements of the flat `buffer` are not `pattern` repeated: a tensor where the buffer lives."""
    period = pattern.numel()
    whole = buffer.numel() // period
    body = buffer[: whole * period].view(whole, period)
    rest = buffer[whole * period :]
    return (body != pattern).sum() + (rest != pattern[: rest.numel()]).sum()


def bits(values: Any) -> Any:
    """The same memory as integers: two values that compare equal but differ in a bit are different."""
    import torch

    return values.view(torch.int16 if values.element_size() == 2 else torch.int32)


def chains(shape: Shape) -> bool:
    """Whether each call works on what the call before left."""
    return shape.op == "all_reduce" and shape.in_place


def slots_for(shape: Shape, rank: int, world: int, calls: int) -> int:
    """How many slots a series of `calls` gets: one per call while they fit SLOT_BYTES; one in all where calls chain."""
    if chains(shape):
        return 1
    return max(1, min(calls, SLOT_BYTES // _slot_bytes(shape, rank, world)))


def _slot_bytes(shape: Shape, rank: int, world: int) -> int:
    need = layout(shape, rank, world).room * payload.ITEM_BYTES[shape.dtype]
    return need + -need % _ALIGNMENT


class Workspace:
    """The memory of a launch on one rank: slots to receive into, one source to send from, what must come of it.

    `needs` says for every shape how many calls its longest series has.
    """

    def __init__(self, needs: Mapping[Shape, int], rank: int, world: int, device: Any) -> None:
        import torch

        def room(size_of: Any) -> Any:
            need = max((size_of(shape) for shape in needs), default=0)
            return torch.empty(need + -need % _ALIGNMENT, dtype=torch.uint8, device=device)

        self.rank = rank
        self.world = world
        self.device = device
        self.wrong = torch.zeros((), dtype=torch.int64, device=device)
        self._needs = dict(needs)
        self._buffer = room(lambda shape: self.slots(shape) * _slot_bytes(shape, rank, world))
        self._source = room(lambda shape: layout(shape, rank, world).sends * payload.ITEM_BYTES[shape.dtype])
        self._expected = room(self._expected_bytes)
        self._tiles: dict[tuple[str, str, int], Any] = {}

    def _expected_bytes(self, shape: Shape) -> int:
        here = layout(shape, self.rank, self.world)
        return 0 if chains(shape) else here.receives * payload.ITEM_BYTES[shape.dtype]

    def slots(self, shape: Shape) -> int:
        """How many slots this shape has here."""
        return slots_for(shape, self.rank, self.world, self._needs[shape])

    def collective(self, shape: Shape, calls: Calls) -> Collective:
        """The shape laid out in this memory with its payload; the one before is no longer valid."""
        import torch

        kind, item = getattr(torch, shape.dtype), payload.ITEM_BYTES[shape.dtype]
        here, count = layout(shape, self.rank, self.world), self.slots(shape)
        stride = _slot_bytes(shape, self.rank, self.world)
        slots = self._buffer[: count * stride].view(kind).view(count, stride // item)
        source = self._source.view(kind)[: here.sends]
        fill(source, self._sent(shape))
        expected = None
        if not chains(shape):
            expected = self._expected.view(kind)[: here.receives]
            self._lay_out(shape, here, expected)
        return Collective(shape, here, self, slots, source, expected, calls)

    def total(self, shape: Shape, calls: int) -> Any:
        """The tile of the sum after `calls` (>= 1) calls in place."""
        key = ("total", shape.dtype, calls)
        if key not in self._tiles:
            values = payload.total(self.world, payload.SIGNIFICAND_BITS[shape.dtype])
            self._tiles[key] = tile(values, self.world ** (calls - 1), shape.dtype, self.device)
        return self._tiles[key]

    def _shard(self, rank: int, dtype: str) -> Any:
        """The tile of what `rank` sends in an op that moves data."""
        key = ("shard", dtype, 0)
        if key not in self._tiles:
            self._tiles[key] = tile(payload.shard(0), 1, dtype, self.device)
        return self._tiles[key].roll(-payload.shard_shift(rank))

    def _sent(self, shape: Shape) -> Any:
        if shape.op not in ("all_reduce", "reduce_scatter"):
            return self._shard(self.rank, shape.dtype)
        key = ("sent", shape.dtype, 0)
        if key not in self._tiles:
            values = payload.contribution(self.rank, self.world, payload.SIGNIFICAND_BITS[shape.dtype])
            self._tiles[key] = tile(values, 1, shape.dtype, self.device)
        return self._tiles[key]

    def _lay_out(self, shape: Shape, here: Layout, expected: Any) -> None:
        """Write what one call must leave in a slot of this rank."""
        own = self.rank * here.part
        if shape.op == "all_reduce":
            fill(expected, self.total(shape, 1))
        elif shape.op == "reduce_scatter":
            fill(expected, self.total(shape, 1).roll(-own))
        elif shape.op == "broadcast":
            fill(expected, self._shard(ROOT, shape.dtype))
        elif shape.op == "send_recv":
            fill(expected, self._shard((self.rank - 1) % self.world, shape.dtype))
        else:
            start = own if shape.op == "all_to_all" else 0
            for rank in range(self.world):
                part = expected[rank * here.part : (rank + 1) * here.part]
                fill(part, self._shard(rank, shape.dtype).roll(-start))


class Collective:
    """One shape ready to run: `restart`, then up to `chain` times `call`, then `compare`; `wrong` tells in the end."""

    def __init__(
        self, shape: Shape, here: Layout, space: Workspace, slots: Any, source: Any, expected: Any, calls: Calls
    ) -> None:
        self.shape = shape
        self.chain = self._chain(shape, space.world, len(slots))
        self._space = space
        self._slots = slots
        self._source = source
        self._expected = expected
        self._sends = here.send_at is not None and (shape.op != "broadcast" or space.rank == ROOT)
        self._covered = self._sends and here.sends == here.room
        self._received = slots[:, here.receive_at : here.receive_at + here.receives]
        self._payload = slots[:, here.send_at or 0 : (here.send_at or 0) + here.sends]
        self._made = 0
        pairs = zip(self._payload if here.send_at is not None else [source] * len(slots), self._received, strict=True)
        self._calls = [calls.bind(shape, send, receive) for send, receive in pairs]

    @staticmethod
    def _chain(shape: Shape, world: int, slots: int) -> int:
        if chains(shape):
            return payload.chain_limit(world, shape.dtype)
        spends_its_input = shape.op == "reduce_scatter" and shape.in_place
        return slots if spends_its_input else payload.LONGEST_CHAIN

    def restart(self) -> None:
        """Wipe what was received and put the payload back where it is sent from; may be captured in a graph."""
        if not self._covered:
            self._slots.zero_()
        if self._sends:
            self._payload.copy_(self._source)
        self._made = 0

    def call(self) -> None:
        """Run the collective once; on a GPU it is enqueued on the current stream."""
        self._calls[self._made % len(self._calls)]()
        self._made += 1

    def foresee(self, made: Sequence[int]) -> None:
        """Have ready what `compare` needs after so many calls: no memory may be copied from the host in a capture."""
        for calls in made if self._expected is None else ():
            self._space.total(self.shape, calls)

    def flip(self) -> None:
        """Turn one bit of the first element that the last call received: a fault planted by a test.

        The highest bit of the fraction: an error in the lowest one can be rounded away by the sums that follow.
        """
        bits(self._received[(self._made - 1) % len(self._calls)])[:1].bitwise_xor_(_FLIPPED[self.shape.dtype])

    def compare(self) -> None:
        """Count the wrong elements of all calls since `restart` whose results are still there; waits for nothing."""
        if self._expected is None:
            pattern = bits(self._space.total(self.shape, self._made))
            self._space.wrong.add_(differing(bits(self._received[0]), pattern))
            return
        kept = bits(self._received)[: min(self._made, len(self._slots))]
        self._space.wrong.add_((kept != bits(self._expected)).sum())

    def wrong(self) -> int:
        """How many elements were wrong since the last question; waits for the GPU."""
        count = int(self._space.wrong.item())
        self._space.wrong.zero_()
        return count
