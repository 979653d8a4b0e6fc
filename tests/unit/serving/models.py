"""Small configs of the families, written for these tests: only the fields that decide a step, no model's file."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fabricdoc.model.profile import Stage
from fabricdoc.serving import ModelConfig, parse_config

BASE: dict[str, Any] = {
    "hidden_size": 1024,
    "num_hidden_layers": 12,
    "vocab_size": 32000,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
}
REFERENCE: dict[str, Any] = {
    "model_type": "qwen4_exp",
    "hidden_size": 2560,
    "num_hidden_layers": 48,
    "vocab_size": 248320,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 12,
    "num_experts": 256,
    "hc_count": 4,
    "ple_layer_ids": [1],
    "mtp_num_hidden_layers": 1,
}


def config(model_type: str = "llama", **fields: Any) -> ModelConfig:
    """A config of that type; `fields` over the base, None leaves one out."""
    made = BASE | {"model_type": model_type} | fields
    return parse_config({key: value for key, value in made.items() if value is not None}, "the config")


def reference(**fields: Any) -> ModelConfig:
    """The reference case."""
    return parse_config(REFERENCE | fields, "the config")


def sent(stage: Stage) -> dict[tuple[str, int, int], int]:
    """Calls by (op, size, send_bytes)."""
    counts: Counter[tuple[str, int, int]] = Counter()
    for one in stage.collectives:
        counts[one.op, one.size, one.send_bytes] += one.count
    return dict(counts)


def roles(stage: Stage) -> dict[str, int]:
    """Calls by role."""
    return {one.role: one.count for one in stage.collectives}
