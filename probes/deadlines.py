"""How long a rank may stay in each phase, in seconds from its entry. The launch's own deadline is the agent's.

A phase that is entered again (capture and measure, shape by shape) begins anew. What is not said is as here: several
times what it took on the labs, since a slow node is no hang. Nothing is ended here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .events import PHASES

DEFAULTS = {
    "rendezvous": 20.0,
    "init": 40.0,  # NCCL's own limits for a peer that does not answer are 20 to 35 s; its words say more than ours
    "connect": 40.0,
    "check": 40.0,
    "capture": 30.0,
    "measure": 60.0,
    "soak": 60.0,  # besides what was asked for
    "done": 10.0,
}


def limits_for(work: Mapping[str, Any]) -> dict[str, float]:
    """Seconds for every phase: work["deadlines"] over the defaults; a soak has its own length besides.

    ValueError for a phase that is none, or a limit that is no positive number.
    """
    asked = {str(name): float(limit) for name, limit in dict(work.get("deadlines") or {}).items()}
    unknown = sorted(asked.keys() - set(PHASES))
    if unknown:
        raise ValueError(f"no phases {', '.join(unknown)}; known: {', '.join(PHASES)}")
    if not all(math.isfinite(limit) and limit > 0 for limit in asked.values()):
        raise ValueError(f"a limit that is no positive number of seconds: {asked}")
    limits = {**DEFAULTS, **asked}
    limits["soak"] += float(work.get("soak_s") or 0)
    return limits
