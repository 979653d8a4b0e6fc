"""`rdma link`, `rdma dev`, `rdma statistic` (iproute2), as text; their JSON is read in `json_shapes`.

nldev prints lid and subnet_prefix for InfiniBand ports only, so a port with an interface and without them is Ethernet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabricdoc.dumps.formats.base import Format, Line, guid, known, phys_state
from fabricdoc.dumps.told import Told

LINK = re.compile(r"\s*(?:\d+/\d+:\s+|link\s+)(?P<hca>[\w.-]{1,64})/(?P<port>\d{1,3}):?\s+(?P<rest>.*)$")
DEV = re.compile(r"\s*\d+:\s+(?P<hca>[\w.-]{1,64}):\s+(?P<rest>node_type\s.*)$")
INFINIBAND = {"lid", "sm_lid", "subnet_prefix"}


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every line; `link` and `statistic` lines are told apart by their second word."""
    for number, text in lines:
        if match := LINK.match(text):
            words = match["rest"].split()
            pairs = dict(zip(words[::2], words[1::2], strict=False))
            if "state" in pairs or "physical_state" in pairs:
                yield from link_facts(match["hca"], int(match["port"]), pairs, number)
            else:
                yield from statistic_facts(match["hca"], int(match["port"]), pairs, number)
        elif match := DEV.match(text):
            words = match["rest"].split()
            yield from device_facts(match["hca"], dict(zip(words[::2], words[1::2], strict=False)), number)


def link_facts(hca: str, port: int, about: Mapping[str, Any], number: int) -> Iterator[Told]:
    """A port, from the words of `rdma link` or the keys of its JSON."""
    yield Told(("hca", hca, "name"), hca, number)
    yield from known(("port", hca, port, "state"), _text(about.get("state")), number)
    yield from known(("port", hca, port, "phys_state"), phys_state(_text(about.get("physical_state"))), number)
    netdev = _text(about.get("netdev"))
    if netdev:
        yield Told(("port", hca, port, "netdev"), netdev, number)
        yield Told(("netdev", netdev, "name"), netdev, number)
        if not INFINIBAND & set(about):
            yield Told(("port", hca, port, "link_layer"), "Ethernet", number)
    elif INFINIBAND & set(about):
        yield Told(("port", hca, port, "link_layer"), "InfiniBand", number)


def device_facts(hca: str, about: Mapping[str, Any], number: int) -> Iterator[Told]:
    """A device, from `rdma dev`."""
    yield Told(("hca", hca, "name"), hca, number)
    yield from known(("hca", hca, "firmware"), _text(about.get("fw")), number)
    for key in ("node_guid", "sys_image_guid"):
        yield from known(("hca", hca, key), guid(_text(about.get(key))), number)


def statistic_facts(hca: str, port: int, about: Mapping[str, Any], number: int) -> Iterator[Told]:
    """The driver's counters of a port (hw_counters in sysfs)."""
    for name, value in about.items():
        text = _text(value)
        if text.isascii() and text.isdecimal() and len(text) < 19:
            yield Told(("counter", f"{hca}/{port}", "hw", name), int(text), number)


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


FORMAT = Format(
    tool="rdma",
    command=r"rdma\s+(?:-\S+\s+)*(?:link|dev|statistic|stat|res)\b",
    file=r"rdma(?:[-_. ]?(?:link|dev|stat\w*))?(?:[-_. ]?show)?",
    begins=r"\s*(?:link\s+|\d+/\d+:\s+)[\w.-]+/\d+:?\s+(?:state|subnet_prefix|physical_state)\s|\s*link\s+[\w.-]+/\d+\s+\w+\s+\d+\b"
    r"|\s*\d+:\s+[\w.-]+:\s+node_type\s",
    goes_on=r"(?!)",
    read=read,
    longest=1 << 16,
)
