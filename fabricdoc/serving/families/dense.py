"""Dense decoders: two row-parallel projections a layer, two all-reduces (vLLM, SGLang, TensorRT-LLM alike)."""

from __future__ import annotations

from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.families.moe import layers as layers

NAME = "dense"
TYPES = (
    "llama",
    "mistral",
    "mistral3",
    "ministral",
    "ministral3",
    "qwen2",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3",
    "qwen3_vl",
    "gemma",
    "gemma2",
    "gemma3",
    "glm4",
    "granite",
    "internlm2",
    "phi3",
    "seed_oss",
    "smollm3",
    "starcoder2",
)


def note(_config: ModelConfig) -> str:
    """Nothing to say."""
    return ""
