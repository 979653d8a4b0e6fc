"""What brings an interface's addresses back after a reboot, as far as a search of the usual files tells.

netplan, systemd-networkd, NetworkManager, ifupdown and ifcfg files are searched for the interface's name, its MAC or
a pattern that matches it, and for its IPv4 addresses. It is a text search by file: which stanza of a file an address
belongs to is not told apart, and no tool is asked. A file that may not be read (netplan's are root's) makes the
answer unknown where no other file gives one. Nothing is judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from .container import read_container
from .facts import is_unknown, load, names, unknown, why

FOLDERS = (
    ("/etc/netplan", ".yaml"),
    ("/lib/netplan", ".yaml"),
    ("/etc/systemd/network", ".network"),
    ("/run/systemd/network", ".network"),
    ("/usr/lib/systemd/network", ".network"),
    ("/etc/NetworkManager/system-connections", ""),
    ("/run/NetworkManager/system-connections", ""),
    ("/usr/lib/NetworkManager/system-connections", ""),
    ("/etc/network/interfaces.d", ""),
    ("/etc/sysconfig/network-scripts", ""),
    ("/etc/sysconfig/network", ""),
)
FILES = ("/etc/network/interfaces",)
SEARCHED = "netplan, systemd-networkd, NetworkManager, ifupdown, ifcfg"
MAX_FILES = 64

COMMENT = re.compile(r"^\s*[#;].*|\s#.*", re.MULTILINE)
NAMED = re.compile(r"(?:ifcfg-|10-netplan-|netplan-)(.+?)(?:\.network|\.nmconnection)?")
WORD = re.compile(r"[^\s,\"'\[\]{}=;]+")
PATTERN = re.compile(r"[^\s,\"'{};]+")
PATTERNS = re.compile(r"^\s*(?:match:\s*\{\s*)?(?:Name|name|interface-name)\s*[:=]\s*(.+)$", re.MULTILINE)
DRIVERS = re.compile(r"^\s*(?:match:\s*\{\s*)?(?:Driver|driver)\s*[:=]\s*(.+)$", re.MULTILINE)
LEASE = re.compile(
    r"dhcp4:\s*(?:true|yes|on)|^\s*DHCP\s*=\s*(?:yes|true|on|both|ipv4)|^method=auto|inet dhcp|BOOTPROTO=.?dhcp",
    re.MULTILINE | re.IGNORECASE,
)
LINK_LOCAL = re.compile(r"link-local:.*ipv4|LinkLocalAddressing\s*=\s*(?:yes|ipv4)|^method=link-local", re.MULTILINE)


class Source(NamedTuple):
    """A file that configures interfaces: its path and text, or the reason it can't be read."""

    path: str
    text: str
    words: frozenset[str]
    reason: str = ""


def read_sources(root: str = "") -> Any:
    """Every file of the usual places, or unknown where they would speak of another machine."""
    kind = read_container(root)["kind"]
    if not is_unknown(kind) and kind != "none":
        return unknown(f"inside a container ({kind}): the host's files are not seen")
    paths = [*FILES, *(path for folder, ending in FOLDERS for path in _listed(root, folder, ending))]
    return [source for path in paths if (source := _source(root, path)) is not None]


def _listed(root: str, folder: str, ending: str) -> list[str]:
    """The files of a folder; the folder itself where it may not be listed, so that its reason is kept."""
    try:
        found = [name for name in names(root + folder) if name.endswith(ending)]
    except FileNotFoundError:
        return []
    except OSError:
        return [folder]
    if folder.startswith("/etc/sysconfig"):
        found = [name for name in found if name.startswith("ifcfg-")]
    return [f"{folder}/{name}" for name in found[:MAX_FILES]]


def _source(root: str, path: str) -> Source | None:
    try:
        return source(path, load(root + path))
    except FileNotFoundError:
        return None
    except OSError as error:
        return Source(path, "", frozenset(_own_words(path)), why(error).removeprefix(root))


