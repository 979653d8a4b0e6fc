"""What brings an interface's addresses back after a reboot, as far as the files that configure interfaces tell.

Those files (`network_files`) are searched for the interface's IPv4 addresses, for DHCP and for link-local addressing.
No tool is asked, and nothing is judged. A file that may not be read makes the answer unknown where no other file
gives a good one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .facts import is_unknown, unknown
from .network_files import Source, names_it, part_for, words_of

SEARCHED = "netplan, systemd-networkd, NetworkManager, ifupdown, ifcfg"
LEASE = re.compile(
    r"dhcp4:\s*(?:true|yes|on)|^\s*DHCP\s*=\s*(?:yes|true|on|both|ipv4)|^method=auto|inet dhcp|BOOTPROTO=.?dhcp",
    re.MULTILINE | re.IGNORECASE,
)
LINK_LOCAL = re.compile(r"link-local:.*ipv4|LinkLocalAddressing\s*=\s*(?:yes|ipv4)|^method=link-local", re.MULTILINE)
BEST, GOOD, POOR = 0, 1, 2


def persistence(interface: dict[str, Any], leased: bool, sources: Any) -> Any:
    """The fact for one interface (model.netdev.Netdev.persistence); `leased`: its IPv4 addresses have a lifetime.

    "PATH holds ADDRESSES", "PATH asks for a lease (DHCP)", "PATH gives it a link-local address", "PATH names it", or
    what may be lost: "PATH holds ADDRESSES, not ADDRESSES", "PATH names it, without its address", "not found in ...".
    """
    kept = [one for one in interface["addresses"] if one["scope"] != "host"]
    kept = [one for one in kept if one["family"] == "ipv4" or one["scope"] == "global"]
    if not kept:
        return unknown("it has no address that could get lost")
    if is_unknown(sources):
        return sources
    naming = [source for source in sources if names_it(source, interface)]
    lasting = [source for source in naming if not _ends_with_the_boot(source.path)]
    ipv4 = [one["ip"] for one in kept if one["family"] == "ipv4"]
    said = sorted(_says(source, interface["name"], ipv4) for source in lasting if not source.reason)
    refused = [source.reason for source in sources if source.reason]
    if said and (said[0][0] < POOR or not refused):
        return said[0][1]
    if locked := next((source for source in lasting if source.reason), None):
        return f"{locked.path} is named after it and may not be read"
    if refused:
        return unknown("; ".join(refused[:3]) + (f"; and {len(refused) - 3} more" if len(refused) > 3 else ""))
    if leased:
        return f"its address is a lease (DHCP); not named in {SEARCHED}"
    return f"not found in {SEARCHED}" + "".join(f"; {source.path} ends with the boot" for source in naming[:1])


def _ends_with_the_boot(path: str) -> bool:
    """Files below /run are gone after a reboot, but netplan writes its own again."""
    return path.startswith("/run/") and "netplan-" not in path


def _says(source: Source, name: str, ipv4: Sequence[str]) -> tuple[int, str]:
    """How good the answer of a file is that names the interface, and the answer."""
    text = part_for(source, name)
    words = {word.partition("/")[0] for word in words_of(text)}
    held, lost = [ip for ip in ipv4 if ip in words], [ip for ip in ipv4 if ip not in words]
    if not ipv4:
        return GOOD, f"{source.path} names it"
    if not lost:
        return BEST, f"{source.path} holds {', '.join(held)}"
    if LEASE.search(text):
        return GOOD, f"{source.path} asks for a lease (DHCP)"
    if LINK_LOCAL.search(text) and all(ip.startswith("169.254.") for ip in lost):
        return GOOD, f"{source.path} gives it a link-local address"
    if held:
        return POOR, f"{source.path} holds {', '.join(held)}, not {', '.join(lost)}"
    return POOR + 1, f"{source.path} names it, without its address"
