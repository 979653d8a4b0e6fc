"""Sizes and offsets as nccl-tests counts them, and what is no shape."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import payload
from fabricdoc.probes.shapes import OPS, Shape, layout, shape_of

pytestmark = pytest.mark.unit

SPLIT = ("all_gather", "reduce_scatter", "all_to_all")
DTYPES = sorted(payload.ITEM_BYTES)


def shape(op: str, size: int, dtype: str = "float32", in_place: bool | None = None) -> Shape:
    return Shape(op, size, dtype, op not in ("all_to_all", "send_recv") if in_place is None else in_place)


SHAPES = st.builds(
    lambda op, size, dtype, in_place: shape(op, size, dtype, in_place and op not in ("all_to_all", "send_recv")),
    st.sampled_from(OPS),
    st.integers(1, 1 << 26),
    st.sampled_from(DTYPES),
    st.booleans(),
)


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ({"op": "reduce"}, "unknown op 'reduce'; known: all_reduce, all_gather"),
        ({"dtype": "int8"}, "unknown dtype 'int8'; known: bfloat16, float16, float32, int32"),
        ({"size": 0}, "a message of 0 bytes can't be sent"),
        ({"op": "all_to_all"}, "all_to_all has no form in place"),
        ({"op": "send_recv"}, "send_recv has no form in place"),
    ],
)
def test_a_shape_that_cannot_be_measured_is_refused(field: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Shape(**{"op": "all_reduce", "size": 8, "dtype": "bfloat16", **field})


@pytest.mark.parametrize(
    ("op", "in_place", "sends", "receives", "send_at", "receive_at"),
    [
        # the figures of nccl-tests' *GetCollByteCount for 1024 bytes of float32 on 4 ranks, seen from rank 2
        ("all_reduce", True, 256, 256, 0, 0),
        ("all_reduce", False, 256, 256, None, 0),
        ("broadcast", True, 256, 256, 0, 0),
        ("all_gather", True, 64, 256, 128, 0),
        ("all_gather", False, 64, 256, None, 0),
        ("reduce_scatter", True, 256, 64, 0, 128),
        ("reduce_scatter", False, 256, 64, None, 0),
        ("all_to_all", False, 256, 256, None, 0),
        ("send_recv", False, 256, 256, None, 0),
    ],
)
def test_elements_and_offsets_are_those_of_nccl_tests(
    op: str, in_place: bool, sends: int, receives: int, send_at: int | None, receive_at: int
) -> None:
    here = layout(Shape(op, 1024, "float32", in_place), 2, 4)
    assert (here.sends, here.receives, here.send_at, here.receive_at) == (sends, receives, send_at, receive_at)


@given(one=SHAPES, world=st.integers(1, 64), data=st.data())
def test_a_call_stays_in_its_room_and_near_its_size(one: Shape, world: int, data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, world - 1))
    here, item = layout(one, rank, world), payload.ITEM_BYTES[one.dtype]
    assert here.sends >= 1 and here.receives >= 1
    assert here.receive_at + here.receives <= here.room
    if here.send_at is not None:
        assert here.send_at + here.sends <= here.room
    assert max(here.sends, here.receives) * item <= max(one.size, world * item)
    if one.op in SPLIT:
        assert max(here.sends, here.receives) == here.part * world
        assert here.part * item % 16 == 0 or here.part * item < 16, "parts are rounded down to 16 bytes"
        assert one.size - here.part * world * item < 16 * world or here.part == 1
    assert (here.send_at is not None) == one.in_place


@given(one=SHAPES, world=st.integers(2, 16))
def test_parts_in_place_lie_side_by_side(one: Shape, world: int) -> None:
    if one.op not in ("all_gather", "reduce_scatter") or not one.in_place:
        return
    places = [layout(one, rank, world) for rank in range(world)]
    starts = [here.send_at if one.op == "all_gather" else here.receive_at for here in places]
    assert starts == [rank * places[0].part for rank in range(world)]
    assert {here.room for here in places} == {places[0].part * world}


@given(one=SHAPES)
def test_a_shape_survives_its_own_fields(one: Shape) -> None:
    assert shape_of(one.as_fields()) == one
    assert str(one).startswith(f"{one.op} {one.size} B {one.dtype}")
    assert str(one).endswith("out of place") is not one.in_place


@pytest.mark.parametrize(("op", "in_place"), [("all_gather", True), ("all_to_all", False), ("send_recv", False)])
def test_an_order_that_does_not_say_gets_the_form_that_exists(op: str, in_place: bool) -> None:
    assert shape_of({"op": op, "size": 64, "dtype": "int32"}).in_place is in_place


@pytest.mark.parametrize("item", [{"op": "all_reduce"}, {"op": "all_reduce", "size": "x", "dtype": "int32"}])
def test_an_order_that_lacks_something_is_an_error(item: dict[str, Any]) -> None:
    with pytest.raises((KeyError, ValueError)):
        shape_of(item)
