"""Several nodes: variables that must be equal on all ranks and are not.

Values are compared as NCCL reads them: 0x10 is 16, words in any case, a default written out is the same as none. Names
of devices may differ, and are held against a scan elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint import Entry, winners
from fabricdoc.nccl.lint_settings import Remark, remark_on
from fabricdoc.nccl.lint_units import Unit
from fabricdoc.nccl.numbers import number_at_start
from fabricdoc.nccl.variables import Variable, catalogue, must_agree

UNSET = "not set"
SHOWN = 8
_DEFAULT = re.compile(r"(-?\d+)(?: \((-?\d+)\))?")


def lint_pair(files: Mapping[str, Mapping[str, str]]) -> tuple[Complaint, ...]:
    """What differs between nodes and must agree; `files` holds each node's variables by the node's or file's name."""
    names = dict.fromkeys(name for variables in files.values() for name in variables if must_agree(name))
    return tuple(one for name in names for one in _differs(name, files))


def _differs(name: str, files: Mapping[str, Mapping[str, str]]) -> Iterator[Complaint]:
    values = {file: variables.get(name, UNSET) for file, variables in files.items()}
    if len({meaning(name, value) for value in values.values()}) > 1:
        told = ", ".join(f"{value[:60]} ({file})" for file, value in list(values.items())[:SHOWN])
        more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
        message = f"{name} must be equal on all ranks, and is {told}{more}"
        yield Complaint("must-agree-differs", name, message, _fix(name, values))


def _fix(name: str, values: Mapping[str, str]) -> str:
    """What most nodes have, on all of them; where there is no majority, one value or none."""
    (usual, count), *others = Counter(values.values()).most_common(2)
    if others and count > others[0][1]:
        where = ", ".join(file for file, value in values.items() if value != usual)
        return f"leave {name} out in {where}" if usual == UNSET else f"{name}={usual} in {where}"
    return f"set {name} to one value on all nodes, or leave it out on all"


def meaning(name: str, value: str) -> str:
    """A value as NCCL reads it, for comparing: numbers as numbers, words in capitals, a default as not set."""
    variable = catalogue().get(name)
    if value in ("", UNSET) or variable is None:
        return UNSET if value in ("", UNSET) else value
    if variable.kind in ("int", "bool"):
        number = number_at_start(value) or 0
        return UNSET if number in _defaults(variable) else str(number)
    if variable.kind in ("enum", "list"):
        return value.strip().upper()
    return value


def _defaults(variable: Variable) -> frozenset[int]:
    """The numbers that are the same as leaving the variable out; none where the default depends on the release."""
    match = _DEFAULT.fullmatch(variable.default)
    return frozenset(int(one) for one in match.groups() if one is not None) if match else frozenset()


def lint_units_together(units: Sequence[Unit]) -> tuple[Remark, ...]:
    """A remark for each variable that must agree between units and does not, at the first line that differs.

    A unit without any of NCCL's variables has no vote: what its ranks will get is not known from here. The environments
    of one file may be of different jobs, so they are held against one another only where they set the same variable.
    """
    homes: dict[str, list[Unit]] = {}
    for unit in units:
        homes.setdefault(unit.layers[0].file, []).append(unit)
    single = [found[0] for found in homes.values() if len(found) == 1]
    several = [found for found in homes.values() if len(found) > 1]
    return (*_together(single), *(remark for found in several for remark in _within(found)))


def _together(units: Sequence[Unit]) -> tuple[Remark, ...]:
    settings = {unit.name: winners(unit.layers) for unit in units}
    speaking = {name: found for name, found in settings.items() if any(one.startswith("NCCL_") for one in found)}
    complaints = lint_pair({name: _values(found) for name, found in speaking.items()}) if len(speaking) > 1 else ()
    return tuple(_remark(complaint, list(speaking.values())) for complaint in complaints)


def _within(units: Sequence[Unit]) -> Iterator[Remark]:
    """What the environments of one file set differently: a warning, since they may be of different jobs."""
    settings = [winners(unit.layers) for unit in units]
    names = dict.fromkeys(name for found in settings for name in found if must_agree(name))
    for name in names:
        entries = list(dict.fromkeys(found[name] for found in settings if name in found))
        if len({_value_of(entry) for entry in entries}) > 1:
            files = {f"line {entry.setting.line}": {name: entry.setting.value} for entry in entries}
            for complaint in lint_pair(files):
                yield _remark(replace(complaint, level="warning"), [{name: entry} for entry in entries])


def _values(found: Mapping[str, Entry]) -> dict[str, str]:
    return {name: entry.setting.value for name, entry in found.items()}


def _remark(complaint: Complaint, found: Sequence[Mapping[str, Entry]]) -> Remark:
    entries = [one[complaint.name] for one in found if complaint.name in one]
    first = next((one for one in entries[1:] if _value_of(one) != _value_of(entries[0])), entries[0])
    also = tuple(one.setting.place(one.file) for one in entries if one is not first)
    return remark_on(first.setting, complaint, first.file, also)


def _value_of(entry: Entry) -> str:
    return meaning(entry.setting.name, entry.setting.value)
