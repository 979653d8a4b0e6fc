"""What ClusterShell alone reads: groups (`@compute`, `@slurm:gpu`), set operators (`!`, `&`, `^`) and wildcards.

ClusterShell is an extra (`cluster`), imported only for such words: plain node sets are `nodesets`' own, so that a site
with ClusterShell and one without read them alike, in the order written (ClusterShell sorts). Its groups may run the
commands that the site's groups.conf names, so every name is checked before it is handed over. Its trees are
`topology`'s matter.
"""

from __future__ import annotations

import re
from importlib import import_module

from fabricdoc.errors import UsageError, pip_line
from fabricdoc.transport.nodesets import check_count

_GROUP = re.compile(r"@(?:[A-Za-z0-9_][A-Za-z0-9_.-]*:)?[A-Za-z0-9_*][A-Za-z0-9_.-]*", re.ASCII)
# the operators of ClusterShell.NodeSet's ParsingEngine besides the comma, and its wildcards
_OPERATORS = re.compile(r"[!&^*?]")
_SPLIT = re.compile(r"[!&^]|,(?![^\[]*\])")
_NAMES = re.compile(r"[A-Za-z0-9_.*?\[\],/-]+", re.ASCII)
_FIX = "see the groups it knows: nodeset -LL"


def is_group(word: str) -> bool:
    """Whether this word of a node list is a group's name."""
    return word.startswith("@")


def is_expression(item: str) -> bool:
    """Whether this item is a node set with an operator or a wildcard; what follows `netns:/` is a file's path."""
    return bool(_OPERATORS.search(item)) and "netns:/" not in item


def group_nodes(word: str) -> tuple[str, ...]:
    """The nodes of a group, sorted as ClusterShell sorts.

    Raises UsageError: no such name, no ClusterShell here, a group that it doesn't know, is empty, or is too large.
    """
    if not _GROUP.fullmatch(word):
        raise UsageError(f"{word!r} can't be a group's name", fix="write @GROUP or @SOURCE:GROUP")
    return _nodes(word, f"{word}: groups are ClusterShell's", "this group has no nodes")


def expression_nodes(item: str) -> tuple[str, ...]:
    """The nodes of a set with operators, read from left to right, sorted as ClusterShell sorts; raises UsageError."""
    for piece in _SPLIT.split(item):
        word = piece.strip(" ")
        if not (_GROUP if is_group(word) else _NAMES).fullmatch(word):
            message = f"{item!r}: {word!r} can't stand in a node set with operators: names, sets and @groups can"
            raise UsageError(message, fix="write it as in node[1-9]!node[3-4], @gpu&rack1n*, @a^@b")
    return _nodes(item, f"{item!r}: `!`, `&`, `^`, `*` and `?` are ClusterShell's", "no node is left")


def _nodes(word: str, whose: str, none: str) -> tuple[str, ...]:
    try:
        sets, utils = import_module("ClusterShell.NodeSet"), import_module("ClusterShell.NodeUtils")
    except ImportError as error:
        raise UsageError(
            f"{whose}, which can't be imported here: {error}",
            fix=f"{pip_line('ClusterShell')}, or name the nodes: node[001-128]",
        ) from error
    failures = (sets.NodeSetException, utils.GroupResolverError, utils.GroupSourceError, OSError)
    try:
        nodes = sets.NodeSet(word)
        check_count(len(nodes), word)
        names = tuple(str(name) for name in nodes)
    except failures as error:
        raise UsageError(f"{word}: ClusterShell does not know it: {error}", fix=_FIX) from error
    if not names:
        raise UsageError(f"{word}: {none}", fix=_FIX)
    return names
