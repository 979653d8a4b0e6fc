"""What a text tells: single facts with the line they stand on, and the parts of a text by the tool that wrote them.

A fact's `path` says what it is about; its first word is the kind:

    ("hca", NAME, FIELD)   ("port", HCA, NUMBER, FIELD)   ("gid", HCA, PORT, INDEX, FIELD)
    ("netdev", NAME, FIELD)   ("address", NETDEV, "IP/PREFIX") -> scope   ("qos", NETDEV, FIELD)
    ("route", TEXT) ("rule", TEXT) ("neighbour", IP, NETDEV) -> the fields of the model as a dict
    ("pcie", ADDRESS, FIELD)   ("gpu", INDEX, FIELD)   ("host", FIELD)   ("sysctl", NAME)
    ("counter", SUBJECT, SOURCE, NAME) -> int   ("path", GPU, HCA) -> PIX...   ("lldp", NETDEV, NUMBER, WHAT)

FIELD is a field of the model (fabricdoc.model.fabric). A kind or field that the model lacks stays a fact for whoever
explains the text; `merging` leaves it out. No meaning is judged here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """One fact: what it is about, its value (JSON types), and the line (from 1) it stands on.

    A `weak` fact gives way to any other about the same thing, without a contradiction.
    """

    path: Path
    value: Any
    line: int
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Lines `first` to `last` of a text: output of `tool` ("" where no known tool wrote them, with the reason `why`).

    `argument` is what the command was asked about where a prompt or the file's name says so (an interface), `host` the
    name in the prompt. `told` are its facts in order.
    """

    tool: str
    first: int
    last: int
    told: tuple[Told, ...] = ()
    argument: str = ""
    host: str = ""
    why: str = ""
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A whole text: its parts in order, every line in exactly one of them but for blank lines and prompts."""

    name: str
    parts: tuple[Part, ...]

    @property
    def told(self) -> tuple[Told, ...]:
        """Every fact of every part."""
        return tuple(one for part in self.parts for one in part.told)

    @property
    def unrecognised(self) -> tuple[Part, ...]:
        """The parts that no known tool wrote."""
        return tuple(part for part in self.parts if not part.tool)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fact stands: a file (as given) and a line, or no line for what has none; `text` is that line."""

    file: str
    line: int | None
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Note:
    """Something about the files that whoever gave them should know: unreadable, unrecognised or contradiction (`kind`).

    Lines `first` to `last` of `file` (both None where it is about the whole file); `text` is the first of them.
    """

    kind: str
    file: str
    message: str
    first: int | None = None
    last: int | None = None
    text: str = ""


Sources = dict[Path, Place]
