"""MiniMax-M2: q and k are normalised over their full width, so every attention layer sums two variances over ranks."""

from __future__ import annotations

from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.families import moe
from fabricdoc.serving.layers import ATTENTION, mixers
from fabricdoc.serving.parts import Part

NAME = "MiniMax-M2"
TYPES = ("minimax_m2",)
VARIANCES = 2
"""Numbers a row: q's and k's, in one message of float32 (vLLM minimax_m2, forward_qk of its RMSNorm)."""


def layers(config: ModelConfig, tp: int) -> list[Part]:
    """A normal MoE decoder's, and the small one of each attention layer."""
    count = mixers(config).count(ATTENTION)
    return [Part("q and k norm variance", count, VARIANCES, "float32"), *moe.layers(config, tp)]


def note(_config: ModelConfig) -> str:
    """Nothing to say."""
    return ""
