"""What a node is on the command line: `[NAME=]TARGET`, and the checked record made from it.

`grammar` reads the target, `nodesets` says what sets of nodes are. Nothing here reaches a node, and nothing here knows
how one is reached (that is `targets`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from fabricdoc.errors import UsageError
from fabricdoc.transport.grammar import BOXED, CONTROL, LAUNCHED, NAME, USER, Target, parse_target
from fabricdoc.transport.nodesets import check_count, expand_all

if TYPE_CHECKING:
    from fabricdoc.transport.config import Config

NAME_LIMIT = 63
DEFAULT_PYTHON = "python3"
ROLES = ("", "head", "worker")

_NAME = re.compile(NAME, re.ASCII)
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True)
class NodeSpec:
    """One node as the user named it; made invalid it raises UsageError.

    `name` is the key in every document. `python` is the interpreter on the node, one word. `image` and `container`
    say where the server's torch is: the bench agent runs in there, under its `python3` (the container's, if both are
    named). `env` is added to the environment of what runs there. `ssh_config` is a file for `ssh -F` ("" means the
    user's own).
    `via` are the gateways that carry one-shot questions to it: of each level, from here, those of which any one leads
    on; () for a node that is asked directly. `lingers` is whether ssh may keep its connection for later calls.
    """

    name: str
    target: str
    python: str = DEFAULT_PYTHON
    role: str = ""
    user: str = ""
    image: str = ""
    container: str = ""
    ports: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    ssh_config: str = ""
    via: tuple[tuple[NodeSpec, ...], ...] = ()
    lingers: bool = True

    def __post_init__(self) -> None:
        check_name(self.name)
        target = parse_target(self.target)
        _check_user(self, target)
        if (self.image or self.container) and target.kind in BOXED:
            raise UsageError(f"node {self.name}: {self.target} is a container already: leave image and container out")
        if self.role not in ROLES:
            raise UsageError(f"node {self.name}: role is {self.role!r}, wanted head or worker")
        for word in (self.python, self.image, self.container):
            _check_word(self.name, word)
        for port in self.ports:  # no program gets these as words: a netdev may be called -rf
            _check_port(self.name, port)
        if not self.python:
            raise UsageError(f"node {self.name}: python is empty", fix="leave it out, or write python3")
        for key, value in self.env.items():
            _check_variable(self.name, key, value)

    @property
    def where(self) -> Target:
        """The parsed target, with `user` of the record filled in."""
        target = parse_target(self.target)
        return replace(target, user=self.user) if self.user and not target.user else target


NAMED = "give it a name of its own: NAME=TARGET"


def check_name(name: str) -> None:
    """Raise UsageError unless `name` can be a node's name: letters, digits, `.`, `_`, `-`, at most 63."""
    if len(name) > NAME_LIMIT:
        raise UsageError(
            f"node name {name[:20]!r}... has {len(name)} characters, at most {NAME_LIMIT} are allowed", fix=NAMED
        )
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} can't be a node's name: letters, digits, '.', '_' and '-' only, the first no '.' or '-'",
            fix=NAMED,
        )


def _check_user(node: NodeSpec, target: Target) -> None:
    if not node.user:
        return
    if target.kind in LAUNCHED or not target.host:
        raise UsageError(f"node {node.name}: user is only for nodes reached by ssh, not for {node.target}")
    if not re.fullmatch(USER, node.user, re.ASCII):
        raise UsageError(f"node {node.name}: {node.user!r} can't be a user's name")
    if target.user and target.user != node.user:
        raise UsageError(f"node {node.name}: user {node.user} contradicts the target {node.target}")


def _check_word(name: str, word: str) -> None:
    if word.startswith("-") or CONTROL.search(word):
        raise UsageError(f"node {name}: {word!r} can't be used: it starts with '-' or has a control character")


def _check_port(name: str, port: str) -> None:
    if not port or CONTROL.search(port):
        raise UsageError(f"node {name}: {port!r} can't be a port's name: it is empty or has a control character")


