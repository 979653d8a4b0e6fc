"""Multi-head latent attention: q_a and kv_a are replicated, only o_proj is reduced, so the count is a normal decoder's.

The first layers have a dense MLP instead of a MoE (first_k_dense_replace): the same all-reduce under another name.
"""

from __future__ import annotations

from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.families.moe import layers as layers

NAME = "multi-head latent attention"
TYPES = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "kimi_k25", "glm4_moe_lite", "glm_moe_dsa")


def note(_config: ModelConfig) -> str:
    """Nothing to say."""
    return ""
