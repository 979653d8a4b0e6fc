"""`lldpctl -f json` and `-f json0`: who is at the other end of an interface, as a neighbour says it.

The plain json changes its shape with the number of neighbours and with what they tell; json0 makes every level a list
with scalars as {"value": ...}. Both are read. A link needs both ends, so none is made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fabricdoc.dumps.formats.base import known
from fabricdoc.dumps.told import Told

MAX_NEIGHBOURS = 4096


def read(document: Mapping[str, Any], number: int) -> Iterator[Told]:
    """Facts ("lldp", NETDEV, NEIGHBOUR, WHAT): chassis id, system name, port id and description, whether it bridges."""
    counts: dict[str, int] = {}
    for name, about in _interfaces(document):
        index = counts[name] = counts.get(name, -1) + 1
        if index >= MAX_NEIGHBOURS:
            return
        for what, value in _neighbour(about).items():
            yield from known(("lldp", name, index, what), value, number)
        if _bridges(about):
            yield from known(("lldp", name, index, "bridge"), True, number)


def _interfaces(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(interface, what its neighbour says) in either shape: a `name` inside, or the name as the key."""
    for top in _many(document.get("lldp")):
        for entry in _many(top.get("interface")):
            name = entry.get("name")
            if isinstance(name, str):
                yield name, entry
                continue
            yield from ((key, about) for key, value in entry.items() for about in _many(value))


def _neighbour(about: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for chassis in _many(about.get("chassis")):
        named = next(((key, one) for key, one in chassis.items() if isinstance(one, Mapping) and "id" in one), None)
        if "id" not in chassis and named is not None:
            found["system"], chassis = named
        found.setdefault("system", _scalar(chassis.get("name")))
        found["chassis"] = _id(chassis.get("id"))
    for port in _many(about.get("port")):
        found["port"] = _id(port.get("id"))
        found["port_description"] = _scalar(port.get("descr"))
    return found


def _bridges(about: Mapping[str, Any]) -> bool:
    """Whether it has bridging enabled, wherever its chassis stands (under its name, or not)."""
    chassis = _many(about.get("chassis"))
    named = (part for one in chassis for part in one.values() if isinstance(part, Mapping))
    inner = (*chassis, *named)
    capabilities = (one for each in inner for one in _many(each.get("capability")))
    return any(one.get("type") == "Bridge" and one.get("enabled") is True for one in capabilities)


def _id(value: Any) -> str:
    for one in _many(value):
        return _scalar(one.get("value")) or _scalar([one])
    return ""


def _scalar(value: Any) -> str:
    """A text as it is, or inside [{"value": ...}]."""
    if isinstance(value, str):
        return value
    for one in _many(value):
        inner = one.get("value")
        return inner if isinstance(inner, str) else ""
    return ""


def _many(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list, or the one object, or none."""
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Mapping)]
