"""How the ranks of a launch find each other and step together: one TCPStore, held by rank 0's worker.

The store carries torch's own rendezvous, barriers between shapes, and a farewell that keeps everybody alive until all
are done, and rank 0 until everybody has read its last answer. It chooses no address: the controller says where the
store is.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any


def open_store(deadline_s: float) -> Any:
    """Rank 0's store on all addresses, at a port the kernel chose (`.port`); waits for nobody."""
    import torch.distributed as dist

    return dist.TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=deadline_s), wait_for_workers=False)


def join_store(address: str, port: int, deadline_s: float) -> Any:
    """Another rank's connection to rank 0's store; RuntimeError when nothing answers until the deadline."""
    import torch.distributed as dist

    return dist.TCPStore(address, port, None, False, timedelta(seconds=deadline_s), wait_for_workers=False)


class Steps:
    """Barriers over the store: every rank calls the same methods in the same order."""

    def __init__(self, store: Any, rank: int, world: int) -> None:
        import torch.distributed as dist

        self._store = dist.PrefixStore("steps", store)
        self._rank = rank
        self._world = world
        self._count = 0

    def barrier(self) -> None:
        """Return once all ranks are here; an error of the store when its deadline passes."""
        self._count += 1
        arrived, opened = f"arrived/{self._count}", f"opened/{self._count}"
        if self._store.add(arrived, 1) == self._world:
            self._store.set(opened, "1")
        self._store.wait([opened])

    def agree(self, number: int) -> int:
        """Rank 0's number, told to all: what each rank would else decide for itself by its own clock."""
        self._count += 1
        key = f"agreed/{self._count}"
        if self._rank == 0:
            self._store.set(key, str(int(number)))
            return int(number)
        return int(self._store.get(key))

    def share(self, name: str, data: bytes) -> bytes:
        """Rank 0's bytes, told to all (what others give is not used)."""
        if self._rank == 0:
            self._store.set(name, data.hex())
            return data
        return bytes.fromhex(self._store.get(name).decode())

    def farewell(self) -> None:
        """The last step: nobody leaves before all have what they wait for, and rank 0 (its process is the store) last.

        A rank whose own call is over may still owe its last bytes to another: NCCL's kernel ends once they lie in a
        buffer, and its proxy thread, or the peer that reads this GPU's memory, needs the process a little longer.
        """
        self.barrier()
        if self._rank == 0:
            if self._world > 1:
                self._store.wait(["left"])
        elif self._store.add("leaving", 1) == self._world - 1:
            self._store.set("left", "1")
