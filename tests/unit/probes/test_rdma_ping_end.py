"""An end's memory and messages: what arrives is known to be ours and whole, whatever bytes came."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes.rdma_ping_end import (
    BYTES,
    LARGEST,
    RECEIVED_AT,
    RECEIVES,
    RETRIES,
    WRITTEN_AT,
    Memory,
    message,
    same_gid,
)
from fabricdoc.probes.rdma_ping_end import test_of as number_of

pytestmark = pytest.mark.unit


def test_memory_has_room_to_send_to_be_written_to_and_to_receive() -> None:
    memory = Memory()
    memory.put(b"x" * LARGEST)
    assert ctypes.string_at(memory.address, LARGEST) == b"x" * LARGEST
    assert memory.written(8) == bytes(8)
    ctypes.memmove(memory.address + WRITTEN_AT, b"w" * 8, 8)
    assert memory.written(8) == b"w" * 8
    for slot in range(RECEIVES):
        ctypes.memmove(memory.address + RECEIVED_AT + slot * LARGEST, bytes([slot]) * LARGEST, LARGEST)
    assert [memory.received(slot, 2) for slot in range(RECEIVES)] == [bytes([slot]) * 2 for slot in range(RECEIVES)]
    assert RECEIVED_AT + RECEIVES * LARGEST == BYTES
    memory.close()


@pytest.mark.parametrize("size", [-1, 0, LARGEST + 1, 1 << 40])
def test_a_length_that_a_completion_made_up_stays_in_its_slot(size: int) -> None:
    memory = Memory()
    assert len(memory.received(RECEIVES - 1, size)) == min(max(size, 0), LARGEST)
    memory.close()


def test_a_queue_pair_gives_up() -> None:
    """A count of 7 means for ever on soft RoCE (measured); NCCL's own default is 7."""
    assert RETRIES <= 6


@given(st.binary(max_size=64), st.integers(0, 2**32 - 1), st.integers(0, 1))
def test_any_bytes_are_a_test_of_ours_or_none(data: bytes, token: int, side: int) -> None:
    number = number_of(data, token, side)
    assert number is None or 0 <= number <= 255


@given(st.integers(0, 2**32 - 1), st.integers(0, 1), st.integers(0, 255), st.integers(1, 1024))
def test_a_message_tells_its_test_to_its_own_run_and_side_only(token: int, side: int, test: int, words: int) -> None:
    data = message(token, side, test, 8 * words)
    assert len(data) == 8 * words
    assert number_of(data, token, side) == test
    assert number_of(data, token, 1 - side) is None
    assert number_of(data, token ^ 1, side) is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_gids_are_compared_by_value_whatever_the_text(one: str, other: str) -> None:
    assert same_gid("::ffff:10.0.0.1", "0000:0000:0000:0000:0000:ffff:0a00:0001")
    assert same_gid(one, other) in (True, False)
