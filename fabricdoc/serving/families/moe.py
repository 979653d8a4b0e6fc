"""Mixture of experts, and the plain decoder layer: the mixer's projection, then the MLP or the MoE's one late sum.

With DP 1 experts cost one all-reduce of the hidden width whatever top-k is, with tensor or with expert parallelism:
shared and routed outputs are added first (vLLM 0.33 fused_moe; SGLang, TensorRT-LLM alike).
"""

from __future__ import annotations

from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.layers import ATTENTION, DENSE, LINEAR, MAMBA, MOE, OTHER, feed_forwards, mixers
from fabricdoc.serving.parts import Part

NAME = "mixture of experts"
TYPES = (
    "mixtral",
    "qwen2_moe",
    "qwen3_moe",
    "qwen3_vl_moe",
    "granitemoe",
    "glm4_moe",
    "glm4v_moe",
    "llama4",
    "hy_v3",
    "cohere2_moe",
    "phimoe",
)

ROLES = {
    ATTENTION: "attention output projection",
    LINEAR: "GDN output projection",
    MAMBA: "Mamba output projection",
    OTHER: "token mixer output projection",
    DENSE: "MLP down projection",
    MOE: "MoE combine",
}


def layers(config: ModelConfig, _tp: int) -> list[Part]:
    """The parts of all layers, by kind."""
    kinds = (*mixers(config), *feed_forwards(config))
    return [row_parallel(config, kind, kinds.count(kind)) for kind in ROLES if kind in kinds]


def row_parallel(config: ModelConfig, kind: str, count: int) -> Part:
    """`count` row-parallel projections back to the hidden width: an all-reduce each."""
    return Part(ROLES[kind], count, config.hidden, config.dtype, assumed=kind == OTHER)


def note(_config: ModelConfig) -> str:
    """Nothing to say."""
    return ""
