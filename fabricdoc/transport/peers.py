"""Hosts that this machine's files already name: candidates for the nodes of a fabric. Nothing is reached here.

Only what may stand beside this machine is named: a private or link-local address, a name without a dot or of a local
domain. A known host far away (a forge, a customer) is no node, and is not logged in to for a guess.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import read_text
from fabricdoc.transport.grammar import parse_target

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

    Network: TypeAlias = IPv4Network | IPv6Network

MAX_BYTES = 1024 * 1024
MAX_FILES = 32
MAX_PEERS = 256
# RFC 6762, RFC 8375, ICANN's "internal", and what home routers and DHCP servers use
LOCAL_DOMAINS = (".local", ".lan", ".home", ".home.arpa", ".internal", ".localdomain")
_WORD = re.compile(r"\s*([A-Za-z]+)\s*[\s=]\s*(.*?)\s*", re.DOTALL)
_PORTED = re.compile(r"\[([^\]]+)\]:([0-9]{1,5})")


@dataclass(frozen=True)
class Peer:
    """A host as ssh takes it, and where it was found."""

    target: str
    source: str


def known_peers(folder: Path, system: Path | None = None) -> tuple[Peer, ...]:
    """The near hosts of `config` and `known_hosts` in the folder ~/.ssh, each once, the configuration's first.

    `system` is the machine's own list of host keys, read last. What can't be read, hashed names and patterns are passed
    over; at most 256 are told.
    """
    found: dict[str, Peer] = {}
    more = _of_known_hosts(system) if system else ()
    for target, source in (*_of_config(folder), *_of_known_hosts(folder / "known_hosts"), *more):
        if len(found) < MAX_PEERS and target not in found and _is_target(target):
            found[target] = Peer(target, source)
    return tuple(found.values())


def hosts_of(path: Path, networks: Sequence[Network]) -> tuple[Peer, ...]:
    """The names of a hosts file whose address lies in one of these networks, the first of each line; at most 256."""
    from ipaddress import ip_address

    found: dict[str, Peer] = {}
    for line in _lines(path):
        words = line.partition("#")[0].split()
        try:
            address = ip_address(words[0]) if len(words) > 1 else None
        except ValueError:
            continue
        if address and any(address in network for network in networks) and _is_target(words[1]):
            found.setdefault(words[1], Peer(words[1], path.name))
    return tuple(found.values())[:MAX_PEERS]


def is_near(host: str) -> bool:
    """Whether a host's name or address may be of this machine's own network."""
    from ipaddress import ip_address

    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        domain = socket.gethostname().partition(".")[2]
        near = (*LOCAL_DOMAINS, *((f".{domain}",) if domain else ()))
        return host != "localhost" and ("." not in host.rstrip(".") or host.lower().rstrip(".").endswith(near))
    return (address.is_private or address.is_link_local) and not (address.is_loopback or address.is_unspecified)


def _is_target(target: str) -> bool:
    try:
        return parse_target(target).kind == "ssh"
    except UsageError:
        return False


def _lines(path: Path) -> list[str]:
    try:
        return read_text(path, str(path), limit=MAX_BYTES).splitlines()
    except InputError:
        return []


def _of_config(folder: Path) -> Iterator[tuple[str, str]]:
    """Every `Host` name without a pattern whose HostName, or itself, is near."""
    for path in _config_files(folder):
        names: list[str] = []
        real = ""
        for line in (*_lines(path), "Host"):
            key, value = _keyword(line)
            if key in ("host", "match"):
                yield from ((n, f"{path.name} of ssh") for n in names if is_near(real.replace("%h", n) or n))
                names, real = ([n for n in value.split() if not re.search(r'[*?!"]', n)] if key == "host" else []), ""
            elif key == "hostname":
                real = real or value


def _config_files(folder: Path) -> list[Path]:
    """The configuration, and what it includes directly (ssh's own rule: relative to ~/.ssh)."""
    main = folder / "config"
    files = [main]
    for line in _lines(main):
        key, value = _keyword(line)
        for pattern in value.split() if key == "include" else ():
            name = pattern.replace("~/.ssh/", "", 1)
            if not name.startswith(("/", "~")) and ".." not in name:
                files += sorted(folder.glob(name))
    return files[:MAX_FILES]


def _keyword(line: str) -> tuple[str, str]:
    match = _WORD.fullmatch(line.partition("#")[0] + " ")
    return (match[1].lower(), match[2].strip('"')) if match else ("", "")


def _of_known_hosts(path: Path) -> Iterator[tuple[str, str]]:
    """Every plain name of a list of host keys that is near, with its port where it has one of its own."""
    for line in _lines(path):
        words = line.split()
        if len(words) < 3 or words[0].startswith(("#", "@", "|")):
            continue
        for name in words[0].split(","):
            ported = _PORTED.fullmatch(name)
            host = ported[1] if ported else name
            place = f"[{host}]" if ":" in host else host
            if is_near(host):
                yield f"{place}:{ported[2]}" if ported else place, path.name
