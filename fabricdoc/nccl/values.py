"""Whether NCCL takes a value as it is meant: known name, right type, in range, read by this release at all.

Pure functions of name, value and release. Numbers are judged as NCCL reads them (misc/param.cc): strtoll with base 0,
so that text is 0, what follows digits is ignored and a leading 0 means octal. Lists (selectors, algorithms, ...) are
`lists`' matter, sets of variables `contradictions`'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lists import check_list, has_grammar
from fabricdoc.nccl.variables import Variable, catalogue, circulating, nearest
from fabricdoc.nccl.versions import Release, parse_release

MAX_SHOWN = 60
OWN = ("NCCL_",)
"""Names that begin so are NCCL's or somebody's mistake; other programs' names are left alone."""

_NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|\d+)(.*)", re.DOTALL | re.ASCII)
_WORDS = re.compile(r"[A-Za-z0-9_.+-]+(?:\|[A-Za-z0-9_.+-]+)+", re.ASCII)
_RANGE = re.compile(r"(?:(-1)\|)?(-?\d+)\.\.(-?\d+)\b", re.ASCII)
_BOUND = re.compile(r"(>=|>)\s*(-?\d+)", re.ASCII)
_YES_NO = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0", "enable": "1", "disable": "0"}
_DANGEROUS = {
    "NCCL_CHECKS_DISABLE": "NCCL then checks no arguments: a wrong call corrupts memory instead of failing",
    "NCCL_MULTI_RANK_GPU_ENABLE": "two ranks on one GPU are let through, which hides clones with equal host ids",
}
"""Switches that are dangerous when on."""


def check_value(name: str, value: str, release: Release | None = None) -> tuple[Complaint, ...]:
    """What is wrong with one variable, for the NCCL of that release (None: any)."""
    return tuple(_checks(name, value, release))


def _checks(name: str, value: str, release: Release | None) -> Iterator[Complaint]:
    variable = catalogue().get(name)
    if variable is None:
        yield from _unknown(name)
        return
    yield from _read_by(variable, release)
    if not value:
        yield Complaint("empty-value", name, f"{name} is empty: NCCL takes it as not set", f"leave {name} out")
        return
    quoted = value[0] in "\"'" and value[-1] == value[0] and len(value) > 1
    if quoted:
        message = f"the quotes are part of the value: NCCL reads {shown(value)} with them"
        yield Complaint("bad-value", name, message, f"{name}={value[1:-1]}", value)
        return
    if has_grammar(name):
        yield from check_list(name, value, release)
    if not has_grammar(name) or variable.kind == "int":
        yield from _typed(variable, value)
    yield from _debug(name, value)


def shown(value: str) -> str:
    """A value as it may stand in a message: short and printable."""
    text = value[:MAX_SHOWN] + ("..." if len(value) > MAX_SHOWN else "")
    return repr(text) if not text.isprintable() or text != text.strip() else text


def _unknown(name: str) -> Iterator[Complaint]:
    other = circulating(name)
    if other is not None and other.kind == "nothing":
        fix = f"use {other.instead}" if other.instead else f"leave {name} out"
        yield Complaint("does-nothing", name, f"{name} does nothing: {other.why}", fix)
    elif other is not None and other.kind == "renamed":
        yield Complaint("removed-variable", name, f"{name} is an old name: {other.why}", f"use {other.instead}")
    elif other is None and name.startswith(OWN):
        near = nearest(name, 1)
        fix = f"did you mean {near[0]}?" if near else f"leave {shown(name)} out"
        yield Complaint(
            "unknown-variable", name, f"no release of NCCL reads {shown(name)}, and it will not say so", fix
        )


def _read_by(variable: Variable, release: Release | None) -> Iterator[Complaint]:
    since, removed = parse_release(variable.since), parse_release(variable.removed)
    if removed is not None and (release is None or release >= removed):
        message = f"{variable.name} is not read any more since NCCL {variable.removed}: {variable.effect}"
        yield Complaint("removed-variable", variable.name, message, f"leave {variable.name} out")
    elif release is not None and since is not None and release < since and not variable.since.startswith("<="):
        here = ".".join(map(str, release))
        message = f"NCCL {here} does not read {variable.name} yet (since {variable.since})"
        yield Complaint(
            "not-yet-in-this-version", variable.name, message, f"leave it out, or use NCCL {variable.since}"
        )


