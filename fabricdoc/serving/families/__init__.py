"""What families of models send in one pass beyond the embedding and the logits, one small module each.

A family is found by model_type. Every one gives `Part`s from a config and TP; none knows rows, engines or drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.families import dense, gpt_oss, linear, mamba, minimax, mla, moe, nemotron_h, qwen4_exp
from fabricdoc.serving.parts import Part

Pieces = Callable[[ModelConfig, int], list[Part]]


@dataclass(frozen=True, slots=True)
class Family:
    """`name` for people; `layers(config, tp)` gives the parts of all layers in the order of a pass.

    `note(config)` is what a reader of the numbers should know, "" for nothing; `known` is false for the family of
    models whose type is in no list: their numbers are assumed.
    """

    name: str
    layers: Pieces
    note: Callable[[ModelConfig], str]
    known: bool = True


def _families() -> Mapping[str, Family]:
    modules = (dense, gpt_oss, linear, mamba, minimax, mla, moe, nemotron_h, qwen4_exp)
    return MappingProxyType(
        {kind: Family(module.NAME, module.layers, module.note) for module in modules for kind in module.TYPES}
    )


FAMILIES = _families()
"""Every model_type whose step is counted from source, with its family."""


def family_of(config: ModelConfig) -> Family:
    """The family of that model_type; for one that nobody listed, a normal decoder whose counts are assumed."""
    return FAMILIES.get(config.model_type) or Family("unknown", moe.layers, _unknown, known=False)


def _unknown(config: ModelConfig) -> str:
    named = (
        f"model_type {config.model_type!r} is not known here" if config.model_type else "the config has no model_type"
    )
    return (
        f"{named}: counted as a normal decoder (1 + 2 x layers all-reduces, 1 all-gather), which is assumed; "
        "a COLL trace of one captured batch gives the exact list (fabricdoc profile trace LOG)"
    )
