"""What the reach probes say they tried, checked and bounded: a question by datagram, a connection, a port in use.

A node's words are untrusted: types are checked, texts cut. No meaning is judged here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fabricdoc.fabric.ways import Place, Way

OUTCOMES = frozenset({"connected", "refused", "timed-out", "unreachable", "silent", "stranger", "failed"})
MOST_REASON = 160
MOST_NAME = 64


@dataclass(frozen=True)
class Asked:
    """A datagram of `size` bytes from `a` to `b`: whether it arrived, by which interface there, why it was not sent."""

    a: Place
    b: Place
    size: int
    arrived: bool
    came_in_by: str = ""
    reason: str = ""

    @classmethod
    def read(cls, a: Place, b: Place, size: int, told: dict[str, Any]) -> Asked:
        """From the probe's words; KeyError, TypeError where they are none."""
        if not isinstance(told["arrived"], bool):
            raise TypeError("arrived is a boolean")
        return cls(a, b, size, told["arrived"], text(told["came_in_by"], MOST_NAME), text(told["reason"], MOST_REASON))


@dataclass(frozen=True)
class Dialled:
    """A connection on a way to the listener's own port (`wanted` 0) or to the rendezvous port, and how it came out."""

    way: Way
    wanted: int
    port: int
    outcome: str
    reason: str = ""

    @classmethod
    def read(cls, way: Way, wanted: int, told: dict[str, Any]) -> Dialled:
        """From the probe's words; KeyError, TypeError, ValueError where they are none."""
        if told["outcome"] not in OUTCOMES:
            raise ValueError("an outcome that is none")
        return cls(way, wanted, int(told["port"]), told["outcome"], text(told["reason"], MOST_REASON))


@dataclass(frozen=True)
class Taken:
    """A port of a node that somebody else listens on; `owner` is "" where /proc did not tell."""

    node: str
    ip: str
    port: int
    owner: str = ""

    @classmethod
    def read(cls, node: str, told: dict[str, Any]) -> Taken:
        """From the probe's words; KeyError, TypeError, ValueError where they are none."""
        return cls(node, text(told["ip"], MOST_NAME), int(told["port"]), text(told["owner"], MOST_REASON))


def text(value: object, most: int) -> str:
    """A text, cut; TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError("a text is missing")
    return value[:most]
