"""The profile document: which collectives one decode step and one prefill chunk of a served model send.

`size` is nccl-tests' meaning (all_reduce: the message; all_gather: the total output); `send_bytes` is what
one rank sends into the call. Both in bytes.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import Document, Frozen
from fabricdoc.model.run import Op


class Collective(Frozen):
    """`count` calls of one op and size in one stage."""

    role: str
    op: Op
    count: int
    size: int
    send_bytes: int
    dtype: Literal["bfloat16", "float32", "int8"] = "bfloat16"
    in_graph: bool = True
    group: Literal["tp", "ep", "pp", "dp"] = "tp"
    spans_nodes: bool = True
    bypass: Literal["none", "custom_ar", "rocenante", "nvshmem"] = "none"
    confidence: Literal["traced", "derived", "assumed"] = "derived"


class Totals(Frozen):
    """Sums over a stage; `*_bytes` is the sum of count x size."""

    collectives: int
    all_reduce: int
    all_gather: int
    all_reduce_bytes: int
    all_gather_bytes: int


class Stage(Frozen):
    """One decode step or one prefill chunk of `rows` tokens."""

    rows: int
    collectives: tuple[Collective, ...] = ()
    totals: Totals


class Profile(Document):
    """A served model's traffic, with the source of its counts; `engine` is the server it is of, empty where any."""

    kind: ClassVar[str] = "profile"

    name: str
    summary: str
    source: str
    engine: Literal["", "vllm", "sglang", "trtllm"] = ""
    decode: Stage
    prefill: Stage