def _typed(variable: Variable, value: str) -> Iterator[Complaint]:
    if variable.kind == "bool" and not variable.name.startswith(OWN):
        return  # PyTorch takes words there, too
    if variable.kind in ("int", "bool"):
        yield from _number(variable, value)
    elif variable.kind == "enum":
        yield from _word(variable, value)


def _number(variable: Variable, value: str) -> Iterator[Complaint]:
    name = variable.name
    accepted = _WORDS.fullmatch(variable.accepted)
    if accepted and value in variable.accepted.split("|"):
        yield from _dangerous(name, value)
        return
    match = _NUMBER.fullmatch(value)
    if match is None:
        meant = _YES_NO.get(value.strip().lower())
        fix = f"{name}={meant}" if meant else f"{name}=NUMBER ({variable.accepted})"
        yield Complaint("bad-value", name, f"{name} is a number: NCCL reads {shown(value)} as 0", fix, value)
        return
    number, octal = read_number(match[1] + match[2])
    if match[3].strip():
        message = f"NCCL reads the digits alone: {shown(value)} is {number}"
        yield Complaint("bad-value", name, message, f"{name}={number}", match[3])
    elif octal:
        message = f"a leading 0 means octal: NCCL reads {shown(value)} as {number}"
        yield Complaint("bad-value", name, message, f"{name}={match[2].lstrip('0') or '0'}", value)
    elif not in_range(number, variable):
        message = f"{number} is out of range: {name} takes {variable.accepted}"
        yield Complaint("out-of-range", name, message, f"{name}={variable.default.split(' ')[0]} is the default", value)
    yield from _dangerous(name, match[1] + match[2])


def read_number(text: str) -> tuple[int, bool]:
    """A number as strtoll reads it with base 0, and whether a leading 0 made it octal to somebody's surprise."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    digits = digits[:20]
    if digits[:2].lower() == "0x":
        return sign * int(digits, 16), False
    if len(digits) > 1 and digits[0] == "0":
        octal = re.match(r"[0-7]*", digits)
        return sign * int((octal[0] if octal else "") or "0", 8), True
    return sign * int(digits), False


def in_range(number: int, variable: Variable) -> bool:
    """Whether the catalogue's words allow a number; words that name no bounds allow every one."""
    default = _NUMBER.match(variable.default)
    if default and read_number(default[1] + default[2])[0] == number:
        return True
    if variable.kind == "bool":
        return number in (0, 1)
    words = variable.accepted
    if _WORDS.fullmatch(words) and all(re.fullmatch(r"-?\d+", one) for one in words.split("|")):
        return str(number) in words.split("|")
    if bounds := _RANGE.match(words):
        return int(bounds[2]) <= number <= int(bounds[3]) or number == -1 == int(bounds[1] or 0)
    if bound := _BOUND.search(words):
        return number >= int(bound[2]) + (bound[1] == ">")
    return number >= -2


def _word(variable: Variable, value: str) -> Iterator[Complaint]:
    """An enum's words. NCCL compares most of them without case; what it does not know it ignores without a word."""
    words = variable.accepted.split(" ")[0].split("|") if "|" in variable.accepted else []
    if words and all(re.fullmatch(r"\w+", word) for word in words) and value.upper() not in map(str.upper, words):
        message = f"NCCL does not know {shown(value)}: {variable.name} takes {variable.accepted}"
        yield Complaint("bad-value", variable.name, message, f"{variable.name}={words[0]}", value)


def _dangerous(name: str, text: str) -> Iterator[Complaint]:
    if name in _DANGEROUS and _NUMBER.fullmatch(text) and read_number(text)[0] == 1:
        yield Complaint("dangerous-value", name, f"{name}=1: {_DANGEROUS[name]}", f"leave {name} out")


def _debug(name: str, value: str) -> Iterator[Complaint]:
    if name == "NCCL_DEBUG" and value.strip().upper() in ("INFO", "TRACE"):
        level = value.strip().upper()
        message = f"NCCL_DEBUG={level} writes to every rank's log; with COLL or TUNING one line a call"
        yield Complaint("debug-left-on", name, message, "NCCL_DEBUG=WARN (or VERSION) once all is well", value)
