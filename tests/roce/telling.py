"""Facts of a node laid side by side: every leaf of it by a path that two readings of one machine share.

Lists are told apart by what names their entries (an interface by its name, a GID by its index), never by their order.
Nothing is compared here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fabricdoc.model.fabric import Node, NodeReport

Path = tuple[str, ...]
Facts = dict[Path, Any]
NAMED_BY = {
    "hcas": ("name",),
    "ports": ("number",),
    "gids": ("index",),
    "netdevs": ("name",),
    "addresses": ("ip", "prefix"),
    "routes": ("destination", "netdev", "gateway"),
    "rules": ("family", "priority", "selector", "table"),
    "neighbours": ("ip", "netdev"),
    "pcie": ("address",),
    "counters": ("subject", "source"),
}
"""List of a node -> the fields that name an entry of it."""
NOT_FACTS = ("timings_ms", "watched_s")


def facts(node: Node) -> Facts:
    """Path -> value of everything known of a node; what is unknown or null is left out.

    A path goes by the names of entries: ("hcas", "rocep1s0f0", "ports", "1", "gids", "0", "type"). Whole lists without
    names (device files, rings of bridges) are one value.
    """
    report = json.loads(node.model_dump_json(include=set(NodeReport.model_fields) - set(NOT_FACTS)))
    return dict(leaves(report, ()))


def leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Every value below an object, by its path."""
    if value is None or (isinstance(value, dict) and set(value) == {"unknown"}):
        return
    if isinstance(value, dict):
        for key, below in value.items():
            yield from leaves(below, (*path, key))
    elif isinstance(value, list) and path and path[-1] in NAMED_BY:
        for entry in value:
            name = " ".join(str(entry[field]) for field in NAMED_BY[path[-1]] if entry[field] is not None)
            yield from leaves(entry, (*path, name))
    else:
        yield path, value


def kind(path: Path) -> str:
    """What a fact is, without whose: ("hcas", "rocep1s0f0", "firmware") is `hcas.firmware`."""
    words, names = [], False
    for word in path:
        if names:
            names = False
            continue
        words.append(word)
        names = word in NAMED_BY
    return ".".join(words)
