"""Hybrids of attention with gated delta nets or KDA: convolution and gates are local, the out_proj is reduced."""

from __future__ import annotations

from dataclasses import replace

from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.families import moe
from fabricdoc.serving.parts import Part

NAME = "linear-attention hybrid"
TYPES = ("qwen3_next", "qwen3_5", "qwen3_5_moe", "kimi_linear")


def layers(config: ModelConfig, tp: int) -> list[Part]:
    """A normal decoder's, the mixer named by its kind."""
    kda = config.model_type == "kimi_linear"
    parts = moe.layers(config, tp)
    return [replace(part, role=part.role.replace("GDN", "KDA")) for part in parts] if kda else parts


def note(_config: ModelConfig) -> str:
    """Nothing to say."""
    return ""
