"""Reading one file of candidates: TOML in, checked `Offer`s out.

A file holds `backend` (nccl, gloo or any), `summary`, and one [[candidate]] per set: name, why, source,
targets, and optionally nccl (a condition such as ">=2.24"), requires ("two-rails", "hca") and
[candidate.variables]. What can't be right (an unknown variable, a set that could corrupt data) is an
InputError with the file and the place. Which files are read is `candidates`' matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any, Literal, get_args

from pydantic import ValidationError

from fabricdoc.errors import InputError
from fabricdoc.files import parse_toml
from fabricdoc.model.run import Backend, Candidate
from fabricdoc.nccl import catalogue, nearest, parse_conditions, reject_unsafe

Need = Literal["two-rails", "hca"]

MAX_FILE = 256 * 1024
"""Bytes of a file that are read at most; a larger one is refused."""
_KEYS = frozenset({"name", "why", "source", "targets", "nccl", "requires", "variables"})
_RESERVED = ("base", "current")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)


class Offer(Candidate):
    """A candidate as its file offers it: with the NCCL it needs ("" any) and what the fabric must have."""

    nccl: str = ""
    requires: tuple[Need, ...] = ()


def _text(file: Traversable, origin: str) -> str:
    """The file's text. A pipe or device is refused: reading it might never end."""
    try:
        if not file.is_file():
            raise InputError(f"{origin}: there is no such file")
        with file.open("rb") as stream:
            data = stream.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise InputError(f"{origin}: larger than {MAX_FILE // 1024} KiB, so not a file of candidates")
        return data.decode("utf-8")
    except OSError as error:
        raise InputError(f"{origin}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{origin}: {error}", fix="the file must be UTF-8") from error


def read_candidate_file(file: Traversable, origin: str) -> tuple[str, tuple[Offer, ...]]:
    """A file's backend ("nccl", "gloo" or "any") and its offers; `origin` names the file in errors."""
    text = _text(file, origin)
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise InputError(f"{origin}: {error}", fix="the file must be TOML") from error
    if unknown := sorted(document.keys() - {"backend", "summary", "candidate"}):
        raise InputError(f"{origin}: unknown key {unknown[0]!r}; a file has backend, summary and [[candidate]]")
    backend, tables = str(document.get("backend")), document.get("candidate", [])
    if backend not in ("any", *get_args(Backend)):
        raise InputError(f"{origin}: backend must be nccl, gloo or any")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{origin}: candidate must be written as [[candidate]] tables")
    return backend, tuple(_offers(tables, text, origin))


def _offers(tables: Sequence[dict[str, Any]], text: str, origin: str) -> Iterator[Offer]:
    lines = [number for number, line in enumerate(text.split("\n"), 1) if line.strip().startswith("[[candidate]]")]
    names: set[str] = set()
    for number, table in enumerate(tables):
        line = f" line {lines[number]}" if len(lines) == len(tables) else ""
        place = f"{origin}{line}, candidate {number + 1} ({str(table.get('name', 'no name'))[:40]!r})"
        offer = _offer(table, place)
        if offer.name in names:
            raise InputError(f"{place}: the name is used twice")
        names.add(offer.name)
        yield offer


def _offer(table: dict[str, Any], place: str) -> Offer:
    """One [[candidate]] table, checked."""
    if unknown := sorted(table.keys() - _KEYS):
        raise InputError(f"{place}: unknown key {unknown[0]!r}; known: {', '.join(sorted(_KEYS))}")
    name = table.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"{place}: name must be small letters, digits, - and _ (at most 64)")
    variables = _variables(table.get("variables", {}), place)
    _check_role(name, variables, place)
    role = {"role": "default", "on_base": False} if name == "default" else {}
    try:
        offer = Offer.model_validate({**table, "variables": variables, **role})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if offer.nccl and parse_conditions(offer.nccl) is None:
        raise InputError(f'{place}: nccl must be conditions such as ">=2.24" or ">=2.20,<2.24"')
    return offer


def _check_role(name: str, variables: Mapping[str, str], place: str) -> None:
    if name in _RESERVED:
        raise InputError(f"{place}: {name!r} is a name the bench uses itself")
    if name == "default" and variables:
        raise InputError(f"{place}: default is the bare library and holds no variables")
    if name != "default" and not variables:
        raise InputError(f"{place}: it sets no variables")


def _variables(table: object, place: str) -> dict[str, str]:
    """The variables as text, each known and none unsafe. Whole numbers may be written without quotes."""
    if not isinstance(table, dict):
        raise InputError(f"{place}: variables must be a table")
    variables: dict[str, str] = {}
    for name, value in table.items():
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise InputError(f"{place}: {name} must be text or a whole number")
        if name not in catalogue():
            near = nearest(name)
            raise InputError(
                f"{place}: no variable {name} is known", fix=f"did you mean {' or '.join(near)}?" if near else ""
            )
        variables[name] = str(value)
    if reason := reject_unsafe(variables):
        raise InputError(f"{place}: {reason}")
    return variables
