"""Values that are legal and still mistakes to run with: debugging left on, checks off, retries cut, LL for every size.

The list is presets/nccl/hazards.csv, each with its source. `values` there is `*` (any value), words (`INFO|TRACE`, in
any case), whole numbers or a range of them (`1..13`). Whether a value is legal at all is `values`' and `lists`' matter.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from fabricdoc.files import own_folder
from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.numbers import number_at_start


class Hazard(NamedTuple):
    """One row of the list."""

    name: str
    values: str
    id: str
    why: str
    fix: str
    source: str

    def holds(self, value: str) -> bool:
        """Whether the value is one of those meant; an empty one never is."""
        if not value.strip() or self.values == "*":
            return bool(value.strip())
        number = number_at_start(value)
        low, dots, high = self.values.partition("..")
        if dots:
            return number is not None and int(low) <= number <= int(high)
        words = self.values.split("|")
        return value.strip().upper() in words or (number is not None and str(number) in words)


@cache
def hazards() -> Mapping[str, tuple[Hazard, ...]]:
    """Every row by the name of its variable."""
    text = own_folder("presets").joinpath("nccl", "hazards.csv").read_text(encoding="utf-8")
    found: dict[str, tuple[Hazard, ...]] = {}
    for row in csv.DictReader(text.splitlines()):
        found[row["name"]] = (*found.get(row["name"], ()), Hazard(**row))
    return found


def check_hazards(name: str, value: str) -> Iterator[Complaint]:
    """What is dangerous about a value."""
    for hazard in hazards().get(name, ()):
        if hazard.holds(value):
            told = value.strip()[:40]
            told = told if told.isprintable() else repr(told)
            yield Complaint(hazard.id, name, f"{name}={told}: {hazard.why}", hazard.fix, value)
