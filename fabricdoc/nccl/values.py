"""Whether NCCL takes a value as it is meant: known name, right type, in range, read by this release at all.

Pure functions of name, value and the NCCL meant. Numbers are judged as `numbers` reads them. Lists (selectors,
algorithms, ...) are `lists`' matter, legal values that are mistakes `hazards`', sets of variables `contradictions`'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.hazards import check_hazards, hazards
from fabricdoc.nccl.lists import check_list, has_grammar
from fabricdoc.nccl.numbers import NUMBER, read_number
from fabricdoc.nccl.variables import Variable, catalogue, circulating, nearest
from fabricdoc.nccl.versions import Release, parse_release
from fabricdoc.near import edits

MAX_SHOWN = 60
OWN = ("NCCL_",)
"""Names that begin so are NCCL's or somebody's mistake; other programs' names are left alone."""
QUOTES = "\"'"
_NO_QUOTES = str.maketrans("", "", QUOTES)

_WORDS = re.compile(r"[A-Za-z0-9_.+-]+(?:\|[A-Za-z0-9_.+-]+)+", re.ASCII)
_RANGE = re.compile(r"(?:(-1)\|)?(-?\d+)\.\.(-?\d+)\b", re.ASCII)
_BOUND = re.compile(r"(>=|>)\s*(-?\d+)", re.ASCII)
_YES_NO = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0", "enable": "1", "disable": "0"}
_TYPO = re.compile(r"N{0,2}[CL]{2,4}_|NCCL(?!_)", re.ASCII)
"""How names begin that were meant to begin with NCCL_."""
_NEAR_OTHERS = ("TORCH_NCCL_", "GLOO_", "TP_SOCKET")
"""Other programs' names, of which the catalogue holds some: only what looks very much like one of those is a typo."""

MOST_SLIPS_OF_OTHERS = 2


@dataclass(frozen=True, slots=True)
class Nccl:
    """The NCCL that is meant: its release (None: any), and the names found in its library (None: not looked at).

    `told` says where that is known from, in a few words.
    """

    release: Release | None = None
    names: frozenset[str] | None = None
    told: str = ""

    def lacks(self, variable: Variable) -> bool:
        """Whether the library was looked at and has not the name, although NCCL's own code would read it."""
        own = variable.name.startswith(OWN) and variable.area not in ("plugin", "torch")
        return own and self.names is not None and variable.name not in self.names


ANY = Nccl()


def check_value(
    name: str, value: str, release: Release | None = None, nccl: Nccl = ANY, *, near: bool = True
) -> tuple[Complaint, ...]:
    """What is wrong with one variable, for the NCCL of that release (None: any), or for the `nccl` meant.

    `near` False leaves out the search for the nearest known name, which is slow where a file has thousands.
    """
    return tuple(_checks(name, value, Nccl(release) if release else nccl, near=near))


def _checks(name: str, value: str, nccl: Nccl, *, near: bool) -> Iterator[Complaint]:
    variable = catalogue().get(name)
    if variable is None:
        yield from check_hazards(name, value)
        yield from _unknown(name, nccl, near=near)
        return
    yield from _read_by(variable, nccl)
    if not value:
        yield Complaint("empty-value", name, f"{name} is empty: NCCL takes it as not set", f"leave {name} out")
        return
    if quotes := [letter for letter in value if letter in QUOTES]:
        message = f"the quotes are part of the value: {reader(name)} gets {shown(value)} with them"
        fix = f"{name}={value.translate(_NO_QUOTES)}"
        yield Complaint("env-file-quotes-kept", name, message, fix, value[value.index(quotes[0]) :])
        return
    if any(letter < " " for letter in value):
        yield Complaint("bad-value", name, f"the value holds a control character: {shown(value)}", f"write {name} anew")
        return
    if has_grammar(name):
        yield from check_list(name, value, nccl.release)
    if not has_grammar(name) or variable.kind == "int":
        yield from _typed(variable, value)
    yield from check_hazards(name, value)


def reader(name: str) -> str:
    """Who reads a variable of that name."""
    return "NCCL" if name.startswith(OWN) else "PyTorch"


def shown(value: str) -> str:
    """A value as it may stand in a message: short and printable."""
    text = value[:MAX_SHOWN] + ("..." if len(value) > MAX_SHOWN else "")
    return repr(text) if not text.isprintable() or text != text.strip() else text


