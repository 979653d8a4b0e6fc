"""NCCL versions and conditions on them: "2.28.9", "2.28.9+cuda13.0", ">=2.24", ">=2.20,<2.24".

Only plain release numbers are compared; suffixes and CUDA versions are ignored.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

Release = tuple[int, int, int]

_RELEASE = re.compile(r"\s*(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?![\d.])", re.ASCII)
_CONDITION = re.compile(r"\s*(>=|<=|==|>|<)\s*(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)\s*", re.ASCII)
_OPERATORS: Mapping[str, Callable[[Release, Release], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def parse_release(text: str) -> Release | None:
    """The release number at the start of `text` (a missing patch is 0), or None."""
    match = _RELEASE.match(text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def parse_conditions(text: str) -> tuple[tuple[str, Release], ...] | None:
    """The comma-separated conditions of `text` as (operator, release), or None when it is malformed."""
    conditions: list[tuple[str, Release]] = []
    for part in text.split(","):
        match = _CONDITION.fullmatch(part)
        release = parse_release(match[2]) if match else None
        if not match or not release:
            return None
        conditions.append((match[1], release))
    return tuple(conditions)


def satisfies(release: Release, conditions: tuple[tuple[str, Release], ...]) -> bool:
    """Whether `release` meets every condition (none: yes)."""
    return all(_OPERATORS[sign](release, bound) for sign, bound in conditions)
