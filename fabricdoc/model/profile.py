"""The profile document: which collectives one decode step and one prefill chunk of a served model send.

`size` is nccl-tests' meaning (all_reduce: the message; all_gather: the total output; reduce_scatter: the whole input
of one rank; send_recv, broadcast: the message); `send_bytes` is what one rank sends into the call. Both in bytes.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import Document, Frozen
from fabricdoc.model.run import Op

CollectiveDtype = Literal["bfloat16", "float16", "float32", "int8", "int32"]
Group = Literal["tp", "ep", "pp", "dp"]
Bypass = Literal["none", "custom_ar", "symm_mem", "rocenante", "nvshmem"]
Confidence = Literal["traced", "derived", "assumed"]


class Collective(Frozen):
    """`count` calls of one op and size in one stage.

    `bypass` is what carries it instead of NCCL between nodes: then no NCCL variable changes it.
    """

    role: str
    op: Op
    count: int
    size: int
    send_bytes: int
    dtype: CollectiveDtype = "bfloat16"
    in_graph: bool = True
    group: Group = "tp"
    spans_nodes: bool = True
    bypass: Bypass = "none"
    confidence: Confidence = "derived"


class Totals(Frozen):
    """Sums over a stage; `*_bytes` is the sum of count x size, `collectives` counts calls of every op."""

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


class Captured(Stage):
    """The decode step of one batch the server captured as a graph: `batch` requests, padded to it."""

    batch: int


class StepTime(Frozen):
    """What the user knows of a decode step: its time without communication, and the tokens it gives.

    Communication is serial with the rest, so a step takes `compute_ms` + communication.
    """

    compute_ms: float
    tokens: float = 1.0

    def share(self, communication_ms: float) -> float:
        """Communication's part of the step, 0 to 1."""
        return communication_ms / (self.compute_ms + communication_ms)

    def tokens_per_s(self, communication_ms: float) -> float:
        """Tokens a second of all requests together."""
        return 1000.0 * self.tokens / (self.compute_ms + communication_ms)

    def gain(self, base_ms: float, other_ms: float) -> float:
        """What a change of communication from base to other does to tokens a second: 0.03 is 3 % more."""
        return (self.compute_ms + base_ms) / (self.compute_ms + other_ms) - 1.0

    def ceiling(self, communication_ms: float) -> float:
        """The gain if communication took no time at all: no setting can do better."""
        return communication_ms / self.compute_ms

    def ceiling_text(self, communication_ms: float) -> str:
        """The ceiling in words, the same wherever a verdict speaks of it."""
        whole = self.compute_ms + communication_ms
        share, ceiling = 100 * self.share(communication_ms), 100 * self.ceiling(communication_ms)
        return (
            f"communication is {share:.1f} % of the step ({communication_ms:.3g} of {whole:.3g} ms), "
            f"so at most {ceiling:.1f} % more tokens a second"
        )


class Profile(Document):
    """A served model's traffic, with the source of its counts; `engine` is the server it is of, empty where any.

    `decode` is the step of `batch` requests; `captured` the steps of every batch the server captures, so that a
    verdict can ask all of them. `notes` say what was assumed, padded or left out. `step` is known only when given.
    """

    kind: ClassVar[str] = "profile"

    name: str
    summary: str
    source: str
    engine: Literal["", "vllm", "sglang", "trtllm"] = ""
    batch: int = 1
    decode: Stage
    prefill: Stage
    captured: tuple[Captured, ...] = ()
    step: StepTime | None = None
    notes: tuple[str, ...] = ()
