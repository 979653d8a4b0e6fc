"""The settings files that NCCL reads before its first variable, with the variables that may be shown.

Which files: NCCL_CONF_FILE, or without it ~/.nccl.conf, then always /etc/nccl.conf (NCCL src/misc/param.cc, 2.23 to
2.32). Lines as NCCL takes them: the first "=" parts name and value, "#" counts in the first column only, nothing is
trimmed, the first setter of a name wins. Whether a setting is right is fabricdoc's to say.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Mapping
from typing import Any

from .environment import is_allowed, shown
from .facts import clean, exists
from .raw import head

SYSTEM_FILE = "/etc/nccl.conf"
HOME_FILE = ".nccl.conf"
MAX_BYTES = 65536
MAX_VALUES = 256


def read(root: str, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """model.host.ConfFile of each file that is there, in the order in which NCCL reads them; raises OSError."""
    return [
        {"path": clean(path), "values": values(_text(root + path))} for path in paths(environ) if exists(root + path)
    ]


def paths(environ: Mapping[str, str]) -> list[str]:
    """The files NCCL would open. Home is $HOME since NCCL 2.30, the user list's before: both where they differ."""
    named = environ.get("NCCL_CONF_FILE", "")
    homes = [] if named else _homes(environ)
    own = [named] if named else [f"{home}/{HOME_FILE}" for home in homes]
    return list(dict.fromkeys((*own, SYSTEM_FILE)))


def _text(path: str) -> str:
    return head(path, MAX_BYTES).decode("utf-8", "replace")


def _homes(environ: Mapping[str, str]) -> Iterable[str]:
    try:
        listed = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        listed = ""
    return [home for home in (environ.get("HOME", ""), listed) if home.startswith("/")]


def values(text: str) -> dict[str, str]:
    """The variables a file sets that are on the allow-list, at most 256, names and values exactly as NCCL cuts them."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        name, sign, value = line.removesuffix("\r").partition("=")
        if sign and not line.startswith("#") and is_allowed(name) and len(found) < MAX_VALUES:
            found.setdefault(clean(name), shown(value))
    return found
