"""The one list of finding ids, read from presets/findings.csv. It holds meanings, not rules."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from fabricdoc.files import own_folder

ON_THE_WIRE = frozenset({"beacons", "rdma ping", "lldp", "ping", "bootstrap test"})
"""What the cables job decides by sending something: a document alone can't make these findings again."""


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


def found_on_the_wire(id: str) -> bool:
    """Whether findings of this id come from what was sent between nodes, not from facts of a document."""
    meaning = load_catalogue().get(id)
    return meaning is not None and meaning.decided_by in ON_THE_WIRE
