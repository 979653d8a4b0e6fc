"""Strict readers of the two graph languages: the parts of their grammars that are used, and nothing beyond.

dot: https://graphviz.org/doc/info/lang.html (graph, subgraph, attr_list, node and edge statements, ID and quoted
strings). Mermaid: flowchart with quoted labels. Whatever does not fit raises ValueError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

DOT_TOKEN = re.compile(r'\s*(?:(?P<id>[A-Za-z_][A-Za-z_0-9]*)|(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<mark>--|[{}\[\];=,]))')
ENTITY = re.compile(r"#(\d{1,7});")
MERMAID_TEXT = r'(?:[^"#&<>`\\\n]|#\d{1,7};|<br/>)+'
MERMAID_LINES = {
    "open": re.compile(rf'subgraph ([a-z0-9]+)\["({MERMAID_TEXT})"\]'),
    "end": re.compile(r"end"),
    "point": re.compile(rf'([a-z0-9]+)\["({MERMAID_TEXT})"\]'),
    "switch": re.compile(rf'([a-z0-9]+)\{{"({MERMAID_TEXT})"\}}'),
    "edge": re.compile(rf'([a-z0-9]+) (---|-\.-)(?:\|"({MERMAID_TEXT})"\|)? ([a-z0-9]+)'),
}


@dataclass
class Read:
    """What a graph holds: labels by point, the labels of clusters in order, and edges."""

    points: dict[str, str] = field(default_factory=dict)
    clusters: list[str] = field(default_factory=list)
    edges: list[tuple[str, str, str]] = field(default_factory=list)


def read_dot(text: str) -> Read:
    """A graph in dot, read to its end."""
    tokens = _dot_tokens(text)
    read = Read()
    _expect(tokens, "graph", "fabric", "{")
    _statements(tokens, read)
    _expect(tokens, "}")
    if tokens:
        raise ValueError(f"after the graph: {tokens[0]}")
    _check_edges(read)
    return read


def _dot_tokens(text: str) -> list[str]:
    at, tokens = 0, []
    while text[at:].strip():
        match = DOT_TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"no token: {text[at : at + 40]!r}")
        tokens.append(match[0].strip())
        at = match.end()
    return tokens


def _expect(tokens: list[str], *wanted: str) -> None:
    for want in wanted:
        if not tokens or tokens.pop(0) != want:
            raise ValueError(f"wanted {want}")


def _statements(tokens: list[str], read: Read) -> None:
    while tokens and tokens[0] != "}":
        first = tokens.pop(0)
        if first == "subgraph":
            _identifier(tokens.pop(0))
            _expect(tokens, "{")
            _statements(tokens, read)
            _expect(tokens, "}")
            continue
        _identifier(first)
        if tokens[0] == "=":
            tokens.pop(0)
            value = tokens.pop(0)
            read.clusters += [_plain(value)] if first == "label" else []
        elif tokens[0] == "--":
            tokens.pop(0)
            other = tokens.pop(0)
            _identifier(other)
            read.edges.append((first, other, _plain(_attributes(tokens).get("label", '""'))))
        else:
            found = _attributes(tokens)
            if first != "node":
                read.points[first] = _plain(found["label"])
        _expect(tokens, ";")


def _identifier(token: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", token):
        raise ValueError(f"no identifier: {token}")


def _attributes(tokens: list[str]) -> dict[str, str]:
    _expect(tokens, "[")
    found = {}
    while tokens[0] != "]":
        name = tokens.pop(0)
        _identifier(name)
        _expect(tokens, "=")
        found[name] = tokens.pop(0)
        if tokens[0] == ",":
            tokens.pop(0)
    _expect(tokens, "]")
    return found


def _plain(quoted: str) -> str:
    if not (quoted.startswith('"') and quoted.endswith('"')):
        return quoted
    return re.sub(r"\\(.)", lambda one: "\n" if one[1] == "n" else one[1], quoted[1:-1])


def read_mermaid(text: str) -> Read:
    """A flowchart in Mermaid, read to its end."""
    head, *lines = text.split("\n")
    if head != "flowchart LR" or lines.pop() != "":
        raise ValueError("no flowchart")
    read, depth = Read(), 0
    for line in lines:
        kind, match = next(
            ((name, found) for name, form in MERMAID_LINES.items() if (found := form.fullmatch(line.strip()))),
            ("", None),
        )
        if match is None:
            raise ValueError(f"no statement: {line!r}")
        depth += {"open": 1, "end": -1}.get(kind, 0)
        if depth < 0:
            raise ValueError("an end too many")
        if kind == "open":
            read.clusters.append(_entities(match[2]))
        elif kind in ("point", "switch"):
            read.points[match[1]] = _entities(match[2])
        elif kind == "edge":
            read.edges.append((match[1], match[4], _entities(match[3] or "")))
    if depth:
        raise ValueError("a subgraph without an end")
    _check_edges(read)
    return read


def _entities(text: str) -> str:
    return ENTITY.sub(lambda one: chr(int(one[1])), text.replace("<br/>", "\n"))


def _check_edges(read: Read) -> None:
    for one, other, _label in read.edges:
        if one not in read.points or other not in read.points:
            raise ValueError(f"an edge to nothing: {one} {other}")
