"""`ulimit -a`, `ulimit -l`: how much memory a process may lock, in bytes (-1: no limit). The shell counts in KiB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line, known
from fabricdoc.dumps.told import Told

LOCKED = re.compile(
    r"\s*max locked memory\s+\((?P<unit>kbytes|bytes|unlimited)?[^)]*\)\s+(?P<value>unlimited|\d{1,15})\s*$"
)
PROC = re.compile(r"\s*Max locked memory\s+(?P<soft>unlimited|\d{1,18})\s+(?:unlimited|\d{1,18})\s+bytes\s*$")
BARE = re.compile(r"\s*(unlimited|\d{1,15})\s*$")


def read(lines: Sequence[Line], argument: str) -> Iterator[Told]:
    """The limit; a bare number counts under `ulimit -l` only."""
    for number, text in lines:
        if match := LOCKED.match(text):
            yield from known(
                ("host", "memlock"), _bytes(match["value"], 1 if match["unit"] == "bytes" else 1024), number
            )
        elif match := PROC.match(text):
            yield from known(("host", "memlock"), _bytes(match["soft"], 1), number)
        elif (match := BARE.match(text)) and argument == "-l":
            yield from known(("host", "memlock"), _bytes(match[1], 1024), number)


def _bytes(word: str, unit: int) -> int:
    return -1 if word == "unlimited" else int(word) * unit


FORMAT = Format(
    tool="ulimit",
    command=r"ulimit(?:\s+(?P<arg>-\w+))?|(?:cat|grep)\b.*/proc/\S+/limits",
    file=r"ulimit(?:[-_. ][al])?|limits",
    begins=r"\s*[a-z][a-z -]*\s+\([^)]*-\w\)\s+(?:unlimited|\d+)\s*$|Max locked memory\s+\S+\s+\S+\s+bytes",
    goes_on=r"\s*(?:[a-z][a-z ()/-]*\s+\([^)]*-\w\)\s+(?:unlimited|\d+)|unlimited|\d+)\s*$|(?:Limit|Max)\s+\S.*$",
    read=read,
)
