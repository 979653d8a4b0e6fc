"""The arithmetic of bit-exact checks, proved with integers: exact in every order, and nothing wrong goes unseen."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabricdoc.probes import payload

pytestmark = pytest.mark.unit

WORLDS = st.integers(1, 300)
BITS = st.sampled_from(sorted(set(payload.SIGNIFICAND_BITS.values())))


# Above the largest power of two that each kind holds: IEEE 754 binary16 and binary32, bfloat16, two's complement.
TOO_LARGE = {"bfloat16": 2**128, "float16": 2**16, "float32": 2**128, "int32": 2**31}
DTYPES = st.sampled_from(sorted(payload.ITEM_BYTES))


def representable(value: int, bits: int, too_large: int = 2**128) -> bool:
    """Whether an integer survives a number with `bits` of significand below `too_large`."""
    odd = value >> ((value & -value).bit_length() - 1) if value else 0
    return odd.bit_length() <= bits and value < too_large


def keeps(dtype: str, value: int) -> bool:
    """Whether a number of this kind keeps the integer exactly."""
    return representable(value, payload.SIGNIFICAND_BITS[dtype], TOO_LARGE[dtype])


@pytest.mark.parametrize("world", [1, 2, 3, 5, 8, 9, 16, 33, 130])
@pytest.mark.parametrize("bits", [8, 11, 24, 31])
def test_total_is_the_sum_of_what_every_rank_sends(world: int, bits: int) -> None:
    sums = [0] * payload.PERIOD
    for rank in range(world):
        sums = [a + b for a, b in zip(sums, payload.contribution(rank, world, bits), strict=True)]
    assert tuple(sums) == payload.total(world, bits)


@pytest.mark.long
@settings(max_examples=20, deadline=None)
@given(world=st.integers(1, 40), bits=BITS, order=st.randoms(use_true_random=False))
def test_first_sum_is_exact_in_any_order(world: int, bits: int, order: object) -> None:
    ranks = list(range(world))
    order.shuffle(ranks)  # type: ignore[attr-defined]
    sent = [payload.contribution(rank, world, bits) for rank in ranks]
    for index in range(0, payload.PERIOD, 97):
        partial = 0
        for column in sent:
            assert representable(column[index], bits)
            partial += column[index]
            assert representable(partial, bits)


@pytest.mark.parametrize("dtype", sorted(payload.ITEM_BYTES))
def test_each_kind_keeps_what_is_said_of_it_and_torch_agrees(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    bits, largest = payload.SIGNIFICAND_BITS[dtype], payload.LARGEST[dtype]
    for value in (1, (1 << bits) - 1, largest, 3 * largest // 4):
        assert keeps(dtype, value)
        assert int(torch.tensor(value, dtype=torch.float64).to(kind).to(torch.float64).item()) == value
    assert not keeps(dtype, (1 << bits) + 1)
    if dtype != "int32":
        lost = torch.tensor((1 << bits) + 1, dtype=torch.float64).to(kind).to(torch.float64).item()
        assert int(lost) != (1 << bits) + 1


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(world=WORLDS, dtype=DTYPES)
@example(world=2, dtype="bfloat16")
@example(world=4, dtype="float32")
@example(world=16, dtype="bfloat16")
@example(world=2, dtype="float16")
@example(world=3, dtype="int32")
def test_every_partial_sum_of_a_whole_chain_is_exact(world: int, dtype: str) -> None:
    chain = payload.chain_limit(world, dtype)
    values = sorted(set(payload.total(world, payload.SIGNIFICAND_BITS[dtype])))
    for call in {2, 3, 4, chain - 1, chain} & set(range(2, chain + 1)):
        held = world ** (call - 2) if world > 1 else 1
        for value in [*values[-40::13], values[-1]]:
            assert all(keeps(dtype, j * value * held) for j in range(1, world + 1)), (call, value)


@pytest.mark.parametrize("world", [2, 3, 4, 6, 8, 16])
@pytest.mark.parametrize("dtype", sorted(payload.ITEM_BYTES))
def test_chain_ends_near_where_exactness_ends(world: int, dtype: str) -> None:
    chain = payload.chain_limit(world, dtype)
    too_long = 3 * chain + 8
    total = payload.total(world, payload.SIGNIFICAND_BITS[dtype])
    exact = [keeps(dtype, value * world ** (too_long - 1)) for value in total]
    assert not all(exact)


@pytest.mark.parametrize(("dtype", "calls"), [("bfloat16", 101), ("float32", 101), ("float16", 8), ("int32", 23)])
def test_two_ranks_may_run_so_many_calls(dtype: str, calls: int) -> None:
    assert payload.chain_limit(2, dtype) >= calls


@pytest.mark.long
@settings(max_examples=15, deadline=None)
@given(world=st.integers(1, 64), dtype=DTYPES, order=st.randoms(use_true_random=False))
def test_one_sum_is_exact_in_any_order_and_any_kind(world: int, dtype: str, order: object) -> None:
    """What reduce_scatter and sums out of place need: a single sum from the payload."""
    ranks = list(range(world))
    order.shuffle(ranks)  # type: ignore[attr-defined]
    sent = [payload.contribution(rank, world, payload.SIGNIFICAND_BITS[dtype]) for rank in ranks]
    for index in range(0, payload.PERIOD, 211):
        partial = 0
        for column in sent:
            partial += column[index]
            assert keeps(dtype, partial)


@pytest.mark.parametrize("dtype", sorted(payload.ITEM_BYTES))
def test_what_is_moved_is_kept_by_every_kind(dtype: str) -> None:
    assert all(keeps(dtype, value) for value in set(payload.shard(0)))


def test_one_rank_alone_has_the_longest_chain() -> None:
    assert payload.chain_limit(1, "bfloat16") == payload.LONGEST_CHAIN


@settings(max_examples=12, deadline=None)
@given(world=WORLDS, bits=BITS, data=st.data())
def test_a_missing_or_doubled_rank_changes_the_sum(world: int, bits: int, data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, world - 1))
    sent = payload.contribution(rank, world, bits)
    assert any(sent), "this rank could be left out unseen"
    assert all(value >= 0 for value in sent)
    assert all(value >= 1 for value in payload.total(world, bits))


@settings(max_examples=20, deadline=None)
@given(world=WORLDS, bits=BITS, power=st.integers(0, 30))
def test_data_moved_by_a_power_of_two_is_seen(world: int, bits: int, power: int) -> None:
    expected = payload.total(world, bits)
    shift = 2**power % payload.PERIOD
    assert shift
    if len(set(expected)) > 1:
        assert expected[shift:] + expected[:shift] != expected


@settings(max_examples=20, deadline=None)
@given(world=st.integers(17, 300), bits=BITS)
def test_large_worlds_send_each_element_from_one_rank(world: int, bits: int) -> None:
    senders = [payload.contribution(rank, world, bits) for rank in (0, 1, world - 1)]
    assert all(sum(1 for sent in senders if sent[index]) <= 1 for index in range(0, payload.PERIOD, 13))


@settings(max_examples=20, deadline=None)
@given(rank=st.integers(0, 5000))
def test_a_shard_is_rank_zeros_turned_to_the_left(rank: int) -> None:
    shift = payload.shard_shift(rank)
    first = payload.shard(0)
    assert payload.shard(rank) == first[shift:] + first[:shift]


@settings(max_examples=20, deadline=None)
@given(a=st.integers(0, 4092), b=st.integers(0, 4092))
def test_no_two_shards_are_alike(a: int, b: int) -> None:
    assert (payload.shard(a) == payload.shard(b)) == (a == b)


def test_shards_never_hold_the_zero_they_are_wiped_with() -> None:
    assert min(payload.shard(0)) >= 1
    assert max(payload.shard(0)) <= 127


@pytest.mark.long
@given(calls=st.integers(0, 5000), limit=st.integers(1, 200))
def test_segments_are_few_even_and_complete(calls: int, limit: int) -> None:
    parts = payload.segments(calls, limit)
    assert sum(parts) == calls
    assert len(parts) == -(-calls // limit)
    assert not parts or (max(parts) <= limit and max(parts) - min(parts) <= 1 and min(parts) >= 1)
