"""The files that configure network interfaces at boot, as text: which there are, which name an interface, its part.

netplan, systemd-networkd, NetworkManager, ifupdown and ifcfg. This is a search, no parser: an interface is named by
its name, an alternative name, its MAC, or a pattern of its name or driver. A file that may not be read (netplan's are
root's) is kept with its reason. What the text means is `persistence`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
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
MAX_FILES = 64

COMMENT = re.compile(r"^\s*[#;].*|\s#.*", re.MULTILINE)
NAMED = re.compile(r"(?:ifcfg-|10-netplan-|netplan-)(.+?)(?:\.network|\.nmconnection)?")
WORD = re.compile(r"[^\s,\"'\[\]{}=;]+")
PATTERN = re.compile(r"[^\s,\"'{};]+")
PATTERNS = re.compile(r"^\s*(?:match:\s*\{\s*)?(?:Name|name|interface-name)\s*[:=]\s*(.+)$", re.MULTILINE)
DRIVERS = re.compile(r"^\s*(?:match:\s*\{\s*)?(?:Driver|driver)\s*[:=]\s*(.+)$", re.MULTILINE)
IFACE = re.compile(r"^\s*(?:iface|auto|allow-\S+|mapping|source\S*)\b", re.MULTILINE)


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
    found = words_of(text)
    return Source(path, text, frozenset({*found, *(word.lower() for word in found if ":" in word), *_own_words(path)}))


def words_of(text: str) -> set[str]:
    """The words of a text without the punctuation of YAML and INI files."""
    return {word.rstrip(":") for word in WORD.findall(text)} - {""}


def _own_words(path: str) -> list[str]:
    """What a file's name names: ifcfg-eth0, 10-netplan-eth0.network, netplan-eth0.nmconnection."""
    named = NAMED.fullmatch(path.rpartition("/")[2])
    return [named[1]] if named else []


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


def part_for(source: Source, name: str) -> str:
    """The part of a file that is about one interface: its netplan or ifupdown stanza, else the whole text."""
    if source.path.endswith(".yaml"):
        return _netplan_stanza(source.text, name) or source.text
    if source.path.startswith("/etc/network/"):
        return _ifupdown_stanzas(source.text, name) or source.text
    return source.text


def _netplan_stanza(text: str, name: str) -> str:
    """The line `NAME:` and those indented deeper below it; "" where an id of another name stands for the interface."""
    head = re.search(rf"^( *)[\"']?{re.escape(name)}[\"']?:.*$", text, re.MULTILINE)
    if head is None:
        return ""
    stanza = [head[0]]
    for line in text[head.end() :].splitlines()[1:]:
        if line.strip() and len(line) - len(line.lstrip(" ")) <= len(head[1]):
            break
        stanza.append(line)
    return "\n".join(stanza)


def _ifupdown_stanzas(text: str, name: str) -> str:
    """Every `iface NAME ...` with what follows up to the next stanza."""
    starts = [*(found.start() for found in IFACE.finditer(text)), len(text)]
    stanzas = (text[begin:end] for begin, end in pairwise(starts))
    return "".join(stanza for stanza in stanzas if stanza.split()[:2] == ["iface", name])
