"""What the deeper levels make of the gate's deadline: how long a launch may take, what is said of the rest.

The waits themselves keep to it where they are made (`fabric.within`). Judges no fabric: a launch that was ended for the
gate's deadline, before its own limit, says nothing of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from fabricdoc.fabric import at_most
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck
from fabricdoc.model.run import Launch
from fabricdoc.workflow.gate_words import MOST_DEADLINE_S

Found = tuple[tuple[GateCheck, ...], tuple[Finding, ...]]
TIME, OUT_OF_TIME = "time", "gate-out-of-time"
LEAST_S = 1.0
CLOSE_S = 2.0
"""Kept back, at most a fifth: so long a node that hangs may hold the end of its python before it is killed."""


def to_wait(left_s: float) -> float:
    """Of the seconds that are left, those for waiting; the others are for ending what was started."""
    return left_s - min(CLOSE_S, left_s / 5)


def is_over() -> bool:
    """Whether too little is left to begin anything."""
    return at_most(inf) < LEAST_S


def launch_s(own_s: float) -> float:
    """The seconds that a launch may take: its own limit, or half of what is left: a hang must be ended and told."""
    return min(own_s, max(LEAST_S, at_most(inf) / 2))


def was_cut(launch: Launch, limit_s: float, own_s: float) -> bool:
    """Whether a launch was ended after `limit_s` seconds though by itself it may take `own_s`."""
    return launch.status != "ok" and limit_s < own_s and launch.seconds >= limit_s


def not_done(part: str) -> GateCheck:
    """A part of the level for which no time was left; `in_time` makes one answer of all of them."""
    found = f"not done: {part}"
    return GateCheck(id=TIME, node="", outcome="failed", expected="within the deadline", found=found, note=part)


def without(parts: Sequence[str]) -> Found:
    """Such a check of each part."""
    return tuple(map(not_done, parts)), ()


def in_time(found: Found, nodes: str, deadline_s: float) -> Found:
    """With one check for all parts that were not done, and what to do; as it is where all were.

    `nodes` as `--nodes` takes them, `deadline_s` as it was asked.
    """
    parts = list(dict.fromkeys(one.note for one in found[0] if one.id == TIME))
    if not parts:
        return found
    told = ", ".join(parts)
    fix = ("see which node is slow:", f"fabricdoc scan --nodes {nodes}", *_more(deadline_s))
    cause = f"the gate's deadline was over before all was done; not done: {told}"
    finding = Finding(id=OUT_OF_TIME, severity="warning", subject="gate", cause=cause, fix=fix)
    check = not_done(told).model_copy(update={"fix": fix, "note": ""})
    return (*(one for one in found[0] if one.id != TIME), check), (*found[1], finding)


def _more(deadline_s: float) -> Sequence[str]:
    return (f"or give it more time: --deadline {2 * deadline_s:g}",) if 2 * deadline_s <= MOST_DEADLINE_S else ()
