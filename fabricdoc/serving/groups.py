"""Which ranks talk to each other, whether a group of them spans nodes, and what carries its messages.

Ranks are numbered as the engines do it: TP fastest, then PP, then DP, and nodes are filled one after another.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.model.profile import Bypass
from fabricdoc.serving.served import Served

CUSTOM_AR_RANKS = (2, 4, 6, 8, 16)
CUSTOM_AR_BYTES = 8 << 20
"""vLLM 0.33 custom_all_reduce: these group sizes, one node, messages below the buffer; other engines alike."""
ROCENANTE_AR_BYTES, ROCENANTE_AG_BYTES = 2 << 20, 16 << 20
"""RoCEnante (b12x.comm.roce, VLLM_ENABLE_ROCE_ALLREDUCE=1): the largest messages it takes over."""
SYMM_MEM_RANKS = 4
"""vLLM 0.33 uses NCCL's symmetric memory from this many ranks on."""


def size_of(group: str, served: Served) -> int:
    """Ranks of one group."""
    return {"tp": served.tp, "pp": served.pp, "dp": served.dp, "ep": served.tp * served.dp}[group]


def spans_nodes(group: str, served: Served) -> bool:
    """Whether any group of that kind has ranks on two nodes: its first and its last rank tell."""
    per_node = served.gpus_per_node
    return any(first // per_node != last // per_node for first, last in _ends(group, served))


def _ends(group: str, served: Served) -> Iterator[tuple[int, int]]:
    """First and last rank of every group. An EP group is a stage's ranks in all replicas."""
    stage, replica = served.tp, served.tp * served.pp
    if group == "ep":
        for first in range(0, replica, stage):
            yield first, first + (served.dp - 1) * replica + served.tp - 1
        return
    stride = {"tp": 1, "pp": stage, "dp": replica}[group]
    size = size_of(group, served)
    for first in range(served.ranks):
        if first // stride % size == 0:
            yield first, first + stride * (size - 1)


def bypass_of(op: str, size: int, group: str, served: Served) -> Bypass:
    """What carries one message of that group instead of NCCL's own kernels."""
    if group == "ep" and served.deepep:
        return "nvshmem"
    if spans_nodes(group, served):
        taken = {"all_reduce": ROCENANTE_AR_BYTES, "all_gather": ROCENANTE_AG_BYTES}.get(op, 0)
        return "rocenante" if served.rocenante and size <= taken else "none"
    ranks = size_of(group, served)
    if op != "all_reduce" or group != "tp":
        return "none"
    if served.symm_mem and ranks >= SYMM_MEM_RANKS:
        return "symm_mem"
    return "custom_ar" if served.custom_ar and ranks in CUSTOM_AR_RANKS and size < CUSTOM_AR_BYTES else "none"
