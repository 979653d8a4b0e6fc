"""How a rank comes to its group: the store, its device, torch's process group, and a first sum over all ranks.

It chooses no address and keeps no deadline: torch's own limits lie behind the agent's, so that the agent's report
comes first. torch is imported inside functions; the agent has loaded it before the fork.
"""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import Any

from .rendezvous import join_store, open_store
from .task import Task
from .voice import Voice

_SLACK_S = 60.0


def announce(task: Task, voice: Voice) -> Any:
    """Rank 0 opens the store of this launch and says where; None for the others."""
    if task.rank != 0:
        return None
    store = open_store(task.deadline_s + _SLACK_S)
    voice.say("store", port=store.port)
    return store


def meet(task: Task, store: Any, commands_fd: int) -> Any:
    """The store of this launch, rank 0's own or a connection to it: all wait for the controller's word to join."""
    order = read_order(commands_fd)
    return store or join_store(order["address"], order["port"], task.deadline_s + _SLACK_S)


def read_order(fd: int) -> dict[str, Any]:
    """The one line the agent passes on; EOFError when it is gone before."""
    data = b""
    while not data.endswith(b"\n"):
        chunk = os.read(fd, 4096)
        if not chunk:
            raise EOFError("the agent closed the pipe before it said where the store is")
        data += chunk
    order: dict[str, Any] = json.loads(data)
    return order


def device_of(task: Task) -> Any:
    """The CPU for gloo; else this rank's GPU, made current, with a stream of its own."""
    import torch

    if task.backend == "gloo":
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if count == 0:
        raise RuntimeError("torch sees no CUDA device in the rank process")
    device = torch.device("cuda", task.local_rank % count)
    torch.cuda.set_device(device)
    # never the default stream: a graph can't be captured on it, and calls warmed elsewhere would be warmed in vain
    torch.cuda.set_stream(torch.cuda.Stream())
    return device


def init_group(task: Task, store: Any, device: Any) -> None:
    """torch's default group over all ranks of the launch."""
    import torch.distributed as dist

    dist.init_process_group(
        task.backend,
        store=dist.PrefixStore(f"launch/{task.number}", store),
        rank=task.rank,
        world_size=task.world,
        timeout=timedelta(seconds=task.deadline_s + _SLACK_S),
        device_id=device if task.backend == "nccl" else None,
    )


def connect(device: Any) -> None:
    """The first all-reduce: connections are made lazily, so this is where an unreachable peer shows."""
    import torch
    import torch.distributed as dist

    warm = torch.ones(1, device=device)
    dist.all_reduce(warm)
    if warm.item() != dist.get_world_size():
        raise ArithmeticError(f"the first all-reduce of ones over {dist.get_world_size()} ranks gave {warm.item()}")
