"""Over what a launch's bytes went, as the library's log shows it: HCAs with their speed, and channels one by one."""

from __future__ import annotations

from typing import Literal

from fabricdoc.model.documents import Fact, Frozen


class HcaSeen(Frozen):
    """An HCA port that a rank's NCCL listed after its filter; `used` when a channel of the rank runs over it.

    `gbps` is the port's speed in Gbit/s as NCCL read it (NET lines, 2.20 and later). `gpu_direct` is the NIC's half of
    the decision: whether GPU memory could be registered with it at all.
    """

    rank: int
    name: str
    port: int
    gbps: Fact[float]
    used: bool
    gpu_direct: Fact[bool]


class ChannelPath(Frozen):
    """One channel of a rank to a peer: the network and the HCAs or netdevs it runs over (none within a node).

    `memory` is where the NIC reads and writes: the GPU's memory (GPUDirect; with DMA-BUF where the log says so) or a
    buffer in the host's. `connection` is collective or point-to-point (send and receive of their own).
    """

    rank: int
    channel: int
    peer: int
    direction: Literal["send", "receive"]
    connection: Literal["collective", "point-to-point"]
    network: str
    over: tuple[str, ...] = ()
    memory: Literal["gpu-direct", "gpu-direct-dmabuf", "host-staged"]