def _check_variable(name: str, key: str, value: str) -> None:
    if not _ENV_NAME.fullmatch(key):
        raise UsageError(f"node {name}: {key!r} can't be the name of an environment variable")
    if CONTROL.search(value):
        raise UsageError(f"node {name}: the value of {key} has a control character, which not every shell passes on")


def parse_node(item: str, *, ssh_config: str = "") -> NodeSpec:
    """Read one `[NAME=]TARGET`. Without NAME it is the target's host, `local`, or `netns-PID`; raises UsageError."""
    head, equals, rest = item.partition("=")
    if equals and ":" not in head and "/" not in head and "@" not in head:
        check_name(head)
        return NodeSpec(head, rest, ssh_config=ssh_config)
    return NodeSpec(default_name(item), item, ssh_config=ssh_config)


def default_name(target: str) -> str:
    """The name a node gets from its target; raises UsageError when none can be made."""
    where = parse_target(target)
    if where.kind == "local":
        return "local"
    inner = where.pod or where.container
    outer = where.host or (inner or f"netns-{where.pid or PurePosixPath(where.path).name}")
    base = f"{outer}-{inner}" if where.host and inner else outer
    base = f"ip6{base}" if base.startswith(":") else base  # ::1 becomes ip6--1: a bare 1 tells nobody what it is
    name = re.sub(r"[^A-Za-z0-9._-]", "-", base).lstrip(".-")
    if not name or len(name) > NAME_LIMIT:
        raise UsageError(f"{target!r} gives no usable name", fix=f"name the node: NAME={target}")
    return name


def parse_nodes(items: Sequence[str], config: Config) -> tuple[NodeSpec, ...]:
    """The nodes a command means. `items` (comma lists of nodes, node sets, groups) beat the file's; neither means here.

    Each of `items` that holds an operator of ClusterShell's is one set as a whole.

    An item that is the name of a node in the file means that node with all the file says of it. Raises UsageError
    for a bad item or a name used twice.
    """
    known = {node.name: node for node in config.nodes}
    wanted = _wanted(items)
    if not wanted:
        return with_gateways(config.nodes, config) or (NodeSpec("local", "local"),)
    nodes = tuple(known.get(part) or parse_node(part, ssh_config=config.ssh_config) for part in wanted)
    check_unique(nodes)
    return with_gateways(nodes, config)


def with_gateways(nodes: tuple[NodeSpec, ...], config: Config) -> tuple[NodeSpec, ...]:
    """The nodes with their gateways, where the file asks for a tree."""
    if not config.tree:
        return nodes
    from fabricdoc.transport.topology import routed

    return routed(nodes, config)


def _wanted(items: Sequence[str]) -> list[str]:
    """Every word of the items, sets and groups expanded, in order."""
    if not any(char in item for item in items for char in "!&^*?"):
        return _ungrouped(expand_all(items))
    from fabricdoc.transport.groups import expression_nodes, is_expression

    found: list[str] = []
    for item in items:
        found += expression_nodes(item) if is_expression(item) else _ungrouped(expand_all([item]))
        check_count(len(found), item)
    return found


def _ungrouped(words: Sequence[str]) -> list[str]:
    """The words with each `@group` replaced by its nodes."""
    if not any(word.startswith("@") for word in words):
        return list(words)
    from fabricdoc.transport.groups import group_nodes, is_group

    found = [name for word in words for name in (group_nodes(word) if is_group(word) else (word,))]
    check_count(len(found), ",".join(words))
    return found


def check_unique(nodes: Sequence[NodeSpec]) -> None:
    """Raise UsageError when two nodes share a name."""
    seen: dict[str, NodeSpec] = {}
    for node in nodes:
        if node.name in seen:
            raise UsageError(
                f"two nodes are named {node.name}: {seen[node.name].target} and {node.target}",
                fix="give each its own name: NAME=TARGET",
            )
        seen[node.name] = node
