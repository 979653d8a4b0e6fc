"""May this job start with this preset, here and now? What was measured against a fresh look, and what must be free.

Public: `judge_quick` (everything that was looked at -> checks and findings), `conclude` (those -> the document),
`gate_status`, `Terms` (by what it decides), `check_ids`, `hardware_ids`, `kind_of`, `floors_of` (the data of
presets/gate).
Looking at the nodes, setting variables and starting the job belong to others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.gate.catalogue import Floors, check_ids, floors_of, hardware_ids, kind_of
    from fabricdoc.gate.judge import Terms, conclude, gate_status
    from fabricdoc.gate.quick import Looked, judge_quick
    from fabricdoc.gate.refusals import Contrary, Job
    from fabricdoc.gate.room import Users
    from fabricdoc.gate.since import boot_of, standing_counters, with_growth

HOMES = {
    "catalogue": ("Floors", "check_ids", "floors_of", "hardware_ids", "kind_of"),
    "judge": ("Terms", "conclude", "gate_status"),
    "quick": ("Looked", "judge_quick"),
    "refusals": ("Contrary", "Job"),
    "room": ("Users",),
    "since": ("boot_of", "standing_counters", "with_growth"),
}

__all__ = [
    "Contrary",
    "Floors",
    "Job",
    "Looked",
    "Terms",
    "Users",
    "boot_of",
    "check_ids",
    "conclude",
    "floors_of",
    "gate_status",
    "hardware_ids",
    "judge_quick",
    "kind_of",
    "standing_counters",
    "with_growth",
]


__getattr__ = opened(__name__, HOMES)
