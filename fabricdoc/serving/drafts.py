"""What one pass of a drafter sends: by model_type for MTP layers, EAGLE heads by their general form.

The table is vLLM 0.33's models (deepseek_mtp, glm4_moe_mtp, qwen3_next_mtp, qwen4_exp/nvidia/mtp): the count of a pass
follows from no config field, only from the code.
"""

from __future__ import annotations

from dataclasses import replace

from fabricdoc.model.profile import CollectiveDtype
from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.parts import Part, padded_vocabulary
from fabricdoc.serving.served import Served

REPLICATED = ("deepseek_v3", "deepseek_v32", "glm_moe_dsa", "glm4_moe")
"""MTP whose eh_proj is replicated: 4 a pass (deepseek_mtp and glm4_moe_mtp). Other MTP is assumed to be like it."""
GATHERED = ("qwen3_next", "qwen3_5", "qwen3_5_moe")
"""MTP whose fc (2h to h) is column-parallel and gathered: 5 a pass."""
TWO_GATHERED = ("qwen4_exp", "qwen4_exp_moe", "qwen3_8_flash_next")
"""MTP with a gathered fc for the embedding and one for the hc_count residual streams: 6 a pass."""
KNOWN = (*REPLICATED, *GATHERED, *TWO_GATHERED)


def draft_kind(served: Served, config: ModelConfig) -> str:
    """mtp, eagle, or none: as asked, else what the model has. Without speculated tokens there is none."""
    if not served.spec_tokens:
        return "none"
    if served.draft != "auto":
        return served.draft
    return "mtp" if config.mtp_layers or config.model_type in KNOWN else "eagle"


def draft_parts(served: Served, config: ModelConfig) -> list[Part]:
    """The parts of one pass, in its order; empty for ngram, suffix and other drafting that has no model."""
    kind = draft_kind(served, config)
    if kind == "none":
        return []
    mlp = "MoE" if kind == "mtp" and config.experts else "MLP"
    assumed = kind == "eagle" or config.model_type not in KNOWN
    parts = [
        Part("draft embedding", 1, config.hidden, config.dtype, place="draft"),
        *(_gathered(config) if kind == "mtp" else []),
        Part("draft attention", 1, config.hidden, config.dtype, place="draft"),
        Part(f"draft {mlp}", 1, config.hidden, config.dtype, place="draft"),
        draft_logits(served, config),
    ]
    return [replace(part, assumed=assumed) for part in parts]


def draft_logits(served: Served, config: ModelConfig) -> Part:
    """The gathered logits of the drafter; with a local argmax two float32 a row of each rank instead."""
    one = Part("draft logits", 1, 0, config.dtype, op="all_gather", per="logits", place="draft logits")
    if served.local_argmax:
        return replace(one, role="draft argmax", width=2 * served.tp, dtype="float32")
    return replace(one, width=padded_vocabulary(config.vocabulary), dtype=head_dtype(served, config))


def head_dtype(served: Served, config: ModelConfig) -> CollectiveDtype:
    """The type of gathered logits: the activations' unless a float32 head is asked for, by option or by config."""
    return "float32" if served.float32_head or config.value("head_dtype") == "float32" else config.dtype


def _gathered(config: ModelConfig) -> list[Part]:
    def gather(role: str, width: int) -> Part:
        return Part(role, 1, width, config.dtype, op="all_gather", place="draft")

    if config.model_type in GATHERED:
        return [gather("draft fc", config.hidden)]
    if config.model_type in TWO_GATHERED:
        streams = config.number("hc_count", default=1) or 1
        return [gather("draft fc_embedding", config.hidden), gather("draft fc_hidden", streams * config.hidden)]
    return []
