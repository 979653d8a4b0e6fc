"""From a stored run to a decision: the verdict on every candidate, and the preset that holds the chosen set.

Works on documents alone: it measures nothing, reaches no node, and can be run again on an old run.
"""

from __future__ import annotations

from fabricdoc.tuning.checking import pruning_for
from fabricdoc.tuning.comparing import BLOCKS_TO_SPEAK
from fabricdoc.tuning.fingerprint import fingerprint
from fabricdoc.tuning.preset import build_preset
from fabricdoc.tuning.runs_compared import compare_runs
from fabricdoc.tuning.settled import failed, incorrect
from fabricdoc.tuning.standing import standings
from fabricdoc.tuning.toml import preset_to_toml, read_preset
from fabricdoc.tuning.verdict import judge

__all__ = [
    "BLOCKS_TO_SPEAK",
    "build_preset",
    "compare_runs",
    "failed",
    "fingerprint",
    "incorrect",
    "judge",
    "preset_to_toml",
    "pruning_for",
    "read_preset",
    "standings",
]
