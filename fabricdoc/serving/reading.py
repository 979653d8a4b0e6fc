"""Reading one profile file: TOML as in presets/profiles, or the JSON document that `profile show --json` prints.

Totals are computed here, never trusted: a file that states them must state them right. Knows no search path.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fabricdoc.errors import InputError
from fabricdoc.files import parse_json, parse_toml, read_text
from fabricdoc.model.faults import first_fault
from fabricdoc.model.profile import Collective, Profile, Stage, Totals

_FIX = "compare it with the shipped ones (fabricdoc profile show NAME) and mend that place"
_STAGES = ("decode", "prefill")
MOST_CALLS, MOST_BYTES, MOST_CAPTURED = 1_000_000, 1 << 40, 1024
"""What a step can have at the very most: a file that says more is broken or hostile."""


def read_profile(path: Path) -> Profile:
    """The profile in that file. Raises InputError naming the file, the place in it and what to do."""
    return parse_profile(read_text(path, f"profile {path}"), str(path), is_json=path.suffix == ".json")


def parse_profile(text: str, where: str, *, is_json: bool = False) -> Profile:
    """The profile in that text; `where` names it in errors. Raises InputError."""
    try:
        content: Any = parse_json(text) if is_json else parse_toml(text)
    except ValueError as error:
        raise InputError(f"profile {where}: {error}", fix="mend the syntax at that place") from error
    if not isinstance(content, dict):
        raise InputError(f"profile {where} is no table of keys", fix=_FIX)
    try:
        stated = {place: _without_totals(table) for place, table in _tables(content)}
        profile = Profile.model_validate(content)
    except ValidationError as error:
        raise InputError(f"profile {where}: {first_fault(error)}", fix=_FIX) from error
    for place, stage in _stages(profile):
        _check(stage, place, stated.get(place), where)
    return profile


def totals(collectives: tuple[Collective, ...]) -> Totals:
    """Sums over a stage: calls (of every op in `collectives`), and bytes as count x size."""
    calls = {op: sum(one.count for one in collectives if one.op == op) for op in ("all_reduce", "all_gather")}
    size = {op: sum(one.count * one.size for one in collectives if one.op == op) for op in calls}
    return Totals(
        collectives=sum(one.count for one in collectives),
        all_reduce=calls["all_reduce"],
        all_gather=calls["all_gather"],
        all_reduce_bytes=size["all_reduce"],
        all_gather_bytes=size["all_gather"],
    )


def _tables(content: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every stage's table with its place in the file; those that are no tables are told by the validation."""
    captured = content.get("captured")
    listed = captured[:MOST_CAPTURED] if isinstance(captured, list) else []
    named = [(stage, content.get(stage)) for stage in _STAGES]
    named += [(f"captured[{number}]", table) for number, table in enumerate(listed)]
    return [(place, table) for place, table in named if isinstance(table, dict)]


def _stages(profile: Profile) -> list[tuple[str, Stage]]:
    captured = [(f"captured[{number}]", stage) for number, stage in enumerate(profile.captured)]
    return [("decode", profile.decode), ("prefill", profile.prefill), *captured]


def _without_totals(table: dict[str, Any]) -> object:
    """Put computed totals into the stage; returns the totals the file stated, if any. May raise ValidationError."""
    stated = table.pop("totals", None)
    rows = table.get("collectives", [])
    if isinstance(rows, list):
        good = _collectives(rows)
        table["totals"] = totals(good).model_dump()
    else:
        table["totals"] = totals(()).model_dump()
    return stated


def _collectives(rows: list[Any]) -> tuple[Collective, ...]:
    """The rows that are valid; a bad one is told by the validation of the whole, with its place."""
    good = []
    for row in rows:
        try:
            good.append(Collective.model_validate(row))
        except ValidationError:
            continue
    return tuple(good)


def _check(stage: Stage, place: str, stated: object, where: str) -> None:
    """What types can't say: positive numbers, and `size` and `send_bytes` not mixed up."""
    for index, one in enumerate(stage.collectives):
        if problem := _problem(one):
            raise InputError(f"profile {where}: {place}.collectives[{index}] ({one.role}): {problem}", fix=_FIX)
    if stated is not None and stated != stage.totals.model_dump():
        raise InputError(
            f"profile {where}: {place}.totals does not match its collectives",
            fix="leave totals out: they are computed",
        )


def _problem(one: Collective) -> str:
    if min(one.count, one.size, one.send_bytes) < 1:
        return "count, size and send_bytes must be at least 1"
    if one.count > MOST_CALLS or one.size > MOST_BYTES:
        return f"more than {MOST_CALLS} calls or {MOST_BYTES} bytes is no step of a server"
    if one.op == "all_reduce" and one.send_bytes != one.size:
        return f"an all_reduce sends its message: send_bytes is {one.send_bytes}, size is {one.size}"
    if one.op == "all_gather" and (one.size % one.send_bytes or one.size == one.send_bytes):
        return f"an all_gather's size is send_bytes x ranks: {one.size} is no such multiple of {one.send_bytes}"
    return ""
