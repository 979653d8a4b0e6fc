"""The words of causes: severity, order, cause, fix and what to collect, from presets/causes/*.toml.

Words in braces are filled with the user's own names; where one is not known, a sentence keeps a general word. Which
cause holds is decided by rules, not here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from fabricdoc.explain.hits import Severity
from fabricdoc.files import own_folder, parse_toml

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
GENERAL: Mapping[str, str] = {
    "hca": "HCA",
    "device": "HCA",
    "node": "this node",
    "other": "the other node",
    "right": "N",
    "other_right": "another index",
    "network": "SUBNET",
    "interface": "a virtual interface",
    "good": "IFACE",
    "suggestion": "IFACE",
    "netdev": "IFACE",
    "peer": "PEER",
    "keep": "HCA,HCA",
    "roce": "HCA,HCA",
    "ib": "HCA,HCA",
    "exact": "HCA,HCA",
    "fix": "HCA,HCA",
    "both": "HCA,HCA",
    "file": "ENVFILE",
    "local": "the local port",
    "remote": "the peer's",
    "first": "one",
    "second": "another",
    "name": "a variable",
    "value": "VALUE",
    "limit": "too few",
    "call": "a verbs call",
    "counters": "none told",
    "plugin": "a plugin",
    "address": "of the fabric",
    "gid": "one of them",
    "few": "fewer",
    "many": "more",
    "end": "one of them",
    "busbw": "measured",
    "index": "N",
    "settings": "NCCL_IB_TIMEOUT or NCCL_IB_RETRY_CNT",
    "low": "one",
    "high": "another",
    "extra": "other devices",
    "hcas": "other ports",
    "interfaces": "several",
    "xid": "of some number",
    "gpu": "",
    "wanted": "",
}
"""What stands in a sentence where the user's own word is not known."""
SENTENCE: Mapping[str, str] = {"hca": "an HCA"}
"""What stands there in the cause alone: a fix wants a word to be replaced."""
_WORD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause's words. A lower `order` comes earlier in the chain of causes."""

    id: str
    family: str
    severity: Severity
    order: int
    cause: str
    fix: tuple[str, ...]
    collect: tuple[str, ...]
    source: str

    def filled(self, words: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
        """Cause and fix with the user's words in them."""
        return fill(self.cause, {**SENTENCE, **words}), tuple(fill(line, words) for line in self.fix)


def fill(text: str, words: Mapping[str, str]) -> str:
    """A text with its braces filled; never fails."""
    filled = _WORD.sub(lambda match: words.get(match[1]) or GENERAL.get(match[1], match[1]), text)
    return re.sub(r" {2,}", " ", filled).replace(" .", ".")


@cache
def causes() -> Mapping[str, Cause]:
    """Every cause by its id; a broken file raises, since it is ours."""
    found: dict[str, Cause] = {}
    folder = own_folder("presets").joinpath("causes")
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".toml"):
            family = file.name.removesuffix(".toml")
            for id, table in parse_toml(file.read_text(encoding="utf-8")).items():
                found[id] = _cause(id, family, table)
    return found


def _cause(id: str, family: str, table: Mapping[str, object]) -> Cause:
    severity = next(one for one in SEVERITIES if one == table["severity"])
    fix, collect, order = table["fix"], table["collect"], table["order"]
    assert isinstance(fix, list)
    assert isinstance(collect, list)
    assert isinstance(order, int)
    return Cause(id, family, severity, order, str(table["cause"]), tuple(fix), tuple(collect), str(table["source"]))
