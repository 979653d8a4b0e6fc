"""`ip -j addr|link|route|rule|neigh`: the objects of its lists as facts. Any value may be of any type, or not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fabricdoc.dumps.formats.base import known, mac, pci
from fabricdoc.dumps.formats.ip import address_facts, netdev_facts
from fabricdoc.dumps.formats.ip_route import neighbour_facts, route_facts, rule_facts
from fabricdoc.dumps.told import Told

MATCHES = ("tos", "fwmark", "iif", "oif", "ipproto")
"""What a rule may match beside addresses, by iproute2's words, which are its keys too (ip/iprule.c)."""


def interface(found: Mapping[str, Any], number: int) -> Iterator[Told]:
    """An object of `ip -j addr` or `ip -j link`."""
    name = text(found, "ifname")
    if not name:
        return
    flags = found.get("flags")
    yield from netdev_facts(name, integer(found, "ifindex"), flags if isinstance(flags, list) else [], number)
    yield from known(("netdev", name, "mtu"), integer(found, "mtu"), number)
    yield from known(("netdev", name, "mac"), mac(text(found, "address")), number)
    yield from known(("netdev", name, "operstate"), text(found, "operstate").lower(), number)
    yield from known(("netdev", name, "master"), text(found, "master"), number)
    yield from known(("netdev", name, "lower"), text(found, "link"), number)
    yield from known(("netdev", name, "phys_port_name"), text(found, "phys_port_name"), number)
    if text(found, "parentbus") == "pci":
        yield from known(("netdev", name, "pci"), pci(text(found, "parentdev")), number)
    yield from _linkinfo(name, found.get("linkinfo"), number)
    alts = found.get("altnames")
    for alt in alts if isinstance(alts, list) else []:
        if isinstance(alt, str):
            yield Told(("netdev", name, "altname", alt), alt, number)
    for one in objects(found.get("addr_info")):
        yield from address_facts(name, text(one, "local"), integer(one, "prefixlen"), text(one, "scope"), number)


def _linkinfo(name: str, found: Any, number: int) -> Iterator[Told]:
    if not isinstance(found, Mapping):
        return
    data = found.get("info_data")
    yield from known(("netdev", name, "kind"), text(found, "info_kind"), number)
    if isinstance(data, Mapping) and text(found, "info_kind") == "vlan":
        yield from known(("netdev", name, "vlan_id"), integer(data, "id"), number)
    if isinstance(data, Mapping) and text(found, "info_kind") == "bond":
        yield from known(("netdev", name, "bond_mode"), text(data, "mode"), number)


def route(found: Mapping[str, Any], number: int) -> Iterator[Told]:
    """An object of `ip -j route`."""
    about = {"dev": found.get("dev"), "via": found.get("gateway"), "src": found.get("prefsrc")}
    yield from route_facts(text(found, "dst"), about | {"table": found.get("table", "main")}, number)


def neighbour(found: Mapping[str, Any], number: int) -> Iterator[Told]:
    """An object of `ip -j neigh`; iproute2 6.1 may leave `dev` out, and then nothing is said."""
    state = found.get("state")
    words = [one for one in state if isinstance(one, str)] if isinstance(state, list) else []
    if text(found, "dev"):
        yield from neighbour_facts(text(found, "dst"), text(found, "dev"), found.get("lladdr"), " ".join(words), number)


def rule(found: Mapping[str, Any], number: int) -> Iterator[Told]:
    """An object of `ip -j rule`."""
    words = [
        *(["not"] if "not" in found else []),
        *_prefix("from", found, "src", "srclen"),
        *_prefix("to", found, "dst", "dstlen"),
        *(f"{word} {value}{_mask(found, word)}" for word in MATCHES if (value := text(found, word))),
        *(f"suppress_prefixlength {length}" for length in [integer(found, "suppress_prefixlen")] if length is not None),
    ]
    yield from rule_facts(integer(found, "priority"), " ".join(words), text(found, "table"), number)


def _prefix(word: str, found: Mapping[str, Any], address: str, length: str) -> list[str]:
    told, bits = text(found, address), integer(found, length)
    return [f"{word} {told}{f'/{bits}' if bits is not None else ''}"] if told else []


def _mask(found: Mapping[str, Any], word: str) -> str:
    mask = text(found, "fwmask") if word == "fwmark" else ""
    return f"/{mask}" if mask else ""


def text(found: Mapping[str, Any], key: str) -> str:
    """The text under a key, "" where there is none."""
    value = found.get(key)
    return value if isinstance(value, str) else ""


def integer(found: Mapping[str, Any], key: str) -> int | None:
    """The whole number under a key, of at most 63 bits."""
    value = found.get(key)
    fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
    return value if fits else None


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list, none for anything else."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
