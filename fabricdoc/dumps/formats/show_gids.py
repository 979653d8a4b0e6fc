"""`show_gids` (mlnx-tools): GID tables with type and interface.

The IPv4 cell is blank where a GID maps none. It says v1 or v2 without the link layer; only RoCE has a v2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line, known
from fabricdoc.dumps.formats.gid_text import gid_fields, gid_type
from fabricdoc.dumps.told import Told

ROW = re.compile(
    r"\s*(?P<hca>[\w-]{1,64})\s+(?P<port>\d{1,3})\s+(?P<index>\d{1,5})\s+(?P<gid>(?:[0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4})\s+"
    r"(?:(?P<ip>\d+\.\d+\.\d+\.\d+)\s+)?(?P<type>v[12])(?:\s+(?P<netdev>[\w.@-]{1,64}))?\s*$"
)


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every row."""
    for number, text in lines:
        match = ROW.match(text)
        fields = gid_fields(match["gid"]) if match else None
        if match and fields:
            yield from _row(match, {**fields, "type": gid_type(match["type"]), "netdev": match["netdev"]}, number)


def _row(match: re.Match[str], fields: dict[str, object], number: int) -> Iterator[Told]:
    hca, port = match["hca"], int(match["port"])
    yield Told(("hca", hca, "name"), hca, number)
    yield Told(("port", hca, port, "number"), port, number)
    if match["type"] == "v2":
        yield Told(("port", hca, port, "link_layer"), "Ethernet", number)
    for name, value in fields.items():
        yield from known(("gid", hca, port, int(match["index"]), name), value, number)
    if match["netdev"]:
        yield Told(("port", hca, port, "netdev"), match["netdev"], number, weak=True)


FORMAT = Format(
    tool="show_gids",
    command=r"show_gids\b",
    file=r"(?:show[-_]?)?gids",
    begins=r"\s*DEV\s+PORT\s+INDEX\s+GID\b|\s*[\w-]+\s+\d+\s+\d+\s+(?:[0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4}\s+(?:[\d.]+\s+)?v[12]\b",
    goes_on=r"\s*---\s+----|n_gids_found=|\s*---[-\s]*$",
    read=read,
)
