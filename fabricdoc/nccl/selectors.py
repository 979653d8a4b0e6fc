"""NCCL_IB_HCA taken apart and held against a node's devices, by NCCL's own grammar.

NCCL 2.30.7, src/misc/utils.cc (parseStringList, matchIfList) and src/transport/net_ib/init.cc: one leading "^"
(exclude), then one "=" (exact), then name[:port[:rail[:plane]]] separated by commas. Before 2.30.7 there was no
rail or plane, and "name:" meant port 0, which is no port. Says nothing about which devices would be right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Hca, Port

MOST_ENTRIES = 32
MOST_DEVICES = 32
NAME_SIZE = 63
NUMBER = re.compile(r"\s*([+-]?[0-9]+)")


class Entry(NamedTuple):
    """One entry of the list; `port` -1 is any, `rail` and `plane` -1 are undefined. `text` as it was written."""

    text: str
    name: str
    port: int
    rail: int
    plane: int


class Selector(NamedTuple):
    """A value as NCCL reads it; `dropped` are entries after the 32nd (of interfaces: 16th), which it never sees."""

    excludes: bool
    exact: bool
    entries: tuple[Entry, ...]
    dropped: tuple[str, ...]


class Selection(NamedTuple):
    """What a selector takes on one node: (device, verbs port) in the order of the devices.

    `unmatched` are entries under which no ACTIVE port falls (with "^": that exclude nothing); `inactive` are the
    ports they name that are not ACTIVE, which NCCL leaves out without a word; `beyond` those after the 32nd.
    """

    ports: tuple[tuple[str, int], ...]
    unmatched: tuple[str, ...]
    inactive: tuple[tuple[str, int], ...]
    beyond: tuple[tuple[str, int], ...] = ()


def parse_selector(value: str, most: int = MOST_ENTRIES) -> Selector:
    """A value taken apart, of which `most` entries are read; never fails, since NCCL never does. Nothing is trimmed."""
    excludes = value.startswith("^")
    rest = value[1:] if excludes else value
    exact = rest.startswith("=")
    texts = [text for text in rest[exact:].split(",") if text.partition(":")[0]]
    entries = tuple(_entry(text) for text in texts[:most])
    return Selector(excludes, exact, entries, tuple(texts[most:]))


def expand(value: str, hcas: Sequence[Hca]) -> Selection:
    """The ports that NCCL_IB_HCA=`value` takes among `hcas` ("" takes every ACTIVE port; at most 32 devices)."""
    selector = parse_selector(value)
    candidates = [(hca.name, port.number) for hca in hcas for port in hca.ports if _has_usable_layer(port)]
    active = {(hca.name, port.number) for hca in hcas for port in hca.ports if port.state == "ACTIVE"}
    named = [(entry, {one for one in candidates if matches(selector, entry, *one)}) for entry in selector.entries]
    listed = {one for _, ports in named for one in ports}
    everything = not selector.entries
    taken = [one for one in candidates if one in active and (everything or one in listed) != selector.excludes]
    return Selection(
        ports=tuple(taken[:MOST_DEVICES]),
        unmatched=tuple(entry.text for entry, ports in named if not ports & active),
        inactive=tuple(one for one in candidates if one in listed and one not in active),
        beyond=tuple(taken[MOST_DEVICES:]),
    )


def _has_usable_layer(port: Port) -> bool:
    """Ethernet or InfiniBand, the only layers NCCL takes; a layer that was not read is taken for one of them."""
    return isinstance(port.link_layer, Unknown) or port.link_layer in ("Ethernet", "InfiniBand")


def _entry(text: str) -> Entry:
    name, *fields = text.split(":")
    port, rail, plane = (_field(fields[at]) if at < len(fields) else -1 for at in range(3))
    return Entry(text, name[:NAME_SIZE], port, rail, plane)


def _field(text: str) -> int:
    """A number as C's atoi reads it (text is 0); an empty field is -1."""
    number = NUMBER.match(text)
    return -1 if not text else int(number[1][:10]) if number else 0


def matches(selector: Selector, entry: Entry, name: str, port: int = -1) -> bool:
    """Whether an entry names this device and port; -1 is any port (an interface has none)."""
    is_named = name == entry.name if selector.exact else name.startswith(entry.name)
    return is_named and (port == -1 or entry.port in (-1, port))
