"""What parallel groups beside TP add to a pass: pipeline boundaries, and experts reached over several replicas.

vLLM 0.33's default backend for experts over data-parallel replicas is counted (grouped all-gather of hidden rows,
router weights and ids, then a reduce-scatter); with unequal replicas NCCL sees broadcasts and reduces of the same
bytes, so these numbers are assumed. SGLang's MAX_LEN mode sends the same kinds.
"""

from __future__ import annotations

from dataclasses import replace

from fabricdoc.model.profile import Group
from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.families.moe import ROLES
from fabricdoc.serving.layers import MOE
from fabricdoc.serving.parts import Part
from fabricdoc.serving.served import Served

BOUNDARY_TENSORS = 2
"""Hidden states and the residual (vLLM and SGLang send both)."""


def with_expert_exchange(parts: list[Part], config: ModelConfig, served: Served) -> list[Part]:
    """The parts with every MoE's sum replaced where replicas share experts; as they are with DP 1 or no experts."""
    if served.dp == 1:
        return parts
    return [piece for part in parts for piece in (_exchange(part, config, served) if _is_moe(part) else [part])]


def boundary_parts(config: ModelConfig, served: Served) -> list[Part]:
    """What passes between pipeline stages: a slice of each tensor a TP rank, gathered behind; then the sampled ids."""
    crossings = served.pp - 1
    if not crossings:
        return []
    tensors = crossings * BOUNDARY_TENSORS
    slices = replace(_send(config, tensors), width=-(-config.hidden // served.tp))
    gathered = Part("pipeline boundary, gathered", tensors, config.hidden, config.dtype, op="all_gather")
    ids = Part(
        "sampled ids", 1, 2, "int32", op="broadcast", per="logits", place="sampler", group="pp", assumed=True
    )  # int64 a row
    return [slices, gathered, ids]


def _send(config: ModelConfig, count: int) -> Part:
    return Part("pipeline boundary", count, config.hidden, config.dtype, op="send_recv", group="pp")


def _is_moe(part: Part) -> bool:
    return part.role == ROLES[MOE]


def _exchange(part: Part, config: ModelConfig, served: Served) -> list[Part]:
    """A MoE of one layer after another over DP replicas; sequence-parallel where EP and TP meet."""
    sequence = bool(served.ep) and served.tp > 1 and served.engine == "vllm"
    group: Group = "ep" if sequence else "dp"
    wide = config.hidden * served.dp
    top_k = config.number("num_experts_per_tok", "experts_per_token", "num_experts_per_token", default=1) * served.dp
    made = [
        replace(part, role="MoE dispatch, hidden", width=wide, op="all_gather", group=group, assumed=True),
        replace(part, role="MoE dispatch, router weights", width=top_k, dtype="float32", op="all_gather",
                group=group, assumed=True),
        replace(part, role="MoE dispatch, expert ids", width=top_k, dtype="int32", op="all_gather",
                group=group, assumed=True),
        replace(part, role="MoE combine", width=wide, op="reduce_scatter", group=group, assumed=True),
    ]  # fmt: skip
    if sequence:
        return [*made, replace(part, role="MoE output, gathered", op="all_gather", assumed=True)]
    return [*made, part]
