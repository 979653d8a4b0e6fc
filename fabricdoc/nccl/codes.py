"""What numbers in NCCL's error lines mean (presets/nccl/codes.csv): completion status, vendor syndrome, result.

Only codes that a source or real logs explain are there; others have no name, never a guessed one.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple

from fabricdoc.files import own_folder

Kind = Literal["status", "syndrome", "result"]


class Code(NamedTuple):
    """A number's name and meaning in one sentence."""

    name: str
    meaning: str


@cache
def _codes() -> Mapping[tuple[str, int], Code]:
    text = own_folder("presets").joinpath("nccl", "codes.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["kind"], int(row["code"])): Code(row["name"], row["meaning"]) for row in rows}


def code(kind: Kind, number: int) -> Code | None:
    """What the number means, None where nobody knows."""
    return _codes().get((kind, number))


def status_name(number: int) -> str:
    """A completion status by its name in verbs.h, "" where it has none."""
    found = code("status", number)
    return found.name if found else ""


def syndrome_name(number: int) -> str:
    """What a device's own error code stands for, "" where that is unknown."""
    found = code("syndrome", number)
    return found.name if found else ""
