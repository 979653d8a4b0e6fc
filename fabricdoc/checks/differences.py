"""A difference between nodes as a finding: who is odd and what most have, or both sides where nobody is.

Text is bounded, so that a thousand odd nodes make a finding a person can read. Decides nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

from fabricdoc.checks.majority import Odd, Place, Split
from fabricdoc.model.findings import Evidence, Finding, Severity

NAMED = 4
"""Nodes or ports named in a subject."""
SHOWN = 8
"""Nodes or ports with evidence and commands of their own."""

Key = str | Place


class Told(NamedTuple):
    """How a difference of one fact is told.

    `fact` is its name with where it is read ("kernel (uname -r)"); `one` makes the lines that put one odd node or
    port right; `both` are the lines where there is no majority.
    """

    id: str
    severity: Severity
    fact: str
    cause: str
    one: Callable[[Odd[Any, Any]], Sequence[str]]
    both: tuple[str, ...]
    confidence: Literal["certain", "likely", "possible"] = "certain"
    show: Callable[[Any], str] = str


def difference(told: Told, found: Split[Any, Any]) -> Finding:
    """One finding for all that differ in one fact."""
    keys = [one.key for one in found.odd] or [key for side in found.sides for key in side.keys]
    return Finding(
        id=told.id,
        severity=told.severity,
        subject=named(keys),
        evidence=tuple(_odd_evidence(told, found) if found.odd else _side_evidence(told, found)),
        cause=told.cause,
        fix=tuple(_lines(told, found.odd)) if found.odd else told.both,
        confidence=told.confidence,
    )


def named(keys: Sequence[Key], most: int = NAMED) -> str:
    """ "gamma", "alpha/mlx5_3, beta/mlx5_3", with "and 7 more" after the first `most`."""
    text = ", ".join(text_of(key) for key in keys[:most])
    return text if len(keys) <= most else f"{text} and {len(keys) - most} more"


def text_of(key: Key) -> str:
    """A node's name, or NODE/DEVICE."""
    return f"{key.node}/{key.slot}" if isinstance(key, Place) else key


def node_of(key: Key) -> str:
    """The node of a key."""
    return key.node if isinstance(key, Place) else key


def node_lines(pairs: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Commands under one heading per node, so that a line alone can be pasted; of many nodes the first ones only."""
    by_node: dict[str, list[str]] = defaultdict(list)
    for node, lines in pairs:
        by_node[node] += lines
    names = list(by_node)
    shown = [line for name in names[:SHOWN] for line in (f"on {name}:", *dict.fromkeys(by_node[name]))]
    return [*shown, *([f"the same on {named(names[SHOWN:], SHOWN)}"] if names[SHOWN:] else [])]


def _odd_evidence(told: Told, found: Split[Any, Any]) -> list[Evidence]:
    told_usual: dict[Any, Odd[Any, Any]] = {}
    for one in found.odd:
        told_usual.setdefault(one.usual, one)
    usual = [
        Evidence(
            file=node_of(one.like),
            text=f"{_where(one.like)}{told.fact}: {told.show(one.usual)}, as on {one.most} of {one.voters}",
        )
        for one in islice(told_usual.values(), NAMED)
    ]
    odd = [
        Evidence(file=node_of(one.key), text=f"{_where(one.key)}{told.fact}: {told.show(one.value)}")
        for one in found.odd[:SHOWN]
    ]
    return [*usual, *odd, *_rest(len(found.odd), node_of(found.odd[-1].key))]


def _side_evidence(told: Told, found: Split[Any, Any]) -> list[Evidence]:
    shown = [
        Evidence(
            file=node_of(side.keys[0]),
            text=f"{_where(side.keys[0])}{told.fact}: {told.show(side.value)}{_others(side.keys)}",
        )
        for side in found.sides[:SHOWN]
    ]
    return [*shown, *_rest(len(found.sides), node_of(found.sides[-1].keys[0]))]


def _others(keys: Sequence[Key]) -> str:
    return "" if len(keys) == 1 else f", also on {named(keys[1:])}"


def _rest(count: int, node: str) -> list[Evidence]:
    return [] if count <= SHOWN else [Evidence(file=node, text=f"the last of {count - SHOWN} more")]


def _where(key: Key) -> str:
    return f"{key.slot} " if isinstance(key, Place) else ""


def _lines(told: Told, odd: Sequence[Odd[Any, Any]]) -> list[str]:
    by_node: dict[str, list[str]] = defaultdict(list)
    for one in odd[:SHOWN]:
        by_node[node_of(one.key)] += told.one(one)
    lines = [line for own in by_node.values() for line in dict.fromkeys(own)]
    rest = odd[SHOWN:]
    return [*lines, *([f"the same on {named([one.key for one in rest], SHOWN)}"] if rest else [])]
