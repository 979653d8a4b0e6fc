"""ClusterShell's topology.conf: which of the user's gateways lead to a node, for who asks for it in fabric.toml.

ClusterShell (the extra `cluster`) reads the file, so a tree means here what it means to clush. Only who leads to whom
is taken from it: its gateways' own protocol is not used, since that is unpickled where it arrives
(ClusterShell/Communication.py, `data_decode`, up to 1.10). What is carried, and how, is `branch`'s and `relay`'s
matter. Reaches no node.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from fabricdoc.errors import InputError, UsageError, pip_line
from fabricdoc.files import is_file, read_text
from fabricdoc.transport.config import Config
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.nodesets import check_count
from fabricdoc.transport.targets import is_over_ssh

MAX_BYTES = 1024 * 1024
MAX_LEVELS = 8
NAME = "topology.conf"

Names = tuple[str, ...]


def routed(nodes: Sequence[NodeSpec], config: Config) -> tuple[NodeSpec, ...]:
    """The nodes with the gateways that lead to them, where `config.tree` asks for it.

    A node that is not reached by ssh, that the topology does not name, or that it puts directly below this machine has
    none. Raises UsageError where there is no ClusterShell, and InputError where there is no topology, or none that has
    this machine at its root.
    """
    if not config.tree or not any(is_over_ssh(node) for node in nodes):
        return tuple(nodes)
    ways = topology_ways(config)
    gateways: dict[Names, tuple[tuple[NodeSpec, ...], ...]] = {}
    found = []
    for node in nodes:
        levels = ways.get(node.where.host, ()) if is_over_ssh(node) else ()
        if levels not in gateways:
            gateways[levels] = tuple(_level(level, config) for level in levels)
        found.append(replace(node, via=gateways[levels]) if levels else node)
    return tuple(found)


def _level(names: str, config: Config) -> tuple[NodeSpec, ...]:
    """The gateways of one level, each with what fabric.toml says of a node of that name."""
    known = {node.name: node for node in config.nodes}
    try:
        return tuple(known.get(name) or NodeSpec(name, name, ssh_config=config.ssh_config) for name in names.split(","))
    except UsageError as error:
        message = f"{config.topology or NAME} names a gateway that can't be one: {error.message}"
        raise InputError(message, fix="write its name as ssh takes it; user and port go into fabric.toml") from error


def topology_ways(config: Config) -> Mapping[str, Names]:
    """Host to the levels of gateways before it, from this machine on; each level as comma-joined names."""
    path = Path(config.topology) if config.topology else _own_file(config)
    text = read_text(path, str(path), fix="see docs/nodes.md, Many nodes", limit=MAX_BYTES)
    return _ways(str(path), text, os.uname().nodename.partition(".")[0])


def _own_file(config: Config) -> Path:
    """The topology.conf that clush would take: the last of its places that has one."""
    places = [Path(place) for place in _clustershell("Defaults", config).config_paths(NAME)]
    found = next((place for place in reversed(places) if is_file(place)), None)
    if found is None:
        where = ", ".join(str(place) for place in dict.fromkeys(places))
        raise InputError(
            f"{config.path}: tree = true, and ClusterShell has no {NAME} here: not in {where}",
            fix="write one ([routes], `this-machine: gateways`, `gateways: nodes`) that names gateways that you trust "
            "as yourself: they log in to the nodes and pass on what those say. Or leave tree out and ask all directly",
        )
    return found


def _clustershell(name: str, config: Config | None = None) -> Any:
    try:
        return import_module(f"ClusterShell.{name}")
    except ImportError as error:
        where = f"{config.path}: " if config and config.path else ""
        raise UsageError(
            f"{where}tree = true needs ClusterShell, which can't be imported here: {error}",
            fix=f"{pip_line('ClusterShell')}, or leave tree out: all nodes are then asked directly",
        ) from error


@lru_cache(maxsize=4)
def _ways(path: str, text: str, root: str) -> Mapping[str, Names]:
    """The ways of one file, read anew when its text has changed; ClusterShell reads the groups that it names."""
    topology, sets = _clustershell("Topology"), _clustershell("NodeSet")
    utils = _clustershell("NodeUtils")
    failures = (topology.TopologyError, sets.NodeSetException, utils.GroupResolverError, utils.GroupSourceError)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # [Main], which it still reads
            tree = topology.TopologyParser(path).tree(root)
    except (*failures, OSError, AssertionError) as error:
        said = " ".join(str(error).split())
        fix = f"in [routes] this machine stands at the left as {root}: `{root}: gateways`; then `gateways: nodes`"
        raise InputError(f"{path}: ClusterShell can't make a tree of it: {said}", fix=fix) from error
    return dict(_hosts(tree, path))


def _hosts(tree: Any, path: str) -> Iterable[tuple[str, Names]]:
    """Every host of the tree with its levels."""
    total = 0
    for group in tree.groups:
        total += len(group.nodeset)
        check_count(total, path)
        levels = _levels(group, path)
        for host in group.nodeset:
            yield str(host), levels


def _levels(group: Any, path: str) -> Names:
    """The groups between the root and this one, the root's children first."""
    levels: list[str] = []
    above = group.parent
    while above is not None and above.parent is not None:
        levels.insert(0, ",".join(str(host) for host in above.nodeset))
        above = above.parent
        if len(levels) > MAX_LEVELS:
            raise InputError(f"{path}: more than {MAX_LEVELS} levels of gateways", fix="join some of them")
    return tuple(levels)
