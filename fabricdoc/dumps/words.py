"""Names and ids replaced by numbered words: nodes, hosts, users, images, containers, machine and boot ids, UUIDs.

Which names there are is `named`'s; fields that hold one as a whole are known here, and in free text a name is replaced
where it stands as a word. Addresses are `addresses`' matter.
"""

from __future__ import annotations

import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from fabricdoc.dumps.named import (
    COMMON_USERS,
    HOME,
    HOST_ID,
    KEPT_ALTNAME,
    LOCAL,
    SCHEME,
    entries,
    is_address,
    named,
    text_of,
)

UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
HEX_ID = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{64})\b")
SETTINGS_FILE = re.compile(
    r"(?P<before>/(?:netplan|system-connections|systemd/network|interfaces\.d)/)"
    r"(?:(?P<name>[^/\n]{1,200}?)(?P<after>\.(?:yaml|nmconnection|network|link)\b)|(?P<bare>[^/\s;,'\"]+))"
)
"""A file of network settings: its name is a user's or a connection's."""
USER_AT = re.compile(r"(?<![\w.+@/-])(?P<user>[A-Za-z_][\w.+-]*)@(?P<host>\[?[A-Za-z0-9][\w.:-]*)")
IMAGE_NAME = re.compile(
    r"(?<![\w./@:-])(?:[a-z0-9][\w-]*\.)+[a-z]{2,}(?::\d+)?(?:/[\w.-]+)+(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?"
)
"""REGISTRY/NAME:TAG as a runtime writes it in its errors; pages of the web look the same."""
LONG = 6
"""A name of so many characters is replaced beside `-` and `_` too: spark-one in spark-one_ibv.txt."""
SHORT_ID = 12
HEX = "0123456789abcdef"


class Words:
    """The replacements of every name and id in a document (as `model_dump` gives it)."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._counts: dict[str, int] = defaultdict(int)
        self._given: set[str] = set()
        told = [(kind, name) for kind, name in named(raw) if name and name != LOCAL]
        taken = {name for _kind, name in told}
        for kind, name in told:
            self._number(kind, name, taken)
        for image in (node.get("image") for node in entries(raw.get("nodes"))):
            if id := text_of(image, "id"):
                self._names.setdefault(id[:SHORT_ID], self.hex(id)[:SHORT_ID])
        self._pattern = _as_words(self._names)

    def _number(self, kind: str, name: str, taken: set[str]) -> None:
        """A word for a name that has none yet: KIND-1, KIND-2, ... but none that is a name of the document."""
        if name in self._names:
            return
        scheme = SCHEME.match(name) if kind == "target" else None
        word = self._next(kind)
        while word in taken:
            word = f"x-{word}"
        self._names[name] = f"{scheme[0]}{word}" if scheme else word
        self._given.add(word)

    def _next(self, kind: str) -> str:
        self._counts[kind] += 1
        return f"{kind}-{self._counts[kind]}"

    def name(self, text: str) -> str:
        """The replacement of a whole name; "local" stays, it names nobody."""
        return self._names.get(text, text)

    def names(self, text: str) -> str:
        """A text with every name in it replaced where it is a word of its own, and what has the form of one."""
        text = self._pattern.sub(lambda match: self._names[match[0]], text) if self._pattern else text
        return USER_AT.sub(self._user_at, IMAGE_NAME.sub(lambda match: self._id(match[0], "image"), self.homes(text)))

    def _user_at(self, match: re.Match[str]) -> str:
        """USER@HOST: a user that is nobody's name in particular stays, and so does a host that is an address."""
        user, host = match["user"], match["host"]
        user = self._user(user)
        bare = re.sub(r":\d*\Z", "", host).rstrip(".:")
        if host.startswith("[") or is_address(bare):
            return f"{user}@{host}"
        return f"{user}@{self._id(bare, 'host')}{host[len(bare) :]}"

    def homes(self, text: str) -> str:
        """A text with the users in paths of home folders, and the names of files of network settings, replaced."""
        text = HOME.sub(lambda match: match["before"] + self._user(match["user"]), text)
        return SETTINGS_FILE.sub(self._settings_file, text)

    def _settings_file(self, match: re.Match[str]) -> str:
        name = self._id(match["name"] or match["bare"], "settings")
        return f"{match['before']}{name}{match['after'] or ''}"

    def _user(self, user: str) -> str:
        return user if user in COMMON_USERS else self._id(user, "user")

    def ids(self, text: str) -> str:
        """A text with UUIDs and machine ids replaced by others of their form."""
        return HEX_ID.sub(lambda match: self.hex(match[0]), UUID.sub(lambda match: self.hex(match[0]), text))

    def hex(self, text: str) -> str:
        """An id of hexadecimal digits by another one of the same form, any other id by a number."""
        if not (UUID.fullmatch(text) or HEX_ID.fullmatch(text)):
            return self._id(text, "id")
        if text not in self._ids:
            self._ids[text] = re.sub(r"[0-9a-f]", lambda _: secrets.choice(HEX), text.lower())
        return self._ids[text]

    def _id(self, text: str, kind: str) -> str:
        """A word for what is no name of the document; one that was given stays."""
        if text in self._given:
            return text
        if text not in self._ids:
            self._ids[text] = self._names.get(text) or self._next(kind)
            self._given.add(self._ids[text])
        return self._ids[text]

    def file(self, name: str) -> str:
        """A word for a file of a dump."""
        return self._id(name, "file")

    def exact(self, entry: Mapping[str, Any], key: str) -> dict[str, Any]:
        """The fields of an object that hold a name or id as a whole, replaced."""
        found: dict[str, Any] = {}
        if "target" in entry and "name" in entry:  # a node, read or failed
            found |= {field: self.name(entry[field]) for field in ("name", "target")}
        if "node" in entry and isinstance(entry["node"], str):  # an end of a link, a node's selectors
            found["node"] = self.name(entry["node"])
        whole = ("hostname", "system", "chassis", "port", "port_description")
        for field in (*whole, *(("name",) if "pid" in entry or key == "image" else ())):
            if isinstance(entry.get(field), str) and entry[field] in self._names:
                found[field] = self.name(entry[field])
        for field, kind in (("container", "container"), (HOST_ID, "hostid")):
            if isinstance(entry.get(field), str):
                found[field] = self._id(entry[field], kind)
        for field in ("machine_id", "boot_id", "uuid"):
            if isinstance(entry.get(field), str):
                found[field] = self._prefixed(entry[field])
        if isinstance(entry.get("altnames"), list):
            found["altnames"] = [one if KEPT_ALTNAME.match(one) else self._id(one, "alt") for one in entry["altnames"]]
        return found

    def _prefixed(self, text: str) -> str:
        """GPU-UUID and MIG-UUID keep their first word."""
        kind, dash, rest = text.partition("-")
        return f"{kind}-{self.hex(rest)}" if dash and UUID.fullmatch(rest) else self.hex(text)


def _as_words(names: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for any of the names as a word, longer ones first."""
    ordered = sorted(names, key=lambda name: (-len(name), name))
    pieces = [rf"(?<![^\W_]){re.escape(one)}(?![^\W_])" for one in ordered if len(one) >= LONG]
    short = [re.escape(one) for one in ordered if len(one) < LONG]
    pieces += [rf"(?<![\w-])(?:{'|'.join(short)})(?![\w-])"] if short else []
    return re.compile("|".join(pieces)) if pieces else None
