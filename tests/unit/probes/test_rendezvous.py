"""Barriers and the farewell over a real store of torch's, with threads for ranks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from fabricdoc.probes.rendezvous import Steps

dist = pytest.importorskip("torch.distributed")
pytestmark = pytest.mark.unit

LIMIT_S = 20.0


@pytest.fixture
def store() -> Any:
    made = dist.HashStore()
    made.set_timeout(timedelta(seconds=LIMIT_S))
    return made


def ranks(store: Any, world: int, work: Callable[[Steps, int], Any]) -> list[Any]:
    with ThreadPoolExecutor(world) as pool:
        doing: list[Future[Any]] = [pool.submit(work, Steps(store, rank, world), rank) for rank in range(world)]
        return [one.result(LIMIT_S) for one in doing]


@pytest.mark.parametrize("world", [1, 2, 5])
def test_nobody_passes_a_barrier_before_all_are_there(store: Any, world: int) -> None:
    arrived = [0] * 4
    lock = threading.Lock()

    def work(steps: Steps, rank: int) -> list[int]:
        seen = []
        for index in range(4):
            with lock:
                arrived[index] += 1
            steps.barrier()
            seen.append(arrived[index])
        return seen

    assert ranks(store, world, work) == [[world] * 4] * world


@pytest.mark.parametrize("world", [1, 2, 4])
def test_rank_zero_leaves_last(store: Any, world: int) -> None:
    left: list[int] = []

    def work(steps: Steps, rank: int) -> None:
        if rank:
            time.sleep(0.01 * rank)
            left.append(rank)
        steps.farewell()
        if rank == 0:
            left.append(0)

    ranks(store, world, work)
    assert left[-1] == 0
    assert sorted(left) == list(range(world))


@pytest.mark.parametrize("last", [0, 1, 2])
def test_nobody_leaves_while_another_still_measures(store: Any, last: int) -> None:
    done = threading.Event()
    early: list[int] = []

    def work(steps: Steps, rank: int) -> None:
        if rank == last:
            while store.num_keys() < 1:  # the others have arrived at the farewell, or are about to
                time.sleep(0.001)
            done.set()
        steps.farewell()
        if not done.is_set():
            early.append(rank)

    ranks(store, 3, work)
    assert not early


def test_others_do_not_wait_for_each_other_to_leave(store: Any) -> None:
    gone = [threading.Event() for _ in range(3)]

    def work(steps: Steps, rank: int) -> None:
        steps.farewell()
        gone[rank].set()
        if rank:  # each of the two ends only when all have left
            assert all(one.wait(LIMIT_S) for one in gone)

    ranks(store, 3, work)


@pytest.mark.parametrize("world", [1, 2, 4])
def test_what_rank_zero_decides_is_everybodys(store: Any, world: int) -> None:
    def work(steps: Steps, rank: int) -> list[int]:
        return [steps.agree(10 * rank + number) for number in (7, 0, 3)]

    assert ranks(store, world, work) == [[7, 0, 3]] * world


def test_rank_zeros_bytes_are_everybodys_zeros_and_all(store: Any) -> None:
    data = bytes(range(128))

    def work(steps: Steps, rank: int) -> bytes:
        return steps.share("nccl-id", data if rank == 0 else b"")

    assert ranks(store, 3, work) == [data] * 3


def test_a_missing_rank_is_an_error_at_the_deadline(store: Any) -> None:
    store.set_timeout(timedelta(milliseconds=50))
    with pytest.raises(dist.DistStoreError):
        Steps(store, 0, 2).barrier()