def source(path: str, text: str) -> Source:
    """A file without its comments, and its words; those of its name count too, and a MAC in lower case as well."""
    text = COMMENT.sub("", text)
    found = {word.rstrip(":") for word in WORD.findall(text)} - {""}
    return Source(path, text, frozenset({*found, *(word.lower() for word in found if ":" in word), *_own_words(path)}))


def _own_words(path: str) -> list[str]:
    """What a file's name names: ifcfg-eth0, 10-netplan-eth0.network, netplan-eth0.nmconnection."""
    named = NAMED.fullmatch(path.rpartition("/")[2])
    return [named[1]] if named else []


def persistence(interface: dict[str, Any], leased: bool, sources: Any) -> Any:
    """The fact for one interface (model.netdev.Netdev.persistence); `leased`: its IPv4 addresses have a lifetime.

    "PATH holds ADDRESSES", "PATH asks for a lease (DHCP)", "PATH names it, without its address", or "not found in ...".
    """
    addresses = [one for one in interface["addresses"] if one["scope"] == "global" or one["family"] == "ipv4"]
    addresses = [one for one in addresses if one["scope"] != "host"]
    if not addresses:
        return unknown("it has no address that could get lost")
    if is_unknown(sources):
        return sources
    naming = [source for source in sources if names_it(source, interface)]
    ipv4 = [one["ip"] for one in addresses if one["family"] == "ipv4"]
    lasting = [source for source in naming if not _ends_with_the_boot(source.path)]
    said = [_says(source, ipv4) for source in lasting if not source.reason]
    if said:
        return min(said)[1]
    if lasting:
        return f"{lasting[0].path} is named after it and may not be read"
    if refused := [source.reason for source in sources if source.reason]:
        return unknown("; ".join(refused[:3]) + (f"; and {len(refused) - 3} more" if len(refused) > 3 else ""))
    if leased:
        return f"its address is a lease (DHCP); not named in {SEARCHED}"
    return f"not found in {SEARCHED}" + "".join(f"; {source.path} ends with the boot" for source in naming[:1])


def _ends_with_the_boot(path: str) -> bool:
    """Files below /run are gone after a reboot, but netplan writes its own again."""
    return path.startswith("/run/") and "netplan-" not in path


def names_it(source: Source, interface: dict[str, Any]) -> bool:
    """Whether a file has the interface's name, an alternative name, its MAC, or a pattern of its name or driver."""
    known = [interface["name"], *interface["altnames"]]
    mac, driver = interface["mac"], interface["driver"]
    if source.words.intersection(known) or (isinstance(mac, str) and mac in source.words):
        return True
    by_name = _matches(PATTERNS.findall(source.text), known)
    return by_name or (isinstance(driver, str) and _matches(DRIVERS.findall(source.text), [driver]))


def _matches(lines: Iterable[str], known: Sequence[str]) -> bool:
    """Whether a pattern of these lines matches a name, and none with a leading "!" does."""
    patterns = [word for line in lines for word in PATTERN.findall(line)]
    against = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    if any(_fits(name, pattern) for pattern in against for name in known):
        return False
    return any(_fits(name, pattern) for pattern in patterns for name in known)


def _fits(name: str, pattern: str) -> bool:
    try:
        return fnmatchcase(name, pattern)
    except re.error:
        return False


def _says(source: Source, ipv4: Sequence[str]) -> tuple[int, str]:
    """What a file that names the interface says of its addresses; the smallest rank is the best answer."""
    held = [ip for ip in ipv4 if ip in source.words or any(word.startswith(f"{ip}/") for word in source.words)]
    lost = [ip for ip in ipv4 if ip not in held]
    if held and not lost:
        return 0, f"{source.path} holds {', '.join(held)}"
    if LEASE.search(source.text):
        return 1, f"{source.path} asks for a lease (DHCP)"
    if LINK_LOCAL.search(source.text) and all(ip.startswith("169.254.") for ip in lost):
        return 1, f"{source.path} gives it a link-local address"
    if held:
        return 2, f"{source.path} holds {', '.join(held)}, not {', '.join(lost)}"
    return 3, f"{source.path} names it, without its address"
