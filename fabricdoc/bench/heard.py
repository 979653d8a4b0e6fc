"""What an agent may say about a launch: every field checked before a word of it is used. ValueError says what is wrong.

The agent checks its ranks' words, but the agent itself runs on a node: a broken or hostile one must cost its launch,
never the run. What the words mean is `agents`' and `samples`' business.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, get_args

from fabricdoc.model.run import Dtype, Op, View

MOST_SAMPLES = 1_000_000
MOST_TEXT = 1 << 20
_LARGEST = 2**62

Check = Callable[[Any], bool]


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_SAMPLES and all(map(_number, value))


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MOST_TEXT


def _timings(value: Any) -> bool:
    return isinstance(value, dict) and len(value) <= 100 and all(map(_number, value.values()))


def _one_of(words: Collection[Any]) -> Check:
    return lambda value: isinstance(value, str) and value in words


_SHAPE: dict[str, Check] = {
    "rank": _count,
    "op": _one_of(get_args(Op)),
    "size": _count,
    "dtype": _one_of(get_args(Dtype)),
    "in_place": lambda value: isinstance(value, bool),
}
_VIEW = {"view": _one_of(get_args(View))}
EVENTS: dict[str, dict[str, Check]] = {
    "store": {"port": lambda value: _count(value) and 0 < value < 1 << 16},
    "forked": {"rank": _count, "pid": lambda value: _count(value) and value > 1, "start": _count},
    "phase": {"rank": _count, "phase": _text},
    "cell": {
        **_VIEW,
        **_SHAPE,
        "samples": lambda value: _numbers(value) and len(value) > 0,
        "correct": lambda value: isinstance(value, bool),
    },
    "skew": {**_VIEW, **_SHAPE, "waits": _numbers, "gated": _numbers},
    "direct": {**_VIEW, **_SHAPE, "samples": lambda value: _numbers(value) and len(value) > 0, "wrong": _count},
    "soak": {**_SHAPE, "calls": _count, "wrong": _count},
    "rank_done": {
        "rank": _count,
        "status": _text,
        "phase": _text,
        "reason": _text,
        "log": _text,
        "timings_s": _timings,
    },
    "expired": {},
    "state": {},
    "launch_done": {},
}
OPTIONAL: dict[str, dict[str, Check]] = {"cell": {"replays": _numbers, "wrong": _count}}


def check(message: Mapping[str, Any], ranks: Collection[int]) -> str:
    """The name of an event about a launch, "" for one that is not known here; `ranks` are those of its node."""
    name = message.get("event")
    fields = EVENTS.get(name) if isinstance(name, str) else None
    if fields is None or not isinstance(name, str):
        return ""
    for field, fits in fields.items():
        if not fits(message.get(field)):
            raise ValueError(f"{field} of {name} is {str(message.get(field))[:60]!r}")
    for field, fits in OPTIONAL.get(name, {}).items():
        if field in message and not fits(message[field]):
            raise ValueError(f"{field} of {name} is {str(message[field])[:60]!r}")
    if "rank" in fields and message["rank"] not in ranks:
        raise ValueError(f"{name} of rank {message['rank']}, which is not this node's")
    return name
