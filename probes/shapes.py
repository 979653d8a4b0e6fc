"""What is measured: an op, a size as nccl-tests counts it, a dtype, in place or not; and how that lies in memory.

Sizes and offsets follow nccl-tests 2.19 (all_gather.cu, reduce_scatter.cu, alltoall.cu, sendrecv.cu): parts are
rounded down to 16 bytes; in place the part a rank sends (all_gather) or receives (reduce_scatter) is its own part of
the whole buffer. Unlike there a size below 16 bytes per rank is not nothing: each rank has at least one element.
Pure arithmetic: no torch, no memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import payload

OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv")
ROOT = 0  # of a broadcast, as nccl-tests' default
_PART_BYTES = 16
_SPLIT = ("all_gather", "reduce_scatter", "all_to_all")
_NEVER_IN_PLACE = ("all_to_all", "send_recv")


@dataclass(frozen=True)
class Shape:
    """One measured message. `size` in bytes: the message of all_reduce, broadcast and send_recv; the whole output of
    all_gather; the whole input of one rank of reduce_scatter and all_to_all.
    """

    op: str
    size: int
    dtype: str
    in_place: bool = True

    def __post_init__(self) -> None:
        """Refuse what can't be measured (ValueError)."""
        if self.op not in OPS:
            raise ValueError(f"unknown op {self.op!r}; known: {', '.join(OPS)}")
        if self.dtype not in payload.ITEM_BYTES:
            raise ValueError(f"unknown dtype {self.dtype!r}; known: {', '.join(payload.ITEM_BYTES)}")
        if self.size < 1:
            raise ValueError(f"a message of {self.size} bytes can't be sent")
        if self.in_place and self.op in _NEVER_IN_PLACE:
            raise ValueError(f"{self.op} has no form in place (nccl-tests checks none either): ask for it out of place")

    def as_fields(self) -> dict[str, Any]:
        """The fields as events carry them."""
        return {"op": self.op, "size": self.size, "dtype": self.dtype, "in_place": self.in_place}

    def __str__(self) -> str:
        """'all_gather 4096 B bfloat16 out of place'; in place goes without saying."""
        return f"{self.op} {self.size} B {self.dtype}{'' if self.in_place else ' out of place'}"


def shape_of(item: Mapping[str, Any]) -> Shape:
    """A shape as the controller names it; ValueError or TypeError for one that is none."""
    op = item["op"]
    return Shape(op, int(item["size"]), item["dtype"], bool(item.get("in_place", op not in _NEVER_IN_PLACE)))


@dataclass(frozen=True)
class Layout:
    """Elements a rank sends and receives, the part that belongs to one rank, and where it sends from and receives to.

    Offsets count from the start of the buffer that is received into; `send_at` is None where what is sent lies in a
    buffer of its own. `room` is what that buffer needs.
    """

    sends: int
    receives: int
    part: int
    send_at: int | None
    receive_at: int

    @property
    def room(self) -> int:
        """Elements of the buffer one call works in."""
        return max(self.receive_at + self.receives, 0 if self.send_at is None else self.send_at + self.sends)


def layout(shape: Shape, rank: int, world: int) -> Layout:
    """How one call of `shape` lies in the memory of `rank`."""
    whole = max(1, shape.size // payload.ITEM_BYTES[shape.dtype])
    if shape.op not in _SPLIT:
        return Layout(whole, whole, whole, 0 if shape.in_place else None, 0)
    part = _part(whole, world, payload.ITEM_BYTES[shape.dtype])
    sends = part if shape.op == "all_gather" else part * world
    receives = part if shape.op == "reduce_scatter" else part * world
    if not shape.in_place:
        return Layout(sends, receives, part, None, 0)
    own = rank * part
    return Layout(sends, receives, part, own if shape.op == "all_gather" else 0, 0 if shape.op == "all_gather" else own)


def _part(whole: int, world: int, item: int) -> int:
    """One rank's part: rounded down to 16 bytes, or to whole elements where it is less; at least one."""
    part = whole // world
    aligned = part - part % (_PART_BYTES // item)
    return aligned or max(1, part)
