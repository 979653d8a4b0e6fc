"""Where a setting stands: the name and value a program would get, and the file, line and column they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabricdoc.nccl.complaints import Complaint

Format = Literal["docker", "shell", "nccl.conf", "systemd", "command", "yaml", "json"]
FORMATS: tuple[Format, ...] = ("docker", "shell", "nccl.conf", "systemd", "command", "yaml", "json")
MOST_SETTINGS = 4096
MAX_TEXT = 1023
"""Characters of a line that a remark quotes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable as its reader takes it; `line` and `column` count from 1, `text` is the line without its end.

    `wrong` are complaints on how it is written, whatever the value means. `scope` tells apart the environments of one
    file: those of two containers are no set.
    """

    name: str
    value: str
    line: int
    column: int
    text: str
    wrong: tuple[Complaint, ...] = ()
    scope: int = 0


@dataclass(frozen=True, slots=True)
class Remark:
    """A complaint at its place. `column` and `width` show the culprit in `text`; `width` 0 where it is not there."""

    complaint: Complaint
    file: str
    line: int
    column: int
    width: int
    text: str


def column_of(text: str, part: str, after: int = 0) -> int:
    """Where `part` begins in a line, counted from 1; the first column where it is not found."""
    found = text.find(part, after) if part else -1
    return (found if found >= 0 else after) + 1
