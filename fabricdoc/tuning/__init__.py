"""From a stored run to a decision: the verdict on every candidate, and the preset that holds the chosen set.

Works on documents alone: it measures nothing, reaches no node, and can be run again on an old run. Names load their
module when first used: who only reads a preset pays for no statistics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.tuning.checking import pruning_for
    from fabricdoc.tuning.comparing import BLOCKS_TO_SPEAK
    from fabricdoc.tuning.preset import build_preset
    from fabricdoc.tuning.runs_compared import compare_runs
    from fabricdoc.tuning.settled import failed, incorrect
    from fabricdoc.tuning.standing import standings
    from fabricdoc.tuning.toml import preset_to_toml, read_preset
    from fabricdoc.tuning.verdict import judge

HOMES = {
    "checking": ("pruning_for",),
    "comparing": ("BLOCKS_TO_SPEAK",),
    "preset": ("build_preset",),
    "runs_compared": ("compare_runs",),
    "settled": ("failed", "incorrect"),
    "standing": ("standings",),
    "toml": ("preset_to_toml", "read_preset"),
    "verdict": ("judge",),
}

__all__ = [
    "BLOCKS_TO_SPEAK",
    "build_preset",
    "compare_runs",
    "failed",
    "incorrect",
    "judge",
    "preset_to_toml",
    "pruning_for",
    "read_preset",
    "standings",
]


__getattr__ = opened(__name__, HOMES)
