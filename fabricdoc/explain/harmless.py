"""Lines that people worry about in vain, explained: at most one remark for each kind.

Which lines these are and what they mean is data: presets/causes/harmless.csv.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache

from fabricdoc.explain.case import Case
from fabricdoc.explain.seen import Seen
from fabricdoc.files import own_folder
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.nccl import masked

LONGEST_TEXT = 400


@dataclass(frozen=True, slots=True)
class Harmless:
    """A row of the table: its id, the events it is about, what the message must hold, and the explanation."""

    id: str
    events: tuple[str, ...]
    regex: re.Pattern[str]
    unless: str
    meaning: str


@cache
def rows() -> tuple[Harmless, ...]:
    """All rows, in their order."""
    text = own_folder("presets").joinpath("causes", "harmless.csv").read_text(encoding="utf-8")
    return tuple(
        Harmless(row["id"], tuple(row["events"].split("|")), re.compile(row["regex"]), row["unless"], row["meaning"])
        for row in csv.DictReader(text.splitlines())
    )


def harmless(case: Case) -> list[Finding]:
    """One remark (severity info) for each kind of harmless line that is there."""
    found = []
    for row in rows():
        lines = [seen for seen in case.of(*row.events) if row.regex.search(seen.spot.text)]
        if lines and not (row.unless and case.sign(row.unless)):
            found.append(_remark(row, lines[0], len(lines)))
    return found


def _remark(row: Harmless, seen: Seen, count: int) -> Finding:
    text = masked((seen.spot.quote or seen.spot.text).strip())[:LONGEST_TEXT]
    more = f" ({count} lines like it)" if count > 1 else ""
    return Finding(
        id=row.id,
        severity="info",
        subject=seen.spot.node or seen.spot.file,
        evidence=(Evidence(file=seen.spot.file, line=seen.spot.line, text=text),),
        cause=f"Harmless: {row.meaning}{more}",
    )
