"""Qwen4-exp, served in 2026 images as Qwen3.8-Flash-Next: GDN and attention, a MoE in each layer, an n-gram table.

The n-gram (PLE) embedding of a layer is vocabulary-sharded and its FP8 rows are summed as int8 (vLLM 0.33
models/qwen4_exp/nvidia/ple_layer.py, common/ngram_embedding.py; SGLang does the same).
"""

from __future__ import annotations

from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.families import moe
from fabricdoc.serving.parts import Part

NAME = "Qwen4-exp"
TYPES = ("qwen4_exp", "qwen4_exp_moe", "qwen3_8_flash_next")


def layers(config: ModelConfig, tp: int) -> list[Part]:
    """A normal decoder's, and the n-gram embeddings."""
    count = len(config.listed("ple_layer_ids") or [])
    width = config.number("ple_embed_dim") or config.hidden
    return [
        *([Part("n-gram embedding (PLE)", count, width, "int8", place="ngram")] if count else []),
        *moe.layers(config, tp),
    ]


def note(config: ModelConfig) -> str:
    """What a launch may do otherwise."""
    if not config.listed("ple_layer_ids"):
        return ""
    return "with the n-gram (PLE) table replicated or offloaded its all-reduce is not sent"
