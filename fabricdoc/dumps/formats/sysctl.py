"""`sysctl -a` and `sysctl NAME`: ARP and reverse-path settings, forwarding, hostname, boot id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line, known, whole
from fabricdoc.dumps.told import Told

LINE = re.compile(r"\s*(?P<name>[a-z][\w./:*@-]{2,200})\s*=\s*(?P<value>.*?)\s*$")
CONF = re.compile(r"net\.ipv4\.conf\.[\w./:@-]+\.(?:rp_filter|arp_ignore|arp_announce)")
HOST = {"kernel.hostname": "hostname", "kernel.random.boot_id": "boot_id", "kernel.osrelease": "kernel"}


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every line."""
    for number, text in lines:
        if match := LINE.match(text):
            yield from setting(match["name"], match["value"], number)


def setting(name: str, value: str, number: int) -> list[Told]:
    """One setting by its dotted name; an interface's dot is written as a slash there."""
    if CONF.fullmatch(name):
        return known(("sysctl", name.replace("/", ".")), whole(value), number)
    if name == "net.ipv4.ip_forward":
        return known(("host", "ip_forward"), {"1": True, "0": False}.get(value), number)
    return known(("host", HOST[name]), value, number) if name in HOST else []


FORMAT = Format(
    tool="sysctl",
    command=r"sysctl\b",
    file=r"sysctl",
    begins=r"(?:net|kernel|vm|fs|dev|user|debug|abi)\.[\w./:*@-]+\s*=",
    goes_on=r"sysctl: |[a-z]\w*\.[\w./:*@-]+\s*=",
    read=read,
)
