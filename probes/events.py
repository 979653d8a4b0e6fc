"""What a worker may say to its agent, and nothing else: each line checked before a word of it is passed on.

A worker runs NCCL, plugins and whatever a candidate preloads; its pipe is untrusted. No state, no reading here.

phase: what it now does, on `what`; cell: the samples of one view of one shape, µs per call, the mean per call of each
replay of a graph without an event after each call, and how many elements were wrong; skew: how long this rank waited
for the others before each call, and the samples behind those gates; direct: the samples of the same calls by NCCL's own
functions; soak: how often a shape was called after its measuring, and how many elements were wrong then.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

PHASES = ("rendezvous", "init", "connect", "check", "capture", "measure", "soak", "done")
_WHAT_LENGTH = 100


def parse_event(line: bytes) -> dict[str, Any]:
    """One line of a worker with exactly the fields of its event; ValueError says what is wrong with it."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"no JSON: {line[:80]!r}") from problem
    name = message.get("event") if isinstance(message, dict) else None
    fields = _EVENTS.get(name) if isinstance(name, str) else None
    if fields is None:
        raise ValueError(f"no such event: {line[:80]!r}")
    for field, fits in fields.items():
        if not fits(message.get(field)):
            raise ValueError(f"{field} of {name} is {str(message.get(field))[:80]!r}")
    return {"event": name, **{field: message[field] for field in fields}}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _WHAT_LENGTH


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(_is_number(one) for one in value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_SHAPE: dict[str, Callable[[Any], bool]] = {"op": _is_text, "size": _is_count, "dtype": _is_text, "in_place": _is_flag}
_EVENTS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "store": {"port": _is_count},
    "phase": {"phase": lambda value: value in PHASES, "what": _is_short, "at_s": _is_number},
    "cell": {
        "view": _is_text,
        **_SHAPE,
        "samples": _are_numbers,
        "replays": _are_numbers,
        "correct": _is_flag,
        "wrong": _is_count,
    },
    "skew": {"view": _is_text, **_SHAPE, "waits": _are_numbers, "gated": _are_numbers},
    "direct": {"view": _is_text, **_SHAPE, "samples": _are_numbers, "wrong": _is_count},
    "soak": {**_SHAPE, "calls": _is_count, "wrong": _is_count},
    "end": {
        "status": lambda value: value in ("ok", "failed"),
        "reason": _is_text,
        "timings_s": lambda value: isinstance(value, dict) and all(_is_number(spent) for spent in value.values()),
    },
}
