"""Group names (`@compute`, `@slurm:gpu`) through ClusterShell, which alone knows the site's groups.conf.

ClusterShell is an extra (`cluster`) and imported only for a word that starts with `@`; node sets need none. Its groups
may run the commands that the site's groups.conf names, so a group's name is checked before it is handed over.
"""

from __future__ import annotations

import re
from importlib import import_module

from fabricdoc.errors import UsageError
from fabricdoc.transport.nodesets import check_count

_GROUP = re.compile(r"@(?:[A-Za-z0-9_][A-Za-z0-9_.-]*:)?[A-Za-z0-9_*][A-Za-z0-9_.-]*", re.ASCII)


def is_group(word: str) -> bool:
    """Whether this word of a node list is a group's name."""
    return word.startswith("@")


def group_nodes(word: str) -> tuple[str, ...]:
    """The nodes of a group, sorted as ClusterShell sorts.

    Raises UsageError: no such name, no ClusterShell here, a group that it doesn't know, is empty, or is too large.
    """
    if not _GROUP.fullmatch(word):
        raise UsageError(f"{word!r} can't be a group's name", fix="write @GROUP or @SOURCE:GROUP")
    try:
        sets, utils = import_module("ClusterShell.NodeSet"), import_module("ClusterShell.NodeUtils")
    except ImportError as error:
        raise UsageError(
            f"{word}: groups are ClusterShell's, which can't be imported here: {error}",
            fix="pip install 'fabricdoc[cluster]', or name the nodes: node[001-128]",
        ) from error
    failures = (sets.NodeSetException, utils.GroupResolverError, utils.GroupSourceError, OSError)
    try:
        nodes = sets.NodeSet(word)
        check_count(len(nodes), word)
        names = tuple(str(name) for name in nodes)
    except failures as error:
        raise UsageError(
            f"{word}: ClusterShell does not know it: {error}", fix="see the groups it knows: nodeset -LL"
        ) from error
    if not names:
        raise UsageError(f"{word}: this group has no nodes", fix="see the groups it knows: nodeset -LL")
    return names
