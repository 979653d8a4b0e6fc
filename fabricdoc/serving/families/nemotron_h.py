"""Nemotron-H: every layer is one block (Mamba-2, attention, MLP or MoE), so one all-reduce a layer."""

from __future__ import annotations

from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.families import mamba, moe
from fabricdoc.serving.layers import MAMBA, blocks
from fabricdoc.serving.parts import Part

NAME = "one block a layer"
TYPES = ("nemotron_h",)


def layers(config: ModelConfig, tp: int) -> list[Part]:
    """One row-parallel projection a block, and the norms of its Mamba blocks."""
    kinds = blocks(config)
    sums = [moe.row_parallel(config, kind, kinds.count(kind)) for kind in moe.ROLES if kind in kinds]
    return [*mamba.norm(config, tp, kinds.count(MAMBA)), *sums]


def note(config: ModelConfig) -> str:
    """What a latent MoE may add."""
    if not config.number("moe_latent_size"):
        return ""
    return "a latent MoE whose output projection is quantised may need two all-reduces; counted as one"
