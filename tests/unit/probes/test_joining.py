"""How a rank comes to its group, without any other rank."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import Any

import pytest

from fabricdoc.probes import joining
from fabricdoc.probes.task import Task
from fabricdoc.probes.voice import Voice
from tests.unit.probes.test_voice import spoken

pytestmark = pytest.mark.unit


def task(**changes: Any) -> Task:
    fields = {"number": 1, "backend": "gloo", "world": 1, "rank": 0, "local_rank": 0, "deadline_s": 5.0, "work": {}}
    return Task(**{**fields, "started_s": time.monotonic(), **changes})


def test_an_agent_that_says_nothing_more_is_an_error() -> None:
    read_fd, write_fd = os.pipe()
    os.write(write_fd, b'{"address": "10.77.0.1", ')
    os.write(write_fd, b'"port": 43211}\n')
    assert joining.read_order(read_fd) == {"address": "10.77.0.1", "port": 43211}
    os.close(write_fd)
    with pytest.raises(EOFError, match="before it said where the store is"):
        joining.read_order(read_fd)
    os.close(read_fd)


def test_only_the_first_rank_opens_the_store_and_the_others_go_where_they_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joined: list[tuple[str, int]] = []

    class Store:
        port = 40123

    monkeypatch.setattr(joining, "open_store", lambda _limit_s: Store())
    monkeypatch.setattr(joining, "join_store", lambda address, port, _limit_s: joined.append((address, port)))
    for rank, said in ((0, ["store"]), (1, [])):
        commands, orders = os.pipe()
        os.write(orders, b'{"address": "10.77.0.1", "port": 40123}\n')
        read_fd, write_fd = os.pipe()
        one = task(world=2, rank=rank)
        assert (joining.meet(one, joining.announce(one, Voice(write_fd, 0.0)), commands) is None) == bool(rank)
        assert [event["event"] for event in spoken(read_fd, write_fd)] == said
        os.close(commands)
        os.close(orders)
    assert joined == [("10.77.0.1", 40123)]


def test_a_rank_without_a_gpu_says_so_and_one_with_takes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    assert joining.device_of(task()) == torch.device("cpu")
    taken: list[Any] = []
    cuda = SimpleNamespace(
        device_count=lambda: 0, set_device=taken.append, Stream=lambda: "new", set_stream=taken.append
    )
    monkeypatch.setattr(torch, "cuda", cuda)
    with pytest.raises(RuntimeError, match="sees no CUDA device"):
        joining.device_of(task(backend="nccl"))
    cuda.device_count = lambda: 2
    assert joining.device_of(task(backend="nccl", local_rank=3)) == torch.device("cuda", 1)
    assert taken == [torch.device("cuda", 1), "new"], "never on the default stream"


@pytest.mark.parametrize(("ranks", "answer", "right"), [(2, 2.0, True), (2, 1.0, False), (4, 2.0, False)])
def test_the_first_all_reduce_must_count_the_ranks(
    ranks: int, answer: float, right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("torch.distributed.all_reduce", lambda one: one.fill_(answer))
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: ranks)
    if right:
        joining.connect(torch.device("cpu"))
    else:
        with pytest.raises(ArithmeticError, match=f"over {ranks} ranks gave {answer}"):
            joining.connect(torch.device("cpu"))


def test_torchs_own_limit_lies_behind_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    seen: dict[str, Any] = {}
    monkeypatch.setattr("torch.distributed.init_process_group", lambda backend, **words: seen.update(words))
    monkeypatch.setattr("torch.distributed.PrefixStore", lambda name, store: (name, store))
    joining.init_group(task(number=9, world=2, rank=1, deadline_s=7.0), "store", "gpu")
    assert seen["timeout"].total_seconds() == 67
    assert (seen["store"], seen["rank"], seen["world_size"]) == (("launch/9", "store"), 1, 2)
    assert seen["device_id"] is None, "gloo has none"
