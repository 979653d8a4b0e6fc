"""A hostfile: one node a line, in the forms that launchers of parallel jobs read, so that theirs can be used as it is.

Open MPI's `host slots=8 max_slots=8`, MPICH's `host:8`, Slurm's and PBS's plain lists, and our own `[NAME=]TARGET`.
How many processes a launcher would start there is read and left: ranks per node are `bench`'s matter. Node sets and
`#` comments may stand anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import read_text
from fabricdoc.transport.config import Config
from fabricdoc.transport.nodes import NodeSpec, check_unique, parse_nodes, with_gateways
from fabricdoc.transport.nodesets import check_count

MAX_BYTES = 8 * 1024 * 1024
# MPICH's `host:N` is a number of processes, ours a port; above this no one starts that many on a node
MOST_PROCESSES = 1024
_COMMENT = re.compile(r"(?:^|\s)#.*")
_SCHEME = r"(?:netns|slurm|mpirun|k8s|docker|podman):"
_MPICH = re.compile(rf"(?!{_SCHEME})(?P<host>[^=@:/\s]+):(?P<count>[0-9]{{1,9}})", re.ASCII)
# Open MPI: PRRTE's rmaps hostfile grammar (slots, max_slots, their spellings, username); MPICH: Hydra's per-host words
_COUNTS = ("slots", "slot", "max_slots", "max-slots", "slots_max", "slots-max", "cpu", "cpus", "count")
_NAMES = ("binding", "ifname")
_USERS = ("username", "user_name", "user-name", "user")


def read_hostfile(path: Path, config: Config) -> tuple[NodeSpec, ...]:
    """The file's nodes in its order, each once however often it is listed; a name of fabric.toml means that node.

    Raises InputError with file and line: a line that is no node, one name for two targets, no node at all, or more
    than 16,384.
    """
    nodes: dict[str, NodeSpec] = {}
    direct = replace(config, tree=False)
    for number, line in enumerate(read_text(path, str(path), limit=MAX_BYTES).splitlines(), 1):
        try:
            for node in _nodes(_COMMENT.sub("", line).strip(), direct):
                if nodes.setdefault(node.name, node) != node:
                    check_unique((nodes[node.name], node))
            check_count(len(nodes), str(path))
        except UsageError as error:
            raise InputError(f"{path}:{number}: {error.message}", fix=error.fix) from error
    if not nodes:
        raise InputError(f"{path} names no node", fix="write one node a line: [NAME=]TARGET")
    return with_gateways(tuple(nodes.values()), config)


def _nodes(line: str, config: Config) -> tuple[NodeSpec, ...]:
    """The nodes of one line without its comment; none for an empty one."""
    if not line:
        return ()
    item, *rest = line.split(maxsplit=1)
    user = _user(_words(rest[0])) if rest else ""
    nodes = parse_nodes([_without_count(item)], config)
    return tuple(replace(node, user=user) for node in nodes) if user else nodes


def _words(text: str) -> dict[str, str]:
    """`slots=8 user = me` as a mapping; raises UsageError for what no launcher writes there."""
    words = re.sub(r"\s*=\s*", "=", text).split()
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in (*_COUNTS, *_NAMES, *_USERS):
            fix = f"one node a line; known after it: {_COUNTS[0]}=N, {_COUNTS[2]}=N, {_USERS[0]}=NAME"
            raise UsageError(f"can't read {word!r} after the node", fix=fix)
        if key in _COUNTS and not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII):
            raise UsageError(f"{word!r}: {value!r} is no number", fix=f"write {key}=8, or leave it out")
    return dict(word.split("=", 1) for word in words)


def _user(words: Mapping[str, str]) -> str:
    return next((words[key] for key in _USERS if key in words), "")


def _without_count(item: str) -> str:
    """The item, without MPICH's number of processes."""
    match = _MPICH.fullmatch(item)
    if match is None:
        return item
    if int(match["count"]) > MOST_PROCESSES:
        fix = f"for a port write NAME={item}, for a number of processes at most {MOST_PROCESSES}"
        raise UsageError(f"{item!r}: in a hostfile the number is that of processes (as MPICH has it)", fix=fix)
    return match["host"]
