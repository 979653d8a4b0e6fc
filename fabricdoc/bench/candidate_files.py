"""Reading one file of candidates: TOML in, checked `Offer`s out.

A file holds `backend` (nccl, gloo or any), `summary`, and one [[candidate]] per set: name, why, source, risk, targets,
[candidate.when] (what must be true here), [candidate.variables], and [candidate.nodes.NAME] for values of one node.
What can't be right (an unknown variable, a set that could corrupt data) is an InputError with the file, the line and
the key. Which files are read is `candidates`' matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NoReturn, get_args

from pydantic import ValidationError

from fabricdoc.bench.candidate_values import BadVariable, checked, needs_fresh_agent, unequal
from fabricdoc.bench.offers import Offer
from fabricdoc.errors import InputError
from fabricdoc.files import parse_toml, read_text
from fabricdoc.model.run import Backend
from fabricdoc.nccl import parse_conditions

MAX_FILE = 256 * 1024
"""Bytes of a file that are read at most; a larger one is refused."""
MOST = 200
"""Candidates of a file at most: each costs launches, and a mistake must not plan a month."""
_KEYS = frozenset({"name", "why", "source", "risk", "targets", "when", "variables", "nodes"})
_FILE_KEYS = frozenset({"backend", "summary", "candidate", "engine"})
_RESERVED = ("base", "current")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
_HEAD = re.compile(r"\s*\[\[\s*candidate\s*\]\]")


@dataclass(frozen=True)
class _Place:
    """One [[candidate]] of a file's text: what errors say of where they are."""

    origin: str
    lines: Sequence[str]
    first: int
    number: int
    name: str

    def at(self, key: str = "") -> str:
        """`my.toml line 12, candidate 2 ('two')`; the line of the key where it is found."""
        line = self._line(key) or self.first
        where = f" line {line}" if line else ""
        return f"{self.origin}{where}, candidate {self.number} ({self.name[:40]!r})"

    def _line(self, key: str) -> int:
        if not key or not self.first:
            return 0
        wanted = re.compile(rf"""\s*(?:[A-Za-z_.]+\.)?["']?{re.escape(key)}["']?\s*=""")
        for number, line in enumerate(self.lines[self.first :], self.first + 1):
            if _HEAD.match(line):
                return 0
            if wanted.match(line):
                return number
        return 0

    def refuse(self, message: str, key: str = "", fix: str = "") -> NoReturn:
        """Raise the InputError of this place."""
        raise InputError(f"{self.at(key)}: {message}", fix=fix)


def read_toml(file: Traversable, origin: str) -> tuple[dict[str, Any], str]:
    """The table in a file of at most MAX_FILE bytes, and its text. A pipe or device is refused: it might never end."""
    text = _text(file, origin)
    try:
        return parse_toml(text), text
    except ValueError as error:
        raise InputError(f"{origin}: {error}", fix="the file must be TOML") from error


def _text(file: Traversable, origin: str) -> str:
    """The file's text; what was brought along can be no pipe and is never too long."""
    if isinstance(file, Path):
        return read_text(file, origin, limit=MAX_FILE)
    return file.read_text(encoding="utf-8")


def read_candidate_file(file: Traversable, origin: str, *, own: bool = False) -> tuple[str, tuple[Offer, ...]]:
    """A file's backend ("nccl", "gloo" or "any") and its offers; `origin` names the file in errors."""
    document, text = read_toml(file, origin)
    if unknown := sorted(document.keys() - _FILE_KEYS):
        raise InputError(f"{origin}: unknown key {unknown[0]!r}", fix="a file has backend, summary and [[candidate]]")
    backend, tables = str(document.get("backend")), document.get("candidate", [])
    if backend not in ("any", *get_args(Backend)):
        raise InputError(f"{origin}: backend must be nccl, gloo or any", fix='begin the file with: backend = "nccl"')
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{origin}: candidate is no list of tables", fix="begin each candidate with [[candidate]]")
    if len(tables) > MOST:
        raise InputError(
            f"{origin}: {len(tables)} candidates; at most {MOST} can be tried in one bench", fix="take some out"
        )
    return backend, tuple(_offers(tables, text, origin, own))


def _offers(tables: Sequence[dict[str, Any]], text: str, origin: str, own: bool) -> Iterator[Offer]:
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines, 1) if _HEAD.match(line)]
    names: set[str] = set()
    for number, table in enumerate(tables):
        first = heads[number] if len(heads) == len(tables) else 0
        place = _Place(origin, lines, first, number + 1, str(table.get("name", "no name")))
        offer = _offer(table, place)
        if offer.name in names:
            place.refuse("the name is used twice", "name")
        names.add(offer.name)
        yield offer.model_copy(update={"place": place.at(), "own": own, "set_name": set_name(origin)})


def set_name(origin: str) -> str:
    """`decode` from presets' decode.toml, `mine` from ./folder/mine.toml."""
    return origin.rpartition("/")[2].removesuffix(".toml")[:64]


def _offer(table: dict[str, Any], place: _Place) -> Offer:
    """One [[candidate]] table, checked."""
    if unknown := sorted(table.keys() - _KEYS):
        place.refuse(f"unknown key {unknown[0]!r}; known: {', '.join(sorted(_KEYS))}", unknown[0])
    name = table.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        place.refuse("name must be small letters, digits, - and _ (at most 64)", "name")
    variables, nodes = _variables(table, place)
    _check_role(name, bool(variables or nodes), place)
    role = {"role": "default", "on_base": False} if name == "default" else {}
    fresh = needs_fresh_agent([*variables, *(one for own in nodes.values() for one in own)])
    rest = {key: value for key, value in table.items() if key != "nodes"}
    try:
        offer = Offer.model_validate(
            {**rest, "variables": variables, "node_variables": nodes, "fresh_agent": fresh, **role}
        )
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(part) for part in first["loc"]]
        place.refuse(f"{'.'.join(keys)}: {first['msg']}", keys[-1] if keys[0] == "when" else keys[0])
    if offer.when.nccl and parse_conditions(offer.when.nccl) is None:
        place.refuse('nccl must be conditions such as ">=2.24" or ">=2.20,<2.24"', "nccl")
    return offer


def _variables(table: dict[str, Any], place: _Place) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The common variables and those of single nodes."""
    nodes = table.get("nodes", {})
    if not isinstance(nodes, dict):
        place.refuse("nodes must be tables, [candidate.nodes.NAME]", "nodes")
    try:
        common = checked(table.get("variables", {}))
        own = {str(node): checked(values) for node, values in nodes.items()}
    except BadVariable as bad:
        place.refuse(str(bad), bad.name, bad.fix)
    if differs := unequal(common, own):
        place.refuse(
            f"{differs[0]} must be equal on all ranks, and is {differs[1]}", differs[0], "give it once, in variables"
        )
    return common, own


def _check_role(name: str, sets_some: bool, place: _Place) -> None:
    if name in _RESERVED:
        place.refuse(f"{name!r} is a name the bench uses itself", "name")
    if name == "default" and sets_some:
        place.refuse("default is the bare library and holds no variables", "name")
    if name != "default" and not sets_some:
        place.refuse("it sets no variables")
