"""The nftables rule set in numbers, by netlink: how many rules, and where packets that no rule takes are dropped.

Sends dump requests only, and only where nf_tables is there already: asking a kernel without it would load a module.
Needs CAP_NET_ADMIN (nfnetlink asks for it). Layout: linux/netfilter/nfnetlink.h, linux/netfilter/nf_tables.h.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

from .facts import exists
from .netlink import HEADER, attributes, messages
from .raw import head

NETLINK_NETFILTER = 12
SUBSYSTEM = 10
GET_CHAIN, GET_RULE = 4, 7
CHAIN_HOOK, CHAIN_POLICY, HOOK_NUMBER = 4, 5, 1
POLICY_DROP = 0
# NFPROTO_INET, _IPV4, _IPV6: families of which a policy is told, and their hooks by number
FAMILIES = (1, 2, 10)
HOOKS = ("prerouting", "input", "forward", "output", "postrouting")
TOLD_FIRST = ("input", "forward", "output")
REQUEST_DUMP = 0x1 | 0x300
ERROR, DONE = 2, 3
FAMILY_HEADER = struct.Struct("=BBH")
LIMIT_S = 1.0
BUFFER = 1 << 18
MAX_ENTRIES = 100_000
MAX_MODULES = 1 << 20


class Ruleset(NamedTuple):
    """Number of rules in this network namespace, and the hooks at which some chain's policy is to drop IP packets."""

    rules: int
    dropping: tuple[str, ...]


def ruleset() -> Ruleset:
    """This network namespace's rule set; raises OSError (EPERM without CAP_NET_ADMIN), ValueError, struct.error."""
    dropping = {hook for body in _dump(GET_CHAIN) if (hook := _dropping(body))}
    told = [hook for hook in (*TOLD_FIRST, *HOOKS) if hook in dropping]
    return Ruleset(sum(1 for _ in _dump(GET_RULE)), tuple(dict.fromkeys(told)))


def _dropping(body: bytes) -> str:
    """The hook at which a chain drops what no rule takes; "" for any other chain."""
    chain = dict(attributes(body, FAMILY_HEADER.size))
    if body[0] not in FAMILIES or _number(chain.get(CHAIN_POLICY)) != POLICY_DROP:
        return ""
    number = _number(dict(attributes(chain.get(CHAIN_HOOK, b""))).get(HOOK_NUMBER))
    return HOOKS[number] if 0 <= number < len(HOOKS) else ""


def _number(value: bytes | None) -> int:
    """A big-endian number of 32 bits, -1 where there is none."""
    return int.from_bytes(value, "big") if value is not None and len(value) == 4 else -1


def _dump(kind: int) -> Iterator[bytes]:
    """The bodies of a dump of all families, at most 100 000; raises OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_NETFILTER) as wire:
        wire.settimeout(LIMIT_S)
        wire.bind((0, 0))
        body = FAMILY_HEADER.pack(socket.AF_UNSPEC, 0, 0)
        wire.send(HEADER.pack(HEADER.size + len(body), SUBSYSTEM << 8 | kind, REQUEST_DUMP, 1, 0) + body)
        for taken, (number, data) in enumerate(_answers(wire)):
            if number == DONE:
                return
            if number == ERROR:
                raise _error(data)
            if taken > MAX_ENTRIES:
                raise OSError(f"more than {MAX_ENTRIES} entries")
            yield data


def _answers(wire: socket.socket) -> Iterator[tuple[int, bytes]]:
    while True:
        for message in messages(wire.recv(BUFFER)):
            yield message.kind, message.body


def _error(data: bytes) -> OSError:
    code = -struct.unpack_from("=i", data)[0] if len(data) >= 4 else 0
    return OSError(code, os.strerror(code))


def is_there(root: str) -> bool:
    """Whether the kernel has nf_tables now, so that asking loads nothing."""
    if not exists(f"{root}/proc/modules"):
        return True  # a kernel without modules loads none
    loaded = head(f"{root}/proc/modules", MAX_MODULES)
    if loaded.startswith(b"nf_tables ") or b"\nnf_tables " in loaded:
        return True
    return exists(f"{root}/sys/module/nf_tables")
