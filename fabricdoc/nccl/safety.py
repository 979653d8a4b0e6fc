"""What must never be tried: variables that can corrupt data, break a collective, or not survive being set.

`allowed` reads NCCL_ALGO and NCCL_PROTO the way NCCL's own list parser does (graph/tuning.cc): words in any
case, "^" excludes, "function:list" parts since 2.24. Whether a value is wise is not judged here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FUNCTIONS = ("broadcast", "reduce", "allgather", "reducescatter", "allreduce")
ALGORITHMS = ("tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat")
PROTOCOLS = ("ll", "ll128", "simple")
RING_TREE = "ring;allreduce:tree"
_ENOUGH: Mapping[str, frozenset[str]] = {
    "broadcast": frozenset({"ring"}),
    "reduce": frozenset({"ring"}),
    "allgather": frozenset({"ring", "pat", "nvls", "collnetdirect"}),
    "reducescatter": frozenset({"ring", "pat", "nvls", "collnetdirect"}),
    "allreduce": frozenset(ALGORITHMS) - {"pat"},
}
"""Per function the algorithms that implement it (graph/tuning.cc): one of them must be left."""

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,127}", re.ASCII)
_QUOTES = "'\"`"
MAX_VALUE = 1023
"""NCCL's configuration files cut values here (nccl_facts: misc/param.cc)."""


def allowed(value: str, words: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Per function that `value` names (all of them for a part without one): the words left allowed.

    Functions that `value` does not name keep NCCL's own choice and are absent. ValueError names what NCCL
    2.24 and newer refuse (older ones silently ignore it).
    """
    result: dict[str, frozenset[str]] = {}
    for number, part in enumerate(part for part in value.split(";") if part):
        head, *rest = [piece for piece in part.split(":") if piece] or [""]
        if not rest and (number or value.startswith(";")):
            raise ValueError(f"only the first part may lack its function: {part!r}")
        functions = _function(head) if rest else FUNCTIONS
        result |= dict.fromkeys(functions, _words(rest[0] if rest else head, words))
    return result


def _function(name: str) -> tuple[str, ...]:
    if name.lower() not in FUNCTIONS:
        raise ValueError(f"{name!r} is no function; known: {', '.join(FUNCTIONS)}")
    return (name.lower(),)


def _words(text: str, words: tuple[str, ...]) -> frozenset[str]:
    listed = frozenset(word.lower() for word in text.removeprefix("^").split(",") if word)
    if strange := sorted(listed - set(words)):
        raise ValueError(f"{strange[0]!r} is no word of this variable; known: {', '.join(words)}")
    return frozenset(words) - listed if text.startswith("^") else listed


def _unsafe_text(name: str, value: str) -> str | None:
    """Why a name or value can't be handed on as it is, or None."""
    if not _NAME.fullmatch(name):
        return f"{name[:40]!r} is no name of an environment variable (capitals, digits and _)"
    if not value.isprintable():
        return f"{name}: the value holds a line break or another control character"
    if value != value.strip():
        return f"{name}: the value starts or ends with a blank, which NCCL takes as part of it"
    if any(quote in value for quote in _QUOTES):
        return f"{name}: the value holds a quote, which NCCL takes as part of it; write it without"
    if len(value) > MAX_VALUE:
        return f"{name}: the value is longer than {MAX_VALUE} characters"
    return None


def _unsafe_protocol(value: str) -> str | None:
    """LL128 named, or let in by excluding others: both skip NCCL's test of the path (nccl_facts 6)."""
    forced = [function for function, words in allowed(value, PROTOCOLS).items() if "ll128" in words]
    if not forced:
        return None
    how = "excluding other protocols" if "^" in value else "naming it"
    return (
        f"NCCL_PROTO={value} forces LL128 ({how} skips NCCL's own test of the path; a path that splits "
        'its 128-byte stores corrupts data silently); write the wanted ones, such as "LL,Simple"'
    )


def _unsafe_algorithm(value: str) -> str | None:
    """Collectives left without an algorithm on NCCL 2.24 and newer, where tree does all-reduce alone."""
    for function, words in allowed(value, ALGORITHMS).items():
        if not words & _ENOUGH[function]:
            return (
                f"NCCL_ALGO={value} leaves {function} without an algorithm: NCCL 2.24 and newer then fail at the "
                f'first {function} ("No algorithm/protocol available"); write "{RING_TREE}"'
            )
    return None


def reject_unsafe(variables: Mapping[str, str]) -> str | None:
    """Why these variables must not run, in one sentence, or None when nothing is known against them."""
    for name, value in variables.items():
        if reason := _unsafe_text(name, value):
            return reason
        try:
            if name == "NCCL_PROTO" and (reason := _unsafe_protocol(value)):
                return reason
            if name == "NCCL_ALGO" and (reason := _unsafe_algorithm(value)):
                return reason
        except ValueError as error:
            return f"{name}={value}: {error}; NCCL 2.24 and newer refuse to start"
    return None
