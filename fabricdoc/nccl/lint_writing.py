"""A fix written in the form of the file it is for: the line to put there instead.

Complaints say `NAME=VALUE`, whatever the file is. Of such a fix the first word becomes an item of compose, a pair of
YAML, a `value:` of Kubernetes, an `export`, a line of a Dockerfile or of a unit, a pair of JSON; words behind it stay.
Sentences are left as they are.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Literal

Style = Literal["", "list", "mapping", "named", "export", "ENV", "shell", "systemd", "json", "json-list", "json-named"]
"""How a setting is written: "" is NAME=VALUE as in an env file; `list`, `mapping` and `named` are YAML's."""

_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(\S*?)(?=,?(?:\s|$))", re.ASCII)
_QUOTED = "\"'\\"
_PLAIN_ITEM = re.compile(r"[^\s#:,\[\]{}\"'&*!|>%@`-](?:[^:#\"'\[\]{}]*)")


def written(fix: str, name: str, style: Style) -> str:
    """The fix of a complaint about `name`, with its assignment in that style; "" and sentences unchanged."""
    match = _ASSIGNED.match(fix) if style else None
    if match is None or not match[2]:
        return fix
    form = _OTHER_NAMED.get(style, _FORMS[style]) if match[1] != name else _FORMS[style]
    return form(match[1], match[2]) + fix[match.end() :]


def _item(name: str, value: str) -> str:
    plain = f"{name}={value}"
    return f"- {plain if _PLAIN_ITEM.fullmatch(plain) else json.dumps(plain)}"


def _unit(name: str, value: str) -> str:
    plain = f"{name}={value}".replace("%", "%%")
    return f"Environment={json.dumps(plain) if set(plain) & set(_QUOTED) else plain}"


def _shell(name: str, value: str) -> str:
    """Quoted where a shell would read more into it than letters; `=` and `^` are letters there."""
    safe = re.fullmatch(r"[\w@%+=:,./^-]*", value, re.ASCII)
    return f"{name}={value if safe else shlex.quote(value)}"


_FORMS: Mapping[Style, Callable[[str, str], str]] = {
    "list": _item,
    "mapping": lambda name, value: f"{name}: {json.dumps(value)}",
    "named": lambda _, value: f"value: {json.dumps(value)}",
    "export": lambda name, value: f"export {_shell(name, value)}",
    "ENV": lambda name, value: f"ENV {_shell(name, value)}",
    "shell": _shell,
    "systemd": _unit,
    "json": lambda name, value: f"{json.dumps(name)}: {json.dumps(value)}",
    "json-list": lambda name, value: json.dumps(f"{name}={value}"),
    "json-named": lambda _, value: f'"value": {json.dumps(value)}',
}
_OTHER_NAMED: Mapping[Style, Callable[[str, str], str]] = {
    "named": lambda name, value: f"- {{name: {name}, value: {json.dumps(value)}}}",
    "json-named": lambda name, value: json.dumps({"name": name, "value": value}),
}
"""Where the line holds the value alone, and the fix is about another variable."""
