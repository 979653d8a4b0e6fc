"""What filters packets on this node: nftables (by netlink), tables of the old iptables, and ufw's own switch.

Starts no program, changes and loads nothing. RoCE's data passes beside all of it (the NIC handles UDP 4791), the
bootstrap of NCCL and the rendezvous do not. Whether a rule is in the way can't be told from here.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

from . import nft
from .facts import READ_ERRORS, exists, load, unknown, why

NONE_SEEN = "none seen"
NO_NFTABLES = frozenset({errno.EPROTONOSUPPORT, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOENT})
TABLES = (("iptables", "/proc/net/ip_tables_names"), ("ip6tables", "/proc/net/ip6_tables_names"))
UFW = "/etc/ufw/ufw.conf"
MAX_TABLES = 8

Part = Callable[[str], str]


def read(root: str, ruleset: Callable[[], nft.Ruleset] = nft.ruleset) -> Any:
    """One line of what was seen, "none seen" when all could be read, else unknown with what could not."""
    seen, unread = [], []
    for source in (_nftables(ruleset), _iptables, _ufw):
        try:
            if text := source(root):
                seen.append(text)
        except READ_ERRORS as error:
            unread.append(why(error))
    if seen:
        return "; ".join(seen)
    return unknown("; ".join(unread)) if unread else NONE_SEEN


def _nftables(ruleset: Callable[[], nft.Ruleset]) -> Part:
    """ "nftables: 12 rules, policy drop in input", "" where there are none; raises OSError where it may not ask."""

    def read_rules(root: str) -> str:
        if not nft.is_there(root):
            return ""
        try:
            rules, dropping = ruleset()
        except OSError as error:
            if error.errno in NO_NFTABLES:
                return ""
            raise OSError(error.errno, f"nftables: {error.strerror or error}") from error
        policy = f", policy drop in {', '.join(dropping)}" if dropping else ""
        return f"nftables: {rules} rule{'' if rules == 1 else 's'}{policy}" if rules or dropping else ""

    return read_rules


def _iptables(root: str) -> str:
    """The tables that the old iptables has filled; raises OSError where only root may know."""
    found = []
    for name, path in TABLES:
        tables = load(root + path).split()[:MAX_TABLES] if exists(root + path) else []
        found += [f"{name} (legacy) tables {', '.join(tables)}"] if tables else []
    return "; ".join(found)


def _ufw(root: str) -> str:
    """ "ufw is enabled", from its settings file, which any user may read."""
    lines = load(root + UFW).splitlines() if exists(root + UFW) else []
    enabled = any(line.replace(" ", "").lower() in ("enabled=yes", 'enabled="yes"') for line in lines)
    return "ufw is enabled" if enabled else ""
