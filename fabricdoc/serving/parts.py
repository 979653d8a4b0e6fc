"""The pieces a model's step is made of: one kind of collective with its width a row, before rows and ranks are known.

Widths are elements of the whole message a row: of an all-reduce the message, of an all-gather the total output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from fabricdoc.model.profile import CollectiveDtype, Group
from fabricdoc.model.run import Op

ITEM_BYTES: dict[str, int] = {"bfloat16": 2, "float16": 2, "float32": 4, "int8": 1, "int32": 4}
VOCABULARY_MULTIPLE = 64
"""Engines pad the vocabulary to this before they split it (vLLM 0.33 vocab_parallel_embedding; SGLang too)."""


@dataclass(frozen=True, slots=True)
class Part:
    """`count` calls of `op` in one pass of the model.

    `width` elements a row; `per` says which rows count: those of the step, or one for each row of logits. `place` is
    what an engine decides graph or eager by. `assumed` marks what no source says for sure.
    """

    role: str
    count: int
    width: int
    dtype: CollectiveDtype
    op: Op = "all_reduce"
    per: Literal["row", "logits"] = "row"
    place: Literal["layer", "embedding", "ngram", "logits", "draft", "draft logits", "sampler"] = "layer"
    group: Group = "tp"
    assumed: bool = False


def padded_vocabulary(vocabulary: int) -> int:
    """The vocabulary rounded up to what engines split."""
    return -(-vocabulary // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE


def merged(parts: list[Part]) -> tuple[Part, ...]:
    """Parts that differ in nothing but their count, as one; in order of first mention."""
    counts: dict[Part, int] = {}
    for part in parts:
        key = replace(part, count=0)
        counts[key] = counts.get(key, 0) + part.count
    return tuple(replace(part, count=count) for part, count in counts.items() if count)
