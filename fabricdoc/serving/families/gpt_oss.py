"""gpt-oss: a normal MoE decoder, whose kernel may pad the width of the MoE's all-reduce."""

from __future__ import annotations

from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.families.moe import layers as layers

NAME = "gpt-oss"
TYPES = ("gpt_oss",)


def note(config: ModelConfig) -> str:
    """The width that is not counted here."""
    wide = config.hidden
    return (
        f"with MXFP4 the MoE's all-reduce comes before padded columns are cut: by kernel it is {wide}, "
        f"{-(-wide // 128) * 128} or {-(-wide // 256) * 256} wide; counted as {wide}"
    )
