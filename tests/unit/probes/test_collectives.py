"""Buffers, payloads and comparisons on real tensors, with the other ranks played by plain copies and additions."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.probes import collectives, payload
from fabricdoc.probes.collectives import Collective, Workspace, bits, differing, fill, slots_for, tile
from fabricdoc.probes.shapes import OPS, Shape

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.unit

CPU = torch.device("cpu")
DTYPES = sorted(payload.ITEM_BYTES)
FORMS = [(op, True) for op in OPS[:4]] + [(op, False) for op in OPS]
SHAPES = st.builds(
    lambda form, size, dtype: Shape(form[0], size, dtype, form[1]),
    st.sampled_from(FORMS),
    st.integers(1, 40_000),
    st.sampled_from(DTYPES),
)


class Fabric:
    """All ranks of a launch in one process: a call of theirs is done when the last of them has made it."""

    def __init__(self, shape: Shape, world: int, calls: int, seed: int = 0) -> None:
        self.order = random.Random(seed)
        self.spaces = [Workspace({shape: calls}, rank, world, CPU) for rank in range(world)]
        self.pairs: list[tuple[Any, Any]] = []
        self.ranks = [space.collective(shape, self) for space in self.spaces]
        self.shape = shape

    def bind(self, shape: Shape, send: Any, receive: Any) -> Any:
        return lambda: self.pairs.append((send, receive))

    def restart(self) -> None:
        for one in self.ranks:
            one.restart()

    def call(self, but: int = -1) -> None:
        """One call of every rank; `but` sends nothing that arrives."""
        self.pairs.clear()
        for one in self.ranks:
            one.call()
        sent = [send.clone() for send, _ in self.pairs]
        if but >= 0:
            sent[but].zero_()
        for rank, (_, receive) in enumerate(self.pairs):
            receive.copy_(self.result(sent, rank, receive.numel()))

    def result(self, sent: list[Any], rank: int, count: int) -> Any:
        if self.shape.op == "all_gather":
            return torch.cat(sent)
        if self.shape.op == "broadcast":
            return sent[0]
        if self.shape.op == "send_recv":
            return sent[rank - 1]
        if self.shape.op == "all_to_all":
            part = count // len(sent)
            return torch.cat([one[rank * part : (rank + 1) * part] for one in sent])
        total = self.sum_of(sent)
        return total[rank * count : (rank + 1) * count] if self.shape.op == "reduce_scatter" else total

    def sum_of(self, sent: list[Any]) -> Any:
        """As a ring or tree might do it: pairwise sums in the dtype itself, in any order."""
        parts = [one.clone() for one in sent]
        while len(parts) > 1:
            self.order.shuffle(parts)
            parts.append(parts.pop() + parts.pop())
        return parts[0]

    def wrong(self) -> list[int]:
        for one in self.ranks:
            one.compare()
        return [one.wrong() for one in self.ranks]


@pytest.mark.long
@settings(max_examples=80, deadline=None)
@given(shape=SHAPES, world=st.sampled_from([1, 2, 3, 4, 5, 8, 12, 16]), seed=st.integers(0, 99), data=st.data())
def test_a_chain_of_every_op_and_dtype_is_exact_in_any_order(
    shape: Shape, world: int, seed: int, data: st.DataObject
) -> None:
    fabric = Fabric(shape, world, 20, seed)
    calls = data.draw(st.integers(1, min(fabric.ranks[0].chain, 45)))
    for one in fabric.ranks:
        one.foresee([calls])
    for _ in range(2):
        fabric.restart()
        for _ in range(calls):
            fabric.call()
        assert fabric.wrong() == [0] * world


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(shape=SHAPES, world=st.integers(2, 9), data=st.data())
def test_a_bit_flipped_on_one_rank_after_any_call_is_seen(shape: Shape, world: int, data: st.DataObject) -> None:
    """At the last call by that rank alone; before, a sum in place carries it to all, any other op keeps it."""
    fabric = Fabric(shape, world, 6)
    calls = min(6, fabric.ranks[0].chain)
    victim, at = data.draw(st.integers(0, world - 1)), data.draw(st.integers(1, calls))
    fabric.restart()
    for number in range(1, calls + 1):
        fabric.call()
        if number == at:
            fabric.ranks[victim].flip()
    wrong = fabric.wrong()
    assert wrong[victim] == 1
    spread = shape.op == "all_reduce" and shape.in_place and at < calls
    assert [count > 0 for count in wrong] == [spread or rank == victim for rank in range(world)]


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(shape=SHAPES, world=st.integers(2, 9), data=st.data())
def test_a_rank_whose_data_never_came_is_seen_by_those_who_need_it(
    shape: Shape, world: int, data: st.DataObject
) -> None:
    lost = data.draw(st.integers(0, world - 1))
    fabric = Fabric(shape, world, 2)
    fabric.restart()
    fabric.call(but=lost)
    wrong = fabric.wrong()
    silent = shape.op == "broadcast" and lost != 0
    sparse = 0 in payload.contribution(lost, world, payload.SIGNIFICAND_BITS[shape.dtype])
    if silent:
        assert wrong == [0] * world
    elif not (sparse and shape.op in ("all_reduce", "reduce_scatter")):
        assert any(wrong)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(shape=SHAPES, world=st.integers(1, 6))
def test_what_was_never_received_is_not_right(shape: Shape, world: int) -> None:
    """Wiped memory must not pass, but where a rank has its own result from the start."""
    fabric = Fabric(shape, world, 1)
    fabric.restart()
    for one in fabric.ranks:
        one._made = 1
    own = {"all_reduce": world == 1, "reduce_scatter": world == 1}.get(shape.op, False)
    for rank, count in enumerate(fabric.wrong()):
        has_it = shape.in_place and (
            own or (shape.op == "broadcast" and rank == 0) or (shape.op == "all_gather" and world == 1)
        )
        sparse = shape.in_place and shape.op in ("all_reduce", "reduce_scatter")
        assert (count == 0) if has_it else (count > 0 or sparse)


@settings(deadline=None)
@given(count=st.integers(1, 20_000), dtype=st.sampled_from(DTYPES), data=st.data())
def test_one_wrong_element_anywhere_is_counted(count: int, dtype: str, data: st.DataObject) -> None:
    pattern = tile(payload.total(2, 8), 1, dtype, CPU)
    buffer = torch.empty(count, dtype=getattr(torch, dtype))
    fill(buffer, pattern)
    assert differing(buffer, pattern).item() == 0
    where = data.draw(st.integers(0, count - 1))
    buffer[where] += 1
    assert differing(bits(buffer), bits(pattern)).item() == 1


def test_values_that_compare_equal_but_are_not_the_same_bits_differ() -> None:
    zeros = torch.tensor([0.0, -0.0])
    assert (zeros == 0).all()
    assert bits(zeros).tolist() == [0, -(1 << 31)]
    nan = torch.tensor([float("nan")])
    assert differing(bits(nan), bits(nan)).item() == 0, "the same bits"


@given(shape=SHAPES, world=st.integers(1, 16), calls=st.integers(1, 300), rank=st.integers(0, 15))
def test_slots_are_one_for_each_call_while_they_fit(shape: Shape, world: int, calls: int, rank: int) -> None:
    count = slots_for(shape, rank % world, world, calls)
    if shape.op == "all_reduce" and shape.in_place:
        assert count == 1
    else:
        assert count == calls or count * shape.size <= collectives.SLOT_BYTES + 256 * count


def test_calls_beyond_the_slots_begin_again_and_the_last_ones_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectives, "SLOT_BYTES", 3 * 256)
    fabric = Fabric(Shape("all_gather", 256, "float32"), 2, 10)
    assert len(fabric.ranks[0]._slots) == 3
    fabric.restart()
    for number in range(1, 9):
        fabric.call()
        if number in (2, 7):
            fabric.ranks[1].flip()
    assert fabric.wrong() == [0, 1], "the second call was covered, the seventh is one of the last three"


def test_a_sum_that_spends_its_input_has_as_many_calls_as_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = Shape("reduce_scatter", 256, "bfloat16")
    assert Fabric(shape, 2, 10).ranks[0].chain == 10
    monkeypatch.setattr(collectives, "SLOT_BYTES", 1)
    assert Fabric(shape, 2, 10).ranks[0].chain == 1
    assert Fabric(Shape("reduce_scatter", 256, "bfloat16", False), 2, 10).ranks[0].chain == payload.LONGEST_CHAIN


def test_shapes_share_one_memory_and_each_gets_its_own_payload() -> None:
    shapes = [Shape(op, size, dtype, in_place) for op, in_place in FORMS for size in (6, 4098) for dtype in DTYPES]
    space = Workspace(dict.fromkeys(shapes, 4), 1, 2, CPU)
    notes = Fabric(shapes[0], 2, 1)
    addresses = set()
    for shape in [*shapes, *reversed(shapes)]:
        one: Collective = space.collective(shape, notes)
        sums = shape.op in ("all_reduce", "reduce_scatter")
        sent = payload.contribution(1, 2, payload.SIGNIFICAND_BITS[shape.dtype]) if sums else payload.shard(1)
        assert one._source.tolist() == [sent[index % payload.PERIOD] for index in range(one._source.numel())]
        addresses.add(one._slots.data_ptr())
    assert len(addresses) == 1


def test_a_count_is_given_once() -> None:
    fabric = Fabric(Shape("send_recv", 64, "int32", False), 2, 1)
    fabric.restart()
    fabric.call()
    fabric.ranks[0].flip()
    assert fabric.wrong() == [1, 0]
    assert [one.wrong() for one in fabric.ranks] == [0, 0]