def _unknown(name: str, nccl: Nccl, *, near: bool) -> Iterator[Complaint]:
    other = circulating(name)
    if other is not None and other.kind == "nothing":
        fix = f"use {other.instead}" if other.instead else f"leave {name} out"
        yield Complaint("does-nothing", name, f"{name} does nothing: {other.why}", fix)
    elif other is not None and other.kind == "renamed":
        yield Complaint("removed-variable", name, f"{name} is an old name: {other.why}", f"use {other.instead}")
    elif other is None and name not in (nccl.names or ()):
        yield from _unheard(name, near=near)


def _unheard(name: str, *, near: bool) -> Iterator[Complaint]:
    """A name that nothing knows: NCCL's own prefix, one that looks like it, or a near miss of another program's."""
    ours = name.startswith(OWN) or bool(_TYPO.match(name)) or (name.islower() and name.upper() in catalogue())
    theirs = name.startswith(_NEAR_OTHERS)
    found = nearest(name, 1) if near and (ours or theirs) else ()
    if found and not ours and edits(name, found[0], MOST_SLIPS_OF_OTHERS) > MOST_SLIPS_OF_OTHERS:
        found = ()
    if name.startswith(OWN) or found:
        fix = f"did you mean {found[0]}?" if found else f"leave {shown(name)} out"
        who = "no release of NCCL reads" if ours else "nobody reads"
        yield Complaint("unknown-variable", name, f"{who} {shown(name)}, and nothing will say so", fix)


def _read_by(variable: Variable, nccl: Nccl) -> Iterator[Complaint]:
    since, removed, release = parse_release(variable.since), parse_release(variable.removed), nccl.release
    name, fix = variable.name, f"leave {variable.name} out"
    there = nccl.names is not None and name in nccl.names
    if there:
        return
    if removed is not None and (release is None or release >= removed):
        message = f"{name} is not read any more since NCCL {variable.removed}: {variable.effect}"
        yield Complaint("removed-variable", name, message, fix)
    elif release is not None and since is not None and release < since and not variable.since.startswith("<="):
        here = ".".join(map(str, release))
        message = f"NCCL {here} does not read {name} yet (since {variable.since})"
        yield Complaint("not-yet-in-this-version", name, message, f"leave it out, or use NCCL {variable.since}")
    elif nccl.lacks(variable):
        message = f"{name} does nothing here: {nccl.told} does not hold the name"
        yield Complaint("does-nothing", name, message, fix)


def _typed(variable: Variable, value: str) -> Iterator[Complaint]:
    if variable.kind == "bool" and not variable.name.startswith(OWN):
        return  # PyTorch takes words there, too
    if variable.kind in ("int", "bool"):
        yield from _number(variable, value)
    elif variable.kind == "enum":
        yield from _word(variable, value)
    elif value != value.strip():
        message = f"the blank is part of the value: {reader(variable.name)} gets {shown(value)}"
        yield Complaint("bad-value", variable.name, message, f"{variable.name}={value.strip()}", value)


def _number(variable: Variable, value: str) -> Iterator[Complaint]:
    name = variable.name
    accepted = _WORDS.fullmatch(variable.accepted)
    if accepted and value in variable.accepted.split("|"):
        return
    match = NUMBER.fullmatch(value)
    if match is None:
        yield _no_number(variable, value)
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


def _no_number(variable: Variable, value: str) -> Complaint:
    """A word where NCCL wants a number: what it does now, which is what 0 does, and what the number meant would do."""
    name, meant = variable.name, _YES_NO.get(value.strip().lower())
    message = f"{name} is a number: NCCL reads {shown(value)} as 0"
    if meant is None:
        return Complaint("bad-value", name, message, f"{name}=NUMBER ({variable.accepted})", value)
    if meant == "0":
        return Complaint("bad-value", name, f"{message}, as is meant here", f"{name}=0", value, level="warning")
    default = NUMBER.match(variable.default)
    is_default = default is None or not read_number(default[1] + default[2])[0]
    now = "so it does nothing" if is_default else "so it is switched off, which without this line it is not"
    fix = f"{name}=1"
    if is_default and ("DISABLE" in name or any(hazard.holds("1") for hazard in hazards().get(name, ()))):
        fix = f"{name}=0 for what is now, 1 for what the word says"
    message = f"{message}, {now}. With 1: {_from_one(variable.effect)}"
    return Complaint("bad-value", name, message, fix, value)


def _from_one(effect: str) -> str:
    """The catalogue's words on a variable as those on its value 1."""
    plain = effect.removeprefix("1 ")
    return plain[:1].lower() + plain[1:] if plain[1:2].islower() else plain


def in_range(number: int, variable: Variable) -> bool:
    """Whether the catalogue's words allow a number; words that name no bounds allow every one."""
    default = NUMBER.match(variable.default)
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
