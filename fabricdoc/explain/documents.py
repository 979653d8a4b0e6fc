"""A fabric document of ours (`scan --json`, `scan --save`) as facts with the lines they stand on.

Walked as plain JSON, so that a document of another edition, or one that was cut by hand, gives what it holds. Findings
in it are left alone: rules judge anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fabricdoc.explain.seen import Fact, Material, Spot

MARK = '"fabricdoc/fabric/'
OWN = re.compile(r'"schema"\s*:\s*"fabricdoc/([a-z]{1,20})/')
"""How a document of ours says of which kind it is, near its beginning."""
MOST_FACTS = 50_000
Path = tuple[str | int, ...]


def is_document(text: str) -> bool:
    """Whether a text is a fabric document."""
    return text.lstrip()[:1] == "{" and MARK in text[:400]


def kind_of(start: str) -> str:
    """The kind of a document of ours by its beginning, "" for any other text: what it quotes is no log."""
    match = OWN.search(start[:400]) if start.lstrip("\ufeff \t\r\n")[:1] == "{" else None
    return match[1] if match else ""


def read_document(material: Material, text: str) -> bool:
    """Add a document's facts to `material`; False where it is no JSON object."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(document, dict):
        return False
    finder = _Finder(material.name, text)
    for node in _objects(document.get("nodes")):
        name = str(node.get("name") or "")[:100]
        for path, field, value in _facts(node):
            if len(material.facts) < MOST_FACTS:
                material.facts.append(Fact(path, value, finder.take(field, value, name)))
    material.kinds.append("fabric document")
    return True


class _Finder:
    """Where in a text a value stands: values come in the order of the text, so the search goes on from the last one."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text
        self._at = 0
        self._line = 1

    def take(self, field: str, value: object, node: str) -> Spot:
        """The place of the next occurrence of a field with a value; the last place where there is none."""
        key, text = json.dumps(field), json.dumps(value)
        places = [self._text.find(f"{key}:{blank}{text}", self._at) for blank in (" ", "")]
        found = min((place for place in places if place >= 0), default=-1)
        if found >= 0:
            self._line += self._text.count("\n", self._at, found)
            self._at = found
        begin = self._text.rfind("\n", 0, self._at) + 1
        end = self._text.find("\n", self._at)
        line = self._text[begin : end if end >= 0 else len(self._text)]
        offset = self._at - begin
        return Spot(self._name, self._line, line[offset : offset + 300].strip(), node)


def _facts(node: Mapping[str, Any]) -> Iterator[tuple[Path, str, Any]]:
    """(path, field, value) with paths as `fabricdoc.dumps` gives them, in the order of the document's own fields."""
    for hca in _objects(node.get("hcas")):
        name = str(hca.get("name"))
        for port in _objects(hca.get("ports")):
            yield from _port(name, port)
    for netdev in _objects(node.get("netdevs")):
        name = str(netdev.get("name"))
        for field in ("name", "mtu", "operstate"):
            if isinstance(netdev.get(field), (str, int)):
                yield ("netdev", name, field), field, netdev[field]
        for address in _objects(netdev.get("addresses")):
            if isinstance(address.get("ip"), str) and isinstance(address.get("prefix"), int):
                yield ("address", name, f"{address['ip']}/{address['prefix']}"), "ip", address["ip"]


def _port(hca: str, port: Mapping[str, Any]) -> Iterator[tuple[Path, str, Any]]:
    number = port.get("number")
    if not isinstance(number, int):
        return
    for field in ("state", "link_layer", "active_mtu", "netdev"):
        if isinstance(port.get(field), (str, int)):
            yield ("port", hca, number, field), field, port[field]
    for gid in _objects(port.get("gids")):
        if isinstance(gid.get("index"), int) and isinstance(gid.get("gid"), str):
            yield ("gid", hca, number, gid["index"], "gid"), "gid", gid["gid"]
            if isinstance(gid.get("type"), str):
                yield ("gid", hca, number, gid["index"], "type"), "type", gid["type"]


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
