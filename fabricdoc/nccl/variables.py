"""The catalogue of variables that NCCL, and torch around it, read (presets/nccl/variables.csv).

Defaults, accepted values and versions come from NCCL's public source, compared release by release; torch's
gloo rows from the names in torch's own library. It says what a variable is, not whether to set it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from fabricdoc.files import own_folder

_ANSWERS: Mapping[str, bool | None] = {"yes": True, "no": False, "unknown": None}


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable. `default`, `accepted` and `since` are text as people read it ("-2 (4194304)", "<=2.3.5").

    `since` is the first NCCL release that reads it, "" where that is not an NCCL matter; `removed` the first one that
    does not any more, "" for those still read. `status` is documented, undocumented, deprecated or removed.
    `per_rank_may_differ` is None where nobody knows.
    """

    name: str
    kind: str
    default: str
    accepted: str
    since: str
    status: str
    area: str
    per_rank_may_differ: bool | None
    effect: str
    removed: str = ""


def _variable(row: dict[str, str]) -> Variable:
    differ = _ANSWERS[row.pop("per_rank_may_differ")]
    return Variable(per_rank_may_differ=differ, **row)


@cache
def catalogue() -> Mapping[str, Variable]:
    """All variables by name, read once; the mapping can't be changed."""
    text = own_folder("presets").joinpath("nccl", "variables.csv").read_text(encoding="utf-8")
    variables = [_variable(row) for row in csv.DictReader(text.splitlines())]
    return MappingProxyType({variable.name: variable for variable in variables})


def must_agree(name: str) -> bool:
    """Whether all ranks must set the variable alike, or leave it alone alike; False too where nobody knows."""
    variable = catalogue().get(name)
    return variable is not None and variable.per_rank_may_differ is False


@dataclass(frozen=True, slots=True)
class Circulating:
    """A name that scripts and guides use and NCCL's catalogue lacks. `name` may end in "*".

    `kind`: nothing (nobody reads it), renamed (`instead` is today's name), other (another program's).
    """

    name: str
    kind: str
    instead: str
    why: str
    source: str


@cache
def _circulating() -> Mapping[str, Circulating]:
    text = own_folder("presets").joinpath("nccl", "circulating.csv").read_text(encoding="utf-8")
    names = [Circulating(**row) for row in csv.DictReader(text.splitlines())]
    return MappingProxyType({one.name: one for one in names})


def circulating(name: str) -> Circulating | None:
    """What is known of a name outside the catalogue, None when nothing is."""
    known = _circulating()
    if name in known:
        return known[name]
    return next((one for one in known.values() if one.name.endswith("*") and name.startswith(one.name[:-1])), None)


def nearest(name: str, count: int = 3) -> tuple[str, ...]:
    """Up to `count` names of the catalogue of which `name` may be a typo, nearest first; () when it is of none.

    Takes a few milliseconds.
    """
    from fabricdoc.near import nearest_names

    return nearest_names(name, catalogue(), count)
