"""A fabric without the names, addresses and ids of those it was read from, and with everything its checks need.

The same word or address gets the same replacement all over the document, random for each call. What is replaced:
what `named` lists (nodes, targets, hosts, users, images and registries, containers, programs, switches), home folders,
names of settings files, machine, boot and image ids, UUIDs, IPv4 and IPv6 addresses, MACs, GUIDs, GIDs (see `addresses`
for what they keep). What stays: names of HCAs and interfaces (but a MAC in one), PCI addresses, versions, counters,
times, other folders. Findings are rewritten like any text, without the lines they quote; a reader judges anew.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from fabricdoc.dumps.addresses import GUID, MAC, Addresses, must_move, tail_of
from fabricdoc.dumps.words import Words
from fabricdoc.model.fabric import Fabric

RUN = re.compile(r"(?<![\w:.@-])(?P<run>[0-9A-Fa-f]*[:.][0-9A-Fa-f:.]+)(?:/(?P<prefix>\d{1,3})(?![\w.]))?(?![\w-])")
PLAIN_MAC = re.compile(r"(?P<before>\b(?:en|wl|ww|et)x)(?P<mac>[0-9a-f]{12})(?![0-9a-fA-F])")
"""An interface that udev names by its MAC."""
PLAIN_GUID = re.compile(r"\b0x(?P<guid>[0-9a-fA-F]{16})\b")
VERSIONS = (
    "firmware", "driver", "kernel", "os", "arch", "python", "torch", "bios", "product", "nvidia_driver", "version",
    "sha256", "compute_capability", "fabricdoc",
)  # fmt: skip
PLACES = (
    "pci", "address", "board_id", "upstream", "physical_function", "device", "vendor", "pci_class",
)  # fmt: skip
LISTED = (
    "schema", "created", "severity", "confidence", "kind", "state", "operstate", "at", "method", "traits", "topic",
    "family", "scope", "type", "link_layer", "phys_state", "trust", "fec", "duplex", "bond_mode", "tc_algorithm",
    "throttle_reasons", "governor", "iommu", "modules", "infiniband_devices", "ibverbs_providers", "access",
    "port_flavour",
)  # fmt: skip
KEPT = frozenset((*VERSIONS, *PLACES, *LISTED))
"""Fields that are versions, PCI addresses or words of a list."""
DEVICES = frozenset(
    {
        "name",
        "netdev",
        "netdevs",
        "hca",
        "hcas",
        "master",
        "lower",
        "bond",
        "id",
        "source",
        "ip",
        "gid",
        "mac",
        "firewall",
    }
)
"""Fields that name a device or a list's word where they hold no node's name: those of nodes may not stand in them."""
OF_DEVICES = ("_IFNAME", "_HCA", "_NET_DEVICES", "_FORCE_MERGE")
"""Variables whose values are such names."""
LEFT_OUT = "a line of a file, left out"
TRIES = 100


def anonymized(fabric: Fabric) -> Fabric:
    """The same fabric as somebody else's: equal facts stay equal, checks find what they found."""
    raw = fabric.model_dump(mode="json", by_alias=True)
    words = Words(raw)
    _without_files(raw, words)
    runs = {run for _key, text in strings(raw) for run in runs_of(text)}
    networks = {one for _key, text in strings(raw) for one in networks_of(text)}
    addresses = _without_meeting(runs, networks)
    rewritten = _rewritten(raw, "", _rewriter(words, addresses), words)
    return Fabric.model_validate(rewritten)


def _without_files(raw: dict[str, Any], words: Words) -> None:
    """Evidence that quotes a file keeps its place in it; what the file is called and says may be anything."""
    nodes = {node["name"] for node in (*raw["nodes"], *raw["failed"])}
    for finding in raw["findings"]:
        files = {piece["file"] for piece in finding["evidence"] if piece["file"] not in nodes}
        for piece in finding["evidence"]:
            if piece["file"] in files:
                piece |= {"file": words.file(piece["file"]), "text": LEFT_OUT}
        if finding["subject"] in files:
            finding["subject"] = words.file(finding["subject"])


def strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """(field, text) of every string in a document that may be rewritten."""
    if key in KEPT:
        return
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for inner_key, inner in value.items():
            yield from strings(inner, inner_key)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, key)


def runs_of(text: str) -> Iterator[str]:
    """Everything in a text that may be an address, MACs without colons written with them."""
    for match in RUN.finditer(text):
        yield match["run"].rstrip(":.")
    for match in PLAIN_MAC.finditer(text):
        yield _coloned(match["mac"], 2)
    for match in PLAIN_GUID.finditer(text):
        yield _coloned(match["guid"].lower(), 4)


def networks_of(text: str) -> Iterator[tuple[str, int]]:
    """Every IPv4 network in a text: its address, whose host bits are 0, and its prefix."""
    for match in RUN.finditer(text):
        if match["prefix"]:
            with suppress(ValueError):
                network = ipaddress.IPv4Network(f"{match['run']}/{match['prefix']}")
                yield str(network.network_address), network.prefixlen


def _without_meeting(runs: set[str], networks: set[tuple[str, int]]) -> Addresses:
    """Replacements of which none is an address of the document; the last ones tried where there is too little room."""
    moving = [(ip, prefix) for ip, prefix in networks if must_move(ip, prefix)]
    tails = [tail for run in runs if (tail := tail_of(run)) is not None]
    originals = {str(ip) for run in runs if (ip := _ip(run)) is not None}
    six = [ip for run in runs if isinstance(ip := _ip(run), ipaddress.IPv6Address)]
    originals |= {str(ip.ipv4_mapped) for ip in six if ip.ipv4_mapped is not None}
    for _ in range(TRIES):
        addresses = Addresses(tails, secrets.token_bytes(32))
        met = any((new := addresses.ip(old)) in originals and (new != old or must_move(old)) for old in originals)
        if not met and not any(addresses.ip(ip, prefix) == ip for ip, prefix in moving):
            break
    return addresses


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _rewriter(words: Words, addresses: Addresses) -> Callable[[str, bool], str]:
    """What rewrites a text; one that holds no device's name has the names in it replaced too."""

    def run(match: re.Match[str]) -> str:
        whole = match["run"]
        text = whole.rstrip(":.")
        prefix = int(match["prefix"]) if match["prefix"] and text == whole else None
        new = replaced(text, prefix, addresses)
        return match[0] if new is None else new + match[0][len(text) :]

    @cache
    def rewrite(text: str, in_words: bool) -> str:
        text = words.ids(text)
        text = RUN.sub(run, text)
        text = PLAIN_MAC.sub(lambda m: m["before"] + addresses.mac(_coloned(m["mac"], 2)).replace(":", ""), text)
        text = PLAIN_GUID.sub(lambda m: "0x" + addresses.guid(_coloned(m["guid"].lower(), 4)).replace(":", ""), text)
        return words.names(text) if in_words else words.homes(text)

    return rewrite


def replaced(text: str, prefix: int | None, addresses: Addresses) -> str | None:
    """The replacement of a MAC, GUID or IP address (or ADDRESS:PORT), None for what is none of them."""
    if MAC.match(text):
        return addresses.mac(text.lower())
    if GUID.match(text):
        return addresses.guid(text.lower())
    try:
        return addresses.ip(text, prefix)
    except ValueError:
        host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not re.fullmatch(r"\d+(\.\d+){3}", host):
        return None
    try:
        return f"{addresses.ip(host)}:{port}"
    except ValueError:
        return None


def _coloned(digits: str, size: int) -> str:
    return ":".join(digits[at : at + size] for at in range(0, len(digits), size))


def _rewritten(value: Any, key: str, rewrite: Callable[[str, bool], str], words: Words) -> Any:
    """The value with every string in it rewritten, fields that hold a name as a whole by their meaning."""
    if isinstance(value, dict):
        exact = words.exact(value, key)
        return {
            name: exact[name] if name in exact else _rewritten(inner, name, rewrite, words)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_rewritten(inner, key, rewrite, words) for inner in value]
    if not isinstance(value, str) or key in KEPT:
        return value
    return rewrite(value, key not in DEVICES and not key.endswith(OF_DEVICES))
