"""A short text as settings, facts of dumps, results of nccl-tests and signs of other programs, each with its line.

Which of them a text holds is told by its lines, not by its name; one paste may hold all. Judges nothing.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from fabricdoc.dumps import Reading, read_text
from fabricdoc.explain.commands import variables_typed
from fabricdoc.explain.documents import is_document, read_document
from fabricdoc.explain.headings import pieces_of, proven
from fabricdoc.explain.relayed import NEEDLE, read_relayed
from fabricdoc.explain.seen import Fact, Material, Row, Set, Sign, Spot
from fabricdoc.files import own_folder
from fabricdoc.nccl import Setting, clean, detect_format, settings_of

LONGEST_DUMP = 1 << 20
MOST_OF_A_SIGN = 40
SPARSE = 25
"""A script, or a post, has a variable in more than one of so many lines; prose that names one in passing has not."""
SETTINGS = re.compile(
    r"(?:NCCL|GLOO|UCX|OMPI|TORCH|PYTORCH|CUDA|VLLM|SGLANG|FI|MASTER|LD|RAY|HSN|NVSHMEM|OFI|RDMAV|MLX5|HOSTNAME|MPI)"
    r"_?[A-Z0-9_]*"
)
_NAMED = re.compile(r"\b(?:NCCL|GLOO|UCX|OMPI|TORCH|FI|VLLM|CUDA|MASTER)_[A-Z]")
_RESULT = re.compile(
    r"\s*(?P<size>\d{1,18})\s+\d{1,18}\s+\w{1,20}\s+(?:\w{1,20}\s+)?(?:-?\d{1,6}\s+)?"
    r"(?P<time>[\d.]{1,20})\s+(?P<alg>[\d.]{1,20})\s+(?P<bus>[\d.]{1,20})(?:\s+(?P<wrong>\S{1,20}))?"
    r"(?:\s+[\d.]{1,20}\s+[\d.]{1,20}\s+(?P<bus2>[\d.]{1,20})(?:\s+(?P<wrong2>\S{1,20}))?)?\s*$"
)
_BEHIND = re.compile(
    r"(?:[>:|\])]|\dZ) {1,20}(?P<row>\d{1,18} {1,20}\d{1,18} {1,20}[a-z][a-z0-9_]{2,15} [^\n]{20,220})$"
)
"""A row of a result behind what a launcher puts in front of every line: [1,0]<stdout>:, 0: , NAME |, a time."""
_ROW_ENDS = (*"0123456789", "N/A", "m")
"""How a row ends: a number, a check that was not made, or a colour code."""


@dataclass(frozen=True, slots=True)
class SignRow:
    """A row of presets/causes/signs.csv: what a line must hold, and the regex that names it."""

    id: str
    needle: str
    regex: re.Pattern[str]


@cache
def sign_rows() -> tuple[SignRow, ...]:
    """All rows, in their order."""
    text = own_folder("presets").joinpath("causes", "signs.csv").read_text(encoding="utf-8")
    return tuple(
        SignRow(row["id"], row["needle"], re.compile(row["regex"])) for row in csv.DictReader(text.splitlines())
    )


def read_short(material: Material, text: str) -> None:
    """Add what a text tells, beside NCCL's lines, to `material`."""
    lines = text.split("\n")
    material.lines = material.lines or len(lines) - (lines[-1] == "")
    if is_document(text) and read_document(material, text):
        return
    if NEEDLE in text:
        read_relayed(material, lines)
    _settings(material, text, lines)
    _results(material, lines)
    _signs(material, text, lines)
    if len(text) <= LONGEST_DUMP:
        _facts(material, text, lines)


def _settings(material: Material, text: str, lines: list[str]) -> None:
    """The variables of a file of settings; of a log what NCCL itself says counts, and commands in front of it."""
    if "NCCL log" in material.kinds:
        material.sets += [
            Set(name, value, _spot(material, lines, number), "file", "shell")
            for name, value, number in variables_typed(lines)
        ]
        return
    if len(text) > LONGEST_DUMP or not _NAMED.search(text):
        return
    form = detect_format(material.name, text)
    try:
        found = settings_of(material.name, text, form)
    except ValueError:
        return
    kept = [one for one in found if SETTINGS.fullmatch(one.name)]
    material.sets += [
        Set(
            one.name,
            one.value,
            _spot(material, lines, one.line),
            "file",
            form,
            wrong=tuple(complaint.id for complaint in one.wrong),
        )
        for one in kept
    ]
    if kept and not _passing(text, form, kept):
        material.kinds.append("settings")


