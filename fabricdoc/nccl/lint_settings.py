"""Where a setting stands: the name and value a program would get, and the file, line and column they come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint_writing import Style, written

Format = Literal["docker", "shell", "nccl.conf", "systemd", "command", "yaml", "json"]
FORMATS: tuple[Format, ...] = ("docker", "shell", "nccl.conf", "systemd", "command", "yaml", "json")
FIRST_WINS: frozenset[Format] = frozenset({"nccl.conf"})
"""Formats in which the first line that sets a name counts (NCCL never overwrites); in the others the last one does."""

MOST_SETTINGS = 4096
LONGEST = 32768
"""Characters of a line that are read: more than any environment may hold in one variable of NCCL's."""


class Place(NamedTuple):
    """A line of a file, its text as it stands there; `column` counts from 1."""

    file: str
    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable as its reader takes it; `line` and `column` count from 1, `text` is the line without its end.

    `wrong` are complaints on how it is written, whatever the value means. `scope` tells apart the environments of one
    file: those of two containers are no set. `style` is how it is written there, for what to write instead; `named`
    where its name stands, if that is another line than the value's.
    """

    name: str
    value: str
    line: int
    column: int
    text: str
    wrong: tuple[Complaint, ...] = ()
    scope: int = 0
    style: Style = ""
    named: tuple[int, str] | None = None

    def place(self, file: str) -> Place:
        """Where it stands in that file."""
        return Place(file, self.line, self.column, self.text)


@dataclass(frozen=True, slots=True)
class Remark:
    """A complaint at its place. `column` and `width` show the culprit in `text`; `width` 0 where it is not there.

    `also` are further lines that have part in it: the other half of a contradiction, the line that wins, other nodes'.
    `node` is whose setting it is, "" where nothing tells.
    """

    complaint: Complaint
    file: str
    line: int
    column: int
    width: int
    text: str
    also: tuple[Place, ...] = ()
    node: str = ""


def column_of(text: str, part: str, after: int = 0) -> int:
    """Where `part` begins in a line, counted from 1; the first column where it is not found."""
    found = text.find(part, after) if part else -1
    return (found if found >= 0 else after) + 1


def remark_on(
    setting: Setting, complaint: Complaint, file: str, also: tuple[Place, ...] = (), node: str = ""
) -> Remark:
    """The complaint at its culprit in the setting's line: the part of the value it names, else the variable's name.

    Its fix is written as the setting is.
    """
    complaint = replace(complaint, fix=written(complaint.fix, setting.name, setting.style))
    if setting.named is not None and (not complaint.culprit or complaint.culprit not in setting.text):
        line, text = setting.named
        column = column_of(text, setting.name)
        return Remark(complaint, file, line, column, len(setting.name), text.removesuffix("\r"), also, node)
    text = setting.text.removesuffix("\r")
    after = 0 if complaint.id == "export-kept" else setting.column - 1
    part = complaint.culprit
    if not part or text.find(part, after) < 0:
        part = setting.name
    width = len(part) if text.find(part, after) >= 0 else 0
    return Remark(complaint, file, setting.line, column_of(text, part, after), width, text, also, node)
