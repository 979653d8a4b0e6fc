"""Names and ids replaced by numbered words: nodes, hosts, users, containers, machine and boot ids, UUIDs.

The document's own shape says which field holds a name as a whole; in free text a name is replaced where it stands as a
word. Addresses are `addresses`' matter.
"""

from __future__ import annotations

import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
HEX_ID = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{64})\b")
HOME = re.compile(r"(?P<before>/(?:home|Users)/)(?P<user>[^/\s:\"']+)")
KEPT_ALTNAME = re.compile(r"(?:en|eth|wl|ww|ib|sl)[opsxPfnduv\d]+\Z")
LOCAL = "local"
COMMON_USERS = ("root", "ubuntu", "nvidia", "admin")
HOST_ID = "NCCL_HOSTID"


class Words:
    """The replacements of every name and id in a document (as `model_dump` gives it)."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        nodes, failed = raw.get("nodes") or [], raw.get("failed") or []
        listed = [*nodes, *failed]
        hosts = [_text(node.get("host"), "hostname") for node in nodes]
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._counts: dict[str, int] = defaultdict(int)
        every = {str(node.get(key, "")) for node in listed for key in ("name", "target")} | set(hosts)
        self._number("node", [str(node.get("name", "")) for node in listed], every)
        self._number("target", [str(node.get("target", "")) for node in listed], every)
        self._number("host", hosts, every)
        self._number("host", [name.partition(".")[0] for name in hosts if "." in name], every)
        at = sorted(name for name in every if "@" in name)
        self._number("host", [_host_of(name) for name in at], every)
        self._number("user", [user for name in at if (user := name.partition("@")[0]) not in COMMON_USERS], every)
        self._pattern = _as_words(self._names)

    def _number(self, kind: str, names: Iterable[str], taken: set[str]) -> None:
        """A word for every name that has none yet: KIND-1, KIND-2, ... but none that is a name of the document."""
        for name in names:
            if not name or name == LOCAL or name in self._names:
                continue
            self._counts[kind] += 1
            word = f"{kind}-{self._counts[kind]}"
            while word in taken:
                word = f"x-{word}"
            self._names[name] = word

    def name(self, text: str) -> str:
        """The replacement of a whole name; "local" stays, it names nobody."""
        return self._names.get(text, text)

    def names(self, text: str) -> str:
        """A text with every name in it replaced where it is a word of its own."""
        return self.homes(self._pattern.sub(lambda match: self._names[match[0]], text) if self._pattern else text)

    def homes(self, text: str) -> str:
        """A text with the users in paths of home folders replaced."""
        return HOME.sub(lambda match: match["before"] + self._id(match["user"], "user"), text)

    def ids(self, text: str) -> str:
        """A text with UUIDs and machine ids replaced by others of their form."""
        return HEX_ID.sub(lambda match: self.hex(match[0]), UUID.sub(lambda match: self.hex(match[0]), text))

    def hex(self, text: str) -> str:
        """An id of hexadecimal digits by another one of the same form, any other id by a number."""
        if not (UUID.fullmatch(text) or HEX_ID.fullmatch(text)):
            return self._id(text, "id")
        if text not in self._ids:
            self._ids[text] = re.sub(r"[0-9a-f]", lambda _: secrets.choice("0123456789abcdef"), text.lower())
        return self._ids[text]

    def _id(self, text: str, kind: str) -> str:
        if text not in self._ids:
            self._counts[kind] += 1
            self._ids[text] = f"{kind}-{self._counts[kind]}"
        return self._ids[text]

    def exact(self, entry: Mapping[str, Any], key: str) -> dict[str, Any]:
        """The fields of an object that hold a name or id as a whole, replaced."""
        found: dict[str, Any] = {}
        if "target" in entry and "name" in entry:  # a node, read or failed
            found |= {field: self.name(entry[field]) for field in ("name", "target")}
        if key in ("a", "b") and "node" in entry:  # an end of a link
            found["node"] = self.name(entry["node"])
        if isinstance(entry.get("hostname"), str):
            found["hostname"] = self.name(entry["hostname"])
        for field in ("machine_id", "boot_id", "uuid"):
            if isinstance(entry.get(field), str):
                found[field] = self._prefixed(entry[field])
        if isinstance(entry.get("container"), str):
            found["container"] = self._id(entry["container"], "container")
        if isinstance(entry.get(HOST_ID), str):
            found[HOST_ID] = self._id(entry[HOST_ID], "hostid")
        if isinstance(entry.get("altnames"), list):
            found["altnames"] = [one if KEPT_ALTNAME.match(one) else self._id(one, "alt") for one in entry["altnames"]]
        return found

    def _prefixed(self, text: str) -> str:
        """GPU-UUID and MIG-UUID keep their first word."""
        kind, dash, rest = text.partition("-")
        return f"{kind}-{self.hex(rest)}" if dash and UUID.fullmatch(rest) else self.hex(text)


def _host_of(target: str) -> str:
    """The host of [user@]host[:port]; "" for an address, which is no name."""
    host = re.sub(r":\d+\Z", "", target.rpartition("@")[2])
    return "" if re.fullmatch(r"[0-9a-fA-F.:\[\]]*[.:][0-9a-fA-F.:\[\]]*", host) else host


def _text(entry: Any, field: str) -> str:
    value = entry.get(field) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else ""


def _as_words(names: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for any of the names as a word, longer ones first."""
    ordered = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, ordered))})(?![\w-])") if ordered else None
