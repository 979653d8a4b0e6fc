"""Texts of many files made nodes: whose each output is, merged per node, with notes on what was left.

A node is named by its folder where folders tell nodes apart, else by the host in a prompt, else by the file's name,
else by the folder the file lies in (see `naming`). Documents are not read here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from fabricdoc.dumps.files import Source
from fabricdoc.dumps.lines import some_of
from fabricdoc.dumps.merging import merged
from fabricdoc.dumps.naming import FileName, file_name, node_of
from fabricdoc.dumps.parts import hosts_of, read_text
from fabricdoc.dumps.sources import Facts
from fabricdoc.dumps.told import Note, Part, Reading, Sources, Told
from fabricdoc.errors import NodeError
from fabricdoc.model.fabric import Node

MAX_NAME = 100


@dataclass(frozen=True)
class FromTexts:
    """The nodes that texts tell of, with every fact, its value and its place, and notes."""

    nodes: tuple[Node, ...]
    facts: dict[str, Facts]
    notes: tuple[Note, ...]

    @property
    def sources(self) -> dict[str, Sources]:
        """Node -> path of a fact -> where it stands."""
        return {name: about.places for name, about in self.facts.items()}


@dataclass
class Texts:
    """The texts read so far."""

    _read: list[tuple[Source, FileName, Reading]] = field(default_factory=list)
    _lines: list[dict[int, str]] = field(default_factory=list)

    def add(self, source: Source, text: str) -> None:
        """Read a text."""
        reading = read_text(source.name, text)
        self._read.append((source, file_name(source.name), reading))
        self._lines.append(some_of(text, (one.line for one in reading.told)))

    def nodes(self) -> FromTexts:
        """Everything read, by node; a text that tells nothing names none."""
        facts: dict[str, Facts] = defaultdict(Facts)
        targets: dict[str, str] = {}
        notes: list[Note] = []
        for (source, named, reading), lines in zip(self._read, self._lines, strict=True):
            own = self._own_name(source, named, reading)
            for part in reading.parts:
                notes += _left(source, part)
                if part.told:
                    name = own or part.host or self._default(source, named)
                    facts[name].add(source.name, (*part.told, *_hostname(part)), lines)
                    targets.setdefault(name, str(Path(source.name).parent) if source.certain else source.name)
        return _merged(facts, targets, notes)

    def _own_name(self, source: Source, named: FileName, reading: Reading) -> str:
        """The name for every part of a file, or "" where the prompts in it tell whose each part is."""
        hosts = list(hosts_of(reading))
        if len(hosts) > 1 or (hosts and not source.certain and not named.node):
            return ""
        return self._default(source, named)

    def _default(self, source: Source, named: FileName) -> str:
        folder = source.path.parent
        beside = [other for one, other, _reading in self._read if one.path.parent == folder]
        return node_of(named, source.folder, certain=source.certain, beside=beside)[:MAX_NAME]


def _hostname(part: Part) -> tuple[Told, ...]:
    """A prompt names the host too, though often cut at its first dot."""
    return (Told(("host", "hostname"), part.host, part.first, weak=True),) if part.host else ()


def _left(source: Source, part: Part) -> list[Note]:
    if part.tool and part.why:
        return [Note("unreadable", source.name, part.why, part.first, part.last, part.excerpt)]
    if part.tool:
        return []
    return [Note("unrecognised", source.name, part.why, part.first, part.last, part.excerpt)]


def _merged(facts: dict[str, Facts], targets: dict[str, str], notes: list[Note]) -> FromTexts:
    nodes, kept = [], {}
    for name, about in facts.items():
        notes += about.notes
        try:
            nodes.append(merged(name, targets[name], about))
        except NodeError as error:
            notes.append(Note("unreadable", targets[name], error.message))
            continue
        kept[name] = about
    return FromTexts(tuple(nodes), kept, tuple(notes))
