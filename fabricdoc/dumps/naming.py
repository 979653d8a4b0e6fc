"""What a file's name says: the tool whose output it holds, what that was asked about, and the node.

    spark1-ibv_devinfo.txt   node02_show_gids.txt   ethtool-S-enp1s0f0np0.txt   spark1.txt

A name with a tool's word has the node before it and, for tools that ask about one interface, the interface behind it.
A name without one may be a node's, which only the files beside it can tell (`node_of`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from fabricdoc.dumps.formats import FORMATS, Format

SUFFIXES = re.compile(r"\.(?:txt|log|out|json|json0|text|md|dump)$", re.IGNORECASE)
_EDGE = r"(?:^|(?<=[-_. ]))"
WORDS = [(re.compile(rf"{_EDGE}(?:{one.file})(?=$|[-_. ])", re.IGNORECASE), one) for one in FORMATS]
SEPARATORS = "-_. "


class FileName(NamedTuple):
    """What a name says; `node` and `argument` are "" and `format` None where it says nothing."""

    stem: str
    format: Format | None
    node: str
    argument: str


def file_name(name: str) -> FileName:
    """What the last part of a path says."""
    stem = name.rpartition("/")[2]
    while SUFFIXES.search(stem):
        stem = SUFFIXES.sub("", stem)
    found = [(match, one) for pattern, one in WORDS if (match := pattern.search(stem))]
    if not found:
        return FileName(stem, None, "", "")
    match, one = max(found, key=lambda pair: (pair[0].end() - pair[0].start(), -pair[0].start()))
    return FileName(stem, one, stem[: match.start()].strip(SEPARATORS), stem[match.end() :].strip(SEPARATORS))


def node_of(named: FileName, folder: str, *, certain: bool, beside: Iterable[FileName]) -> str:
    """The node of a file: its folder's where folders name nodes, else the word before the tool's, else the folder.

    A name without a tool's word is a node's when no file beside it is named by a tool alone (dump/spark1.txt and
    dump/spark2.txt are two nodes; dump/rdma.txt and dump/notes.txt are one).
    """
    if certain:
        return folder
    if named.format is not None:
        return named.node or folder
    by_tool = any(one.format is not None and not one.node for one in beside)
    return folder if by_tool else named.stem or folder
