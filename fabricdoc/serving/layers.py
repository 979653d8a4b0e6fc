"""Which layer is what: the kind of every layer's token mixer, and whether its feed-forward is a MoE.

Reads the fields each generation of configs uses for it (transformers 5.24 configuration classes); counts nothing.
"""

from __future__ import annotations

from typing import Any

from fabricdoc.errors import InputError
from fabricdoc.serving.config import FIX, ModelConfig

ATTENTION, LINEAR, MAMBA, OTHER, DENSE, MOE = "attention", "linear", "mamba", "other", "dense", "moe"

MIXERS = {
    "full_attention": ATTENTION,
    "sliding_attention": ATTENTION,
    "chunked_attention": ATTENTION,
    "attention": ATTENTION,
    "qwen_sparse_attention": ATTENTION,
    "indexed_attention": ATTENTION,
    "sparse_attention": ATTENTION,
    "deepseek_sparse_attention": ATTENTION,
    "linear_attention": LINEAR,
    "mamba": MAMBA,
    "mamba2": MAMBA,
}
"""Names in layer_types (and in layers_block_type) by what ends the layer's mixer: a row-parallel projection each."""

FEED_FORWARDS = {"dense": DENSE, "mlp": DENSE, "sparse": MOE, "moe": MOE}
BLOCKS = {"M": MAMBA, "*": ATTENTION, "-": DENSE, "E": MOE}
"""Nemotron-H's hybrid_override_pattern, a letter a layer."""


def mixers(config: ModelConfig) -> tuple[str, ...]:
    """The mixer of each layer: attention, linear, mamba, or other for a kind that has no name here.

    InputError where the config contradicts itself.
    """
    listed = config.listed("layer_types")
    if listed is not None:
        new = {name: OTHER for name in listed if isinstance(name, str) and name not in MIXERS}
        return _named(config, "layer_types", listed, MIXERS | new)
    layers = range(config.layers)
    kimi = config.value("linear_attn_config")
    if isinstance(kimi, dict) and isinstance(kimi.get("kda_layers"), list):
        linear = {number for number in kimi["kda_layers"] if isinstance(number, int)}  # counted from 1
        return tuple(LINEAR if i + 1 in linear else ATTENTION for i in layers)
    if every := config.number("full_attention_interval"):
        return tuple(ATTENTION if (i + 1) % every == 0 else LINEAR for i in layers)
    if every := config.number("attn_layer_period"):
        offset = config.number("attn_layer_offset")
        return tuple(ATTENTION if i % every == offset else MAMBA for i in layers)
    indices = config.listed("attn_layer_indices")
    if indices is not None:
        return tuple(ATTENTION if i in indices else MAMBA for i in layers)
    return (ATTENTION,) * config.layers


def feed_forwards(config: ModelConfig) -> tuple[str, ...]:
    """The feed-forward of each layer: dense or moe."""
    if not config.experts:
        return (DENSE,) * config.layers
    listed = config.listed("mlp_layer_types")
    if listed is not None:
        return _named(config, "mlp_layer_types", listed, FEED_FORWARDS)
    return tuple(MOE if _is_moe(config, i) else DENSE for i in range(config.layers))


def blocks(config: ModelConfig) -> tuple[str, ...]:
    """What each layer is in a model whose layers are one block each. InputError where it does not say."""
    listed = config.listed("layers_block_type")
    if listed is not None:
        return _named(config, "layers_block_type", listed, MIXERS | FEED_FORWARDS)
    pattern = config.value("hybrid_override_pattern")
    if not isinstance(pattern, str) or not pattern:
        raise InputError(f"{config.where} has no layers_block_type and no hybrid_override_pattern", fix=FIX)
    return _named(config, "hybrid_override_pattern", list(pattern[: config.layers + 1]), BLOCKS)


def _is_moe(config: ModelConfig, i: int) -> bool:
    """By layer number i from 0; a family uses one of these rules, the others' fields are absent."""
    only_dense = config.listed("mlp_only_layers") or []
    sparse_step = config.number("decoder_sparse_step", default=1) or 1
    every = config.number("moe_layer_freq", default=1) or 1 if not _is_list(config, "moe_layer_freq") else 1
    period = config.number("expert_layer_period")
    interleaved = config.number("interleave_moe_layer_step", default=1) or 1
    listed = config.listed("moe_layers")
    chosen = config.listed("moe_layer_freq") if _is_list(config, "moe_layer_freq") else None
    return (
        i not in only_dense
        and (i + 1) % sparse_step == 0
        and (i + 1) % interleaved == 0
        and i >= config.number("first_k_dense_replace")
        and i % every == 0
        and (not period or i % period == config.number("expert_layer_offset"))
        and (listed is None or i in listed)
        and (chosen is None or (i < len(chosen) and bool(chosen[i])))
    )


def _is_list(config: ModelConfig, key: str) -> bool:
    return isinstance(config.value(key), list)


def _named(config: ModelConfig, key: str, names: list[Any], known: dict[str, str]) -> tuple[str, ...]:
    if len(names) != config.layers:
        raise InputError(
            f"{config.where}: {key} names {len(names)} layers, num_hidden_layers is {config.layers}", fix=FIX
        )
    strange = next((name for name in names if not isinstance(name, str) or name not in known), None)
    if strange is not None:
        raise InputError(
            f"{config.where}: {key} has {str(strange)[:40]!r}, which is none of {', '.join(known)}", fix=FIX
        )
    return tuple(known[name] for name in names)
