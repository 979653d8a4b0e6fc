"""Documents of kind fabric read back: what `save` wrote, and what `scan --json` printed.

They come from elsewhere, so they are checked like a node's own report. Text of tools is not known here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fabricdoc.dumps.saving import NODE_FILE
from fabricdoc.dumps.told import Note
from fabricdoc.errors import NodeError
from fabricdoc.fabric import read_report
from fabricdoc.files import parse_json
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, FailedNode, Link, Node, NodeReport
from fabricdoc.model.findings import Finding

HEAD = re.compile(r'\s*\{\s*"schema"\s*:\s*"fabricdoc/')
FABRIC = re.compile(r'\s*\{\s*"schema"\s*:\s*"fabricdoc/fabric/')
SHOWN = 160
LONGEST = 1000
DERIVED = frozenset(Node.model_fields) - frozenset(NodeReport.model_fields) - {"name", "target"}


@dataclass
class Saved:
    """What the documents read so far hold together; a node's name counts once."""

    nodes: dict[str, Node] = field(default_factory=dict)
    failed: list[FailedNode] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    links: list[Fact[tuple[Link, ...]]] = field(default_factory=list)
    created: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def add(self, file: str, text: str) -> Note | None:
        """Take a document; a note where it can't be used."""
        try:
            document = checked(text)
        except (ValueError, NodeError) as error:
            return Note("unreadable", file, f"is no fabric document that can be read: {_reason(error)}")
        twice = [node.name for node in document.nodes if node.name in self.nodes]
        if twice:
            first = self.files[twice[0]]
            return Note("contradiction", file, f"node {twice[0]} was read from {first} already; this one is left out")
        self.nodes |= {node.name: node for node in document.nodes}
        self.files |= {node.name: file for node in document.nodes}
        self.failed += document.failed
        self.findings += document.findings
        if not NODE_FILE.fullmatch(file.rpartition("/")[2]):
            self.links.append(document.links)
            self.created.append(document.created)
        return None

    def all_links(self) -> Fact[tuple[Link, ...]]:
        """The proven links of every document, or the first reason why there are none."""
        proven = [links for links in self.links if not isinstance(links, Unknown)]
        if proven:
            return tuple(link for links in proven for link in links)
        return self.links[0] if self.links else Unknown(unknown="no file tells the links")


def is_document(text: str) -> bool:
    """Whether a text is a JSON document of ours, of whatever kind."""
    return HEAD.match(text) is not None


def missing(files: Iterable[str]) -> list[Note]:
    """A note for node files of a dump that are not there, by the numbers in the names of those that are."""
    found: dict[tuple[str, int], set[int]] = {}
    for file in files:
        folder, _, name = file.rpartition("/")
        match = NODE_FILE.fullmatch(name)
        if match and folder:
            found.setdefault((folder, int(match[2])), set()).add(int(match[1]))
    return [
        Note("unreadable", folder, f"holds {len(numbers)} of the {count} nodes that were saved together")
        for (folder, count), numbers in found.items()
        if len(numbers) < count
    ]


def checked(text: str) -> Fabric:
    """The document, every node of it checked like a probe's report. ValueError or NodeError says what is wrong."""
    raw = parse_json(text)
    if not FABRIC.match(text) or not isinstance(raw, dict):
        raise ValueError("it is a document of another kind")
    nodes = raw.pop("nodes", [])
    if not isinstance(nodes, list):
        raise ValueError("nodes is no list")
    document = Fabric.model_validate_json(json.dumps(raw, allow_nan=False), strict=True)
    return document.model_copy(update={"nodes": tuple(_node(node) for node in nodes)})


def _node(raw: object) -> Node:
    """The node after the checks of a fresh report; what was derived when it was saved stays, the rest is derived."""
    if not isinstance(raw, dict) or not all(isinstance(raw.get(key), str) for key in ("name", "target")):
        raise ValueError("nodes: one of them has no name or target")
    derived = {key: raw.pop(key) for key in DERIVED if key in raw}
    name, target = raw.pop("name"), raw.pop("target")
    if not 0 < len(name) <= LONGEST or not 0 < len(target) <= LONGEST:
        raise ValueError(f"nodes: a name or target of more than {LONGEST} characters, or none")
    fresh = read_report(name, target, raw)
    saved = {key: _adapter(key).validate_json(json.dumps(value), strict=True) for key, value in derived.items()}
    return fresh.model_copy(update=saved)


@cache
def _adapter(key: str) -> TypeAdapter[Any]:
    """What reads one derived field."""
    annotation: Any = Node.model_fields[key].annotation
    return TypeAdapter(annotation)


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:SHOWN]
    return str(error).splitlines()[0][:SHOWN] if str(error) else type(error).__name__
