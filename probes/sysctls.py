"""The IPv4 settings that decide which interface answers ARP and whose packets are dropped, as the kernel applies them.

The kernel uses the larger of `all` and the interface's own value (Documentation/networking/ip-sysctl.rst). The
interface's values come with its RTM_NEWLINK message (IFLA_AF_SPEC, AF_INET, IFLA_INET_CONF: one word per number of
linux/ip.h), so no files are read for them; `all` is read once from /proc/sys, which shows this process's namespace.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from .facts import is_unknown, read_int, unknown
from .netlink import attributes

AF_INET, IFLA_INET_CONF = 2, 1
NUMBERS = {"rp_filter": 8, "arp_announce": 18, "arp_ignore": 19}
WORD = struct.Struct("=i")
NO_IPV4 = "the interface has no IPv4 configuration"


def own_values(af_spec: bytes) -> dict[str, int]:
    """The interface's own settings from IFLA_AF_SPEC; none where it has no IPv4. Raises struct.error, ValueError."""
    families = dict(attributes(af_spec))
    conf = dict(attributes(families.get(AF_INET, b""))).get(IFLA_INET_CONF, b"")
    return {
        name: WORD.unpack_from(conf, WORD.size * (number - 1))[0]
        for name, number in NUMBERS.items()
        if len(conf) >= WORD.size * number
    }


def read_all(root: str = "") -> dict[str, Any]:
    """The settings for all interfaces, each a number or why it can't be read."""
    return {name: read_int(f"{root}/proc/sys/net/ipv4/conf/all/{name}") for name in NUMBERS}


def effective(own: Mapping[str, int], everywhere: Mapping[str, Any]) -> dict[str, Any]:
    """What the kernel applies on an interface; unknown when either half is."""
    found = {}
    for name in NUMBERS:
        if name not in own:
            found[name] = unknown(NO_IPV4)
        elif is_unknown(everywhere[name]):
            found[name] = everywhere[name]
        else:
            found[name] = max(own[name], everywhere[name])
    return found
