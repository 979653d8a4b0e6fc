"""Mamba hybrids of two blocks a layer, and Falcon-H1, whose layers run attention and Mamba beside each other.

A Mamba-2 mixer has a gated norm over groups: one group over several ranks is a tiny float32 all-reduce a layer, groups
that ranks do not divide evenly are an all-gather of the whole width, else nothing (vLLM mamba_mixer2).
"""

from __future__ import annotations

from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.families import moe
from fabricdoc.serving.layers import ATTENTION, DENSE, MAMBA, mixers
from fabricdoc.serving.parts import Part

NAME = "Mamba hybrid"
TYPES = ("bamba", "granitemoehybrid", "jamba", "falcon_h1", "mamba2")
WIDTHS = ("mamba_d_ssm", "mamba_intermediate_size")
DEFAULT_GROUPS = {"mamba2": 8, "nemotron_h": 8}
"""Groups where the config has none (transformers 5.24); 1 for the others."""


def layers(config: ModelConfig, tp: int) -> list[Part]:
    """The parts of all layers, the norms of Mamba mixers first."""
    if config.model_type == "falcon_h1":
        norms = norm(config, tp, config.layers) if config.value("mamba_rms_norm") is True else []
        kinds = (ATTENTION, MAMBA, DENSE)
        return [*norms, *(moe.row_parallel(config, kind, config.layers) for kind in kinds)]
    if config.model_type == "mamba2":  # one block a layer
        return [*norm(config, tp, config.layers), moe.row_parallel(config, MAMBA, config.layers)]
    norms = [] if config.model_type == "jamba" else norm(config, tp, mixers(config).count(MAMBA))
    return [*norms, *moe.layers(config, tp)]


def norm(config: ModelConfig, tp: int, count: int) -> list[Part]:
    """What the gated norms of `count` Mamba-2 mixers send."""
    groups = config.number("mamba_n_groups", "n_groups", default=DEFAULT_GROUPS.get(config.model_type, 1)) or 1
    if tp == 1 or not count or (groups > 1 and groups % tp == 0):
        return []
    if groups == 1:
        return [Part("Mamba norm variance", count, 1, "float32")]
    return [Part("Mamba norm input", count, inner_width(config), "float32", op="all_gather")]


def inner_width(config: ModelConfig) -> int:
    """The width inside a Mamba mixer, in elements."""
    by_heads = config.number("mamba_n_heads", "mamba_num_heads", "num_heads") * config.number(
        "mamba_d_head", "mamba_head_dim", "head_dim"
    )
    expand = config.number("mamba_expand", "expand", default=2)
    return config.number(*WIDTHS) or by_heads or expand * config.hidden


def note(config: ModelConfig) -> str:
    """What Jamba's older mixer may add."""
    if config.model_type != "jamba":
        return ""
    return (
        "Jamba's Mamba-1 mixers are counted with one all-reduce each; vLLM's mamba_mixer also has a row-parallel "
        "x_proj, which adds a small one a Mamba layer: a COLL trace tells"
    )
