"""The calls in a captured NCCL log: one line of NCCL_DEBUG_SUBSYS=COLL for each collective that was enqueued.

The line is written when a call is enqueued (NCCL enqueue.cc, ncclEnqueueCheck; 2.18 to 2.32 alike, `acc` since 2.27
in RCCL), so a call inside a CUDA graph is there once, at capture. Reads lines; judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fabricdoc.errors import InputError
from fabricdoc.model.profile import CollectiveDtype
from fabricdoc.model.run import Op

LINE = re.compile(
    r"(?P<host>[^\s:]{1,255}):(?P<pid>\d{1,10}):\d{1,10} \[-?\d{1,4}\] NCCL INFO "
    r"(?P<func>\w{4,20}): opCount [0-9a-f]{1,16} sendbuff \S+ recvbuff \S+ (?:acc \S+ )?count (?P<count>\d{1,15}) "
    r"datatype (?P<type>\d{1,2}) op \d{1,10} root -?\d{1,10} comm (?P<comm>0x[0-9a-f]{1,16}) "
    r"\[nranks=(?P<ranks>\d{1,6})\]",
    re.ASCII,
)
SHAPE = re.compile(
    r":(?P<pid>\d{1,10}):\d{1,10} \[.{0,200}comm (?P<comm>0x[0-9a-f]{1,16}) rank \d+ nRanks \d+ "
    r"nNodes (?P<nodes>\d{1,6})",
    re.ASCII,
)
"""nccl_facts' comm.shape: on how many nodes a communicator's ranks sit (needs INIT)."""
OPS: dict[str, Op] = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
    "Bcast": "broadcast",
    "AlltoAll": "all_to_all",
    "AllToAll": "all_to_all",
    "Send": "send_recv",
    "Recv": "send_recv",
}
WHOLE = ("all_gather", "reduce_scatter", "all_to_all")
"""Ops whose `count` is one rank's share: the size nccl-tests means is that times the ranks."""
TYPES: dict[int, tuple[CollectiveDtype, int]] = {
    0: ("int8", 1), 1: ("int8", 1), 2: ("int32", 4), 3: ("int32", 4), 4: ("int32", 8), 5: ("int32", 8),
    6: ("float16", 2), 7: ("float32", 4), 8: ("float32", 8), 9: ("bfloat16", 2), 10: ("int8", 1), 11: ("int8", 1),
}  # fmt: skip
"""ncclDataType_t: the dtype it is told as, and the bytes of an element (unsigned, 64 bit and FP8 by their bytes)."""
MAX_LINE, MOST_CALLS, MOST_PROCESSES, MOST_FILES, MOST_SHAPES = 4096, 2_000_000, 4096, 1024, 10_000


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of call: `size` and `send_bytes` as a profile means them, `spans_nodes` None where the log is silent.

    `received` is the other end of a send_recv.
    """

    op: Op
    size: int
    send_bytes: int
    dtype: CollectiveDtype
    ranks: int
    spans_nodes: bool | None
    received: bool = False


@dataclass(slots=True)
class Calls:
    """The calls of each process (host and pid) in their order, and what was left out."""

    of: dict[tuple[str, str], list[Shape]] = field(default_factory=dict)
    other_ops: int = 0
    lone: int = 0
    cut: bool = False

    @property
    def hosts(self) -> set[str]:
        """The machines that wrote."""
        return {host for host, _ in self.of}


def read_calls(paths: Iterable[Path]) -> Calls:
    """The calls in these logs, or in a folder's files. InputError for what can't be read or holds none."""
    calls = Calls()
    files = [file for path in paths for file in _files(path)]
    for file in files:
        add_lines(calls, _lines(file))
    if not any(calls.of.values()):
        raise InputError(
            f"no collective call in {files[0] if files else 'nothing'}"
            + (f" and {len(files) - 1} more" if len(files) > 1 else ""),
            fix="start the server with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL and one captured batch",
            id="no-collectives",
        )
    return calls


def add_lines(calls: Calls, lines: Iterable[str]) -> None:
    """Add the calls in these lines; everything else in them is passed over."""
    known: dict[tuple[str, ...], Shape] = {}
    nodes: dict[tuple[str, str], bool] = {}
    total = sum(map(len, calls.of.values()))
    for line in lines:
        if " nNodes " in line and (match := SHAPE.search(line)):
            nodes[match["pid"], match["comm"]] = int(match["nodes"]) > 1
        if ": opCount " not in line or (found := LINE.search(line)) is None:
            continue
        shape = _shape(calls, found, known, nodes.get((found["pid"], found["comm"])))
        process = (found["host"], found["pid"])
        if shape is None or (process not in calls.of and len(calls.of) >= MOST_PROCESSES):
            continue
        if total >= MOST_CALLS:
            calls.cut = True
            return
        calls.of.setdefault(process, []).append(shape)
        total += 1


def _shape(calls: Calls, found: re.Match[str], known: dict[tuple[str, ...], Shape], spans: bool | None) -> Shape | None:
    op, dtype, ranks = OPS.get(found["func"]), TYPES.get(int(found["type"])), int(found["ranks"])
    if op is None or dtype is None or int(found["count"]) == 0:
        calls.other_ops += 1
        return None
    if ranks < 2:
        calls.lone += 1
        return None
    key = (found["func"], found["count"], found["type"], found["ranks"], str(spans))
    if key not in known and len(known) < MOST_SHAPES:
        share = int(found["count"]) * dtype[1]
        size = share * ranks if op in WHOLE else share
        known[key] = Shape(
            op, size, share if op == "all_gather" else size, dtype[0], ranks, spans, found["func"] == "Recv"
        )
    return known.get(key)


def _files(path: Path) -> list[Path]:
    try:
        if path.is_dir():
            return sorted(one for one in path.iterdir() if one.is_file())[:MOST_FILES]
    except OSError as error:
        raise InputError(f"log {path} can't be read: {error.strerror}", fix="check the path") from error
    return [path]


def _lines(path: Path) -> Iterator[str]:
    """The lines of a regular file, each cut; a pipe or device is refused (its end may never come)."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"log {path} is a pipe or a device, not a file", fix="write it to a file first")
        with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
            while line := stream.readline(MAX_LINE):
                yield line
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"log {path} can't be read: {reason}", fix="check the path") from error