def _passing(text: str, form: str, kept: Sequence[Setting]) -> bool:
    """Whether a text speaks of a variable in passing, as prose does: one line of very many holds one."""
    filled = sum(1 for line in text.split("\n") if line.strip())
    return form in ("shell", "command") and len({one.line for one in kept}) * SPARSE < filled


def _results(material: Material, lines: list[str]) -> None:
    for number, line in enumerate(lines, 1):
        if len(line) > 300 or not line.rstrip().endswith(_ROW_ENDS):
            continue
        plain = clean(line)
        match = _RESULT.match(plain) if plain[:24].lstrip()[:1].isdigit() else None
        if match is None and (behind := _BEHIND.search(plain)):
            match = _RESULT.match(behind["row"])
        if match and (row := _row(match, _spot(material, lines, number))):
            material.rows.append(row)
    if material.rows:
        material.kinds.append("nccl-tests")


def _row(match: re.Match[str], spot: Spot) -> Row | None:
    try:
        busbw = tuple(float(text) for text in (match["bus"], match["bus2"]) if text)
    except ValueError:
        return None
    wrong = [int(text) for text in (match["wrong"], match["wrong2"]) if text and text.isdecimal()]
    return Row(int(match["size"]), busbw, sum(wrong) if wrong else None, spot)


def _signs(material: Material, text: str, lines: list[str]) -> None:
    for row in sign_rows():
        if row.needle in text:
            material.signs += list(_of_sign(material, row, lines))[:MOST_OF_A_SIGN]
    material.signs.sort(key=lambda sign: sign.spot.line)


def _of_sign(material: Material, row: SignRow, lines: list[str]) -> Iterator[Sign]:
    for number, line in enumerate(lines, 1):
        if row.needle in line and (match := row.regex.search(line[:2000])):
            groups = {name: value for name, value in match.groupdict().items() if value is not None}
            yield Sign(row.id, _spot(material, lines, number), groups)


def _facts(material: Material, text: str, lines: list[str]) -> None:
    """The facts of dumps; those of several nodes, under headings or behind their names, with the node of each."""
    pieces = pieces_of(lines, material.hosts)
    readings = [read_text(material.name, "\n".join(piece.texts)) for piece in pieces]
    nodes = proven((piece.node, _tools(reading)) for piece, reading in zip(pieces, readings, strict=True))
    nodes -= {str(one.path[1]) for reading in readings for one in reading.told if len(one.path) > 1}
    if len(nodes) < 2:
        reading = read_text(material.name, text)
        _take_facts(material, reading, lines, range(1, len(lines) + 1))
        _hosts_of_prompts(material, reading)
        return
    for piece, reading in zip(pieces, readings, strict=True):
        _take_facts(material, reading, lines, piece.numbers)
        if piece.node in nodes:
            material.under.update(dict.fromkeys(piece.numbers, piece.node))
    before = pieces[0].numbers[0] - 1
    _take_facts(material, read_text(material.name, "\n".join(lines[:before])), lines, range(1, before + 1))


def _tools(reading: Reading) -> set[str]:
    return {part.tool for part in reading.parts if part.tool and part.told}


def _hosts_of_prompts(material: Material, reading: Reading) -> None:
    """Where prompts of two hosts stand above dumps, each dump is its host's, whatever the file is called."""
    parts = [part for part in reading.parts if part.told and part.host]
    if len({part.host for part in parts}) > 1:
        for part in parts:
            material.under.update(dict.fromkeys(range(part.first, part.last + 1), part.host))


def _take_facts(material: Material, reading: Reading, lines: list[str], numbers: Sequence[int]) -> None:
    """Add a reading's facts; `numbers` are the lines of the file that its own lines are."""
    for part in reading.parts:
        if not part.tool or not part.told:
            continue
        if part.tool not in material.kinds:
            material.kinds.append(part.tool)
        for one in part.told:
            spot = _spot(material, lines, numbers[min(one.line, len(numbers)) - 1])
            material.facts.append(Fact(one.path, one.value, Spot(spot.file, spot.line, spot.text, part.host)))


def _spot(material: Material, lines: list[str], number: int) -> Spot:
    text = clean(lines[number - 1]) if 0 < number <= len(lines) else ""
    return Spot(material.name, number, text)
