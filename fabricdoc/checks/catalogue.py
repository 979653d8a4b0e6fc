"""The one list of finding ids, read from presets/findings.csv. It holds meanings, not rules."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from fabricdoc.files import own_folder


class Meaning(NamedTuple):
    """What an id stands for; `decided_by` is the material that decides it (log, env, scan, ...)."""

    id: str
    family: str
    meaning: str
    decided_by: str


@cache
def load_catalogue() -> Mapping[str, Meaning]:
    """Every known id with its meaning, in the file's order."""
    text = own_folder("presets").joinpath("findings.csv").read_text(encoding="utf-8")
    rows = (Meaning(**row) for row in csv.DictReader(text.splitlines()))
    return MappingProxyType({row.id: row for row in rows})
