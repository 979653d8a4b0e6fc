"""The arithmetic behind bit-exact checks: what each rank sends, what must come back, how far a chain may run.

Pure integers, no torch, so that every claim can be proved on paper and in a property test. Payloads repeat with a
prime period, so data moved by any power-of-two chunk is noticed. It measures nothing and touches no tensor.

Why chains are exact. After one all-reduce every rank holds the same sum S; after n calls in place it holds
S * world**(n-1). A float keeps an integer exactly when its odd part fits the significand (8 bits in bfloat16, 11 in
float16, 24 in float32) and its exponent fits; int32 keeps all below 2**31. Every partial sum of every order (ring,
tree) is j * v with j <= world, and is exact when world * S * odd(world)**(n-2) fits the significand: for a power of
two `odd` is 1 and only the exponent ends the chain (world 2: some 120 calls in bfloat16 and float32, 8 in float16, 23
in int32). Other worlds get short chains (world 3 in bfloat16: 2); a longer measurement is cut into segments, each
begun by a fresh copy of the payload. Ops that only move data, and sums into a buffer of their own, need no chain.
"""

from __future__ import annotations

from functools import lru_cache

PERIOD = 4093  # prime: no chunk of 2**k elements is a multiple of it
SIGNIFICAND_BITS = {"bfloat16": 8, "float16": 11, "float32": 24, "int32": 31}
ITEM_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4, "int32": 4}
LARGEST = {"bfloat16": 2**126, "float16": 2**15, "float32": 2**126, "int32": 2**30}
LONGEST_CHAIN = 4096
_LARGEST_SENT = 64  # largest value one rank sends
_FEWEST_VALUES = 4  # with fewer distinct values per rank a dense payload says too little
_DENSE_WORLD = 16  # adding up what more ranks send takes too long, here and on every rank
_GATHER_VALUES = 127
_GATHER_STRIDE = 31


def _mix(index: int, salt: int) -> int:
    return ((index * 2654435761 + salt * 40503) ^ (index >> 3)) >> 4


def _dense_values(world: int, bits: int) -> int:
    return min(_LARGEST_SENT, (1 << bits) // (world * world))


def _sparse_values(world: int, bits: int) -> int:
    return min(_LARGEST_SENT, (1 << bits) // world) or _LARGEST_SENT


def _is_dense(world: int, bits: int) -> bool:
    return world <= _DENSE_WORLD and _dense_values(world, bits) >= _FEWEST_VALUES


@lru_cache(maxsize=16)
def contribution(rank: int, world: int, bits: int) -> tuple[int, ...]:
    """What `rank` sends in an all-reduce: PERIOD integers >= 0 for a significand of `bits`.

    Small worlds: every rank sends 1..m everywhere, so one missing or doubled rank always shows. Larger worlds: element
    i comes from rank i % world alone, since the sum of all would not stay exact.
    """
    if _is_dense(world, bits):
        values = _dense_values(world, bits)
        return tuple(1 + _mix(i, rank) % values for i in range(PERIOD))
    values = _sparse_values(world, bits)
    return tuple(1 + _mix(i, 0) % values if i % world == rank else 0 for i in range(PERIOD))


@lru_cache(maxsize=8)
def total(world: int, bits: int) -> tuple[int, ...]:
    """The sum over all ranks of `contribution`: PERIOD integers >= 1."""
    if _is_dense(world, bits):
        sent = (contribution(rank, world, bits) for rank in range(world))
        return tuple(sum(column) for column in zip(*sent, strict=True))
    values = _sparse_values(world, bits)
    return tuple(1 + _mix(i, 0) % values for i in range(PERIOD))


def chain_limit(world: int, dtype: str) -> int:
    """How many all-reduces in place stay exact from one payload on: >= 1, at most LONGEST_CHAIN."""
    bits, largest = SIGNIFICAND_BITS[dtype], LARGEST[dtype]
    if world == 1:
        return LONGEST_CHAIN
    odd = world
    while odd % 2 == 0:
        odd //= 2
    peak = world * _dense_values(world, bits) if _is_dense(world, bits) else _sparse_values(world, bits)
    calls, value, significand = 1, peak * world, peak * world
    while calls < LONGEST_CHAIN and significand <= 1 << bits and value <= largest:
        calls, value, significand = calls + 1, value * world, significand * odd
    return calls


@lru_cache(maxsize=16)
def shard(rank: int) -> tuple[int, ...]:
    """What `rank` sends in an all-gather: PERIOD integers 1..127, rank 0's pattern begun `rank` strides later."""
    start = rank * _GATHER_STRIDE % PERIOD
    return tuple(1 + _mix((i + start) % PERIOD, 7) % _GATHER_VALUES for i in range(PERIOD))


def shard_shift(rank: int) -> int:
    """By how many elements rank 0's pattern is turned to the left to become `rank`'s."""
    return rank * _GATHER_STRIDE % PERIOD


def segments(calls: int, limit: int) -> list[int]:
    """`calls` cut into as few, as even parts as fit `limit` (both >= 1); empty for 0 calls."""
    if calls <= 0:
        return []
    parts = -(-calls // limit)
    return [calls // parts + (1 if index < calls % parts else 0) for index in range(parts)]
