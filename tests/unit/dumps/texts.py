"""Invented outputs of the tools, after their formats; no real node's. Fields differ so that a mix-up is seen.

The same texts lie under tests/fixtures/dumps as files, as users would send them.
"""

from __future__ import annotations

from pathlib import Path

from fabricdoc.dumps import Told, read_text

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "dumps"


def fixture(name: str) -> str:
    """The text of a fixture."""
    return (FIXTURES / name).read_text(encoding="utf-8")


def facts(text: str, name: str = "x.txt") -> dict[tuple[str | int, ...], object]:
    """path -> value of every fact in a text; a path told twice must have one value."""
    found: dict[tuple[str | int, ...], object] = {}
    for one in read_text(name, text).told:
        assert found.get(one.path, one.value) == one.value or one.weak, one
        if not (one.weak and one.path in found):
            found[one.path] = one.value
    return found


def tools(text: str, name: str = "x.txt") -> list[tuple[str, int, int]]:
    """(tool, first line, last line) of every part."""
    return [(part.tool, part.first, part.last) for part in read_text(name, text).parts]


def line_of(text: str, path: tuple[str | int, ...], name: str = "x.txt") -> int:
    """The line that told a fact first."""
    told: list[Told] = [one for one in read_text(name, text).told if one.path == path]
    return told[0].line
