"""Where one variable of a process comes from, and whether that is the preset's value: NCCL's order of precedence.

The environment beats the file NCCL_CONF_FILE names (else ~/.nccl.conf), which beats /etc/nccl.conf; only NCCL reads
these files (src/misc/param.cc, 2.18 to 2.32). What NCCL's log says it read beats all, since an engine can change the
environment after the start, and a plugin can answer in its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fabricdoc.model.delivery import Arrival, Delivered
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.host import ConfFile

ENVIRONMENT = "the environment"
LOG = "NCCL's log"
_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?)(0[xX][0-9a-fA-F]+|[0-9]+)")


@dataclass(frozen=True)
class Placed:
    """A value and the place it stands in."""

    value: str
    place: str


def judge_variable(arrival: Arrival, name: str, wanted: str) -> Delivered:
    """The outcome of one variable at one process."""
    echoed = {} if isinstance(arrival.echoed, Unknown) else arrival.echoed
    if name in echoed:
        return _by_log(arrival, name, wanted, echoed[name])
    if isinstance(arrival.environ, Unknown):
        return Delivered(name=name, wanted=wanted, outcome="unknown", seen=_unread(arrival, name))
    placed = places(arrival, name)
    if not placed and name.startswith("NCCL_") and isinstance(arrival.files, Unknown):
        return Delivered(name=name, wanted=wanted, outcome="unknown", seen=arrival.files)
    if not placed:
        outcome = "delivered" if wanted == "" else "missing"
        return Delivered.model_validate({"name": name, "wanted": wanted, "outcome": outcome, "seen": None})
    return _by_place(name, wanted, placed)


def places(arrival: Arrival, name: str) -> list[Placed]:
    """Where the variable stands, in the order of precedence; files count for NCCL's variables only."""
    environ = {} if isinstance(arrival.environ, Unknown) else arrival.environ
    files = () if isinstance(arrival.files, Unknown) or not name.startswith("NCCL_") else arrival.files
    found = [Placed(environ[name], ENVIRONMENT)] if name in environ else []
    return found + [Placed(file.values[name], file.path) for file in files if name in file.values]


def values_in(files: Fact[tuple[ConfFile, ...]]) -> dict[str, str]:
    """What NCCL's files set, the first file that has a variable wins; nothing where they could not be read."""
    found: dict[str, str] = {}
    for file in () if isinstance(files, Unknown) else files:
        found = dict(file.values) | found
    return found


def _by_place(name: str, wanted: str, placed: list[Placed]) -> Delivered:
    """The first place wins; where a later one holds the wanted value, the first one overrides it."""
    first = placed[0]
    if first.value == wanted:
        return Delivered(name=name, wanted=wanted, outcome="delivered", seen=first.value, by=first.place)
    behind = [one.place for one in placed[1:] if one.value == wanted]
    if behind:
        by = f"{first.place}, which beats {behind[0]}"
        return Delivered(name=name, wanted=wanted, outcome="overridden", seen=first.value, by=by)
    return Delivered(name=name, wanted=wanted, outcome="differs", seen=first.value, by=first.place)


def _by_log(arrival: Arrival, name: str, wanted: str, echoed: str) -> Delivered:
    """NCCL's own word. A value that was placed rightly and read otherwise was changed inside the process."""
    if same_as_read(wanted, echoed):
        return Delivered(name=name, wanted=wanted, outcome="delivered", seen=echoed, by=LOG)
    placed = places(arrival, name)
    if placed and placed[0].value == wanted:
        by = f"the program or a plugin, after {placed[0].place} had it right ({LOG})"
        return Delivered(name=name, wanted=wanted, outcome="overridden", seen=echoed, by=by)
    behind = [one.place for one in placed[1:] if one.value == wanted]
    if behind:
        by = f"{placed[0].place}, which beats {behind[0]} ({LOG})"
        return Delivered(name=name, wanted=wanted, outcome="overridden", seen=echoed, by=by)
    return Delivered(name=name, wanted=wanted, outcome="differs", seen=echoed, by=LOG)


def _unread(arrival: Arrival, name: str) -> Fact[str | None]:
    """Why nothing is known: without its environment, a process' log tells only what NCCL came to read."""
    if isinstance(arrival.echoed, Unknown):
        return arrival.environ if isinstance(arrival.environ, Unknown) else arrival.echoed
    if not name.startswith("NCCL_"):
        return Unknown(unknown="NCCL's log tells of NCCL's variables only: name the process with --pid")
    if not arrival.echoed:
        return Unknown(unknown="the log names no variable: NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,ENV,NET does")
    return Unknown(unknown="the log does not name it: NCCL tells a variable when it reads it")


def same_as_read(wanted: str, echoed: str) -> bool:
    """Whether NCCL's line shows the wanted value: as it is, or as the number NCCL makes of it (strtoll, base 0)."""
    if wanted == echoed:
        return True
    return echoed.lstrip("-").isdigit() and str(number(wanted)) == echoed


def number(text: str) -> int:
    """What C's strtoll with base 0 makes of a text: 0x.. and a leading 0 count, the rest is ignored, words are 0."""
    found = _NUMBER.match(text[:80])
    if found is None:
        return 0
    sign, digits = found.groups()
    if digits[:2].lower() == "0x":
        value = int(digits, 16)
    elif digits.startswith("0"):
        octal = re.match("[0-7]*", digits)
        value = int(octal[0] if octal and octal[0] else "0", 8)
    else:
        value = int(digits)
    return -value if sign == "-" else value
