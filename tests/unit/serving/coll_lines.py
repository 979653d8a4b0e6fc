"""COLL log lines as NCCL's enqueue.cc writes them, made from a profile's stages."""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.model.profile import Collective, Stage

FUNCTIONS = {
    "all_reduce": "AllReduce", "all_gather": "AllGather", "reduce_scatter": "ReduceScatter", "broadcast": "Broadcast",
    "send_recv": "Send",
}  # fmt: skip
TYPES = {"bfloat16": (9, 2), "float16": (6, 2), "float32": (7, 4), "int8": (0, 1), "int32": (2, 4)}


def line(func: str, count: int, kind: int, *, ranks: int = 2, host: str = "a", pid: int = 7, acc: str = "") -> str:
    """One line of one rank."""
    return (
        f"{host}:{pid}:{pid} [0] NCCL INFO {func}: opCount 1f sendbuff 0x7f00 recvbuff (nil) {acc}count {count} "
        f"datatype {kind} op 0 root 0 comm 0x55aa [nranks={ranks}] stream 0x1\n"
    )


def lines_of(one: Collective, *, ranks: int = 2, host: str = "a", pid: int = 7) -> str:
    """The lines of one entry of a profile."""
    kind, item = TYPES[one.dtype]
    share = one.send_bytes if one.op != "reduce_scatter" else one.send_bytes // ranks
    return line(FUNCTIONS[one.op], share // item, kind, ranks=ranks, host=host, pid=pid) * one.count


def stage_lines(stage: Stage, *, graph: int = 1, eager: int = 1, **place: object) -> Iterator[str]:
    """The lines of a stage, its graph calls `graph` times and its eager ones `eager` times."""
    for one in stage.collectives:
        yield lines_of(one, **place) * (graph if one.in_graph else eager)  # type: ignore[arg-type]
