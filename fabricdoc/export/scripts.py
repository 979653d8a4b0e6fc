"""Small POSIX shell scripts around a launch: their head, export lines, and a choice by the machine's own name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabricdoc.errors import UsageError
from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content, host_names
from fabricdoc.export.places import Pair, address, beside
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import not_for_shells
from fabricdoc.model.preset import NodePreset

MASTER_PORT = 29501


def begin(content: Content, what: str) -> list[str]:
    """The first lines of a script."""
    return ["#!/bin/sh", *head(content, what)]


def exports(node: NodePreset, more: Iterable[Pair] = (), indent: str = "") -> list[str]:
    """The node's lines under their evidence, then `more` pairs."""
    lines = []
    for line in node.lines:
        lines += [*comment(evidence(line)), f"export {line.name}={shell(line.value)}"]
    lines += [f"export {name}={shell(value)}" for name, value in more]
    return [f"{indent}{line}" for line in lines]


def server_exports(content: Content, host_variable: str = "") -> list[str]:
    """The node's lines, those of the libraries beside NCCL, and the engine's own address variable."""
    node = content.nodes[0]
    more = beside(node)
    here = address(content.preset, node)
    if host_variable and here and host_variable not in {line.name for line in node.lines}:
        more = [*more, (host_variable, here)]
    lines = exports(node, more)
    if host_variable and not here:
        lines += comment(f"{host_variable} is not known: the preset has no address of this node's interface; set it")
    return lines


def master(content: Content) -> str:
    """The head's address. UsageError where the preset has none."""
    found = address(content.preset, content.preset.nodes[0])
    if not found:
        raise UsageError(
            f"preset {content.preset.name} has no address of {content.preset.nodes[0].name}'s interface",
            fix="take --format bash, and name the head's address in the launch line yourself",
            id="no-master-address",
        )
    return found


def by_host(content: Content, of_node: Sequence[tuple[NodePreset, list[str]]], short: bool = True) -> list[str]:
    """The arms of a `case` over the machine's name; `short` also matches NAME.DOMAIN. The names are quoted."""
    lines = []
    for node, body in of_node:
        names = host_names(content.preset, node)
        for name in names:
            if reason := not_for_shells("NODE", name):
                raise UsageError(f"node {name!r} {reason}", fix="give the node another name", id="node-name")
        patterns = [shell(name) for name in names] + ([f"{shell(name)}.*" for name in names] if short else [])
        lines += [f"{' | '.join(patterns)})", *(f"  {line}" for line in body), "  ;;"]
    return lines


def by_this_host(content: Content, of_node: Sequence[tuple[NodePreset, list[str]]]) -> list[str]:
    """The whole choice by the name of the machine it runs on; one that is not in the preset ends with status 1."""
    strange = "  printf 'fabricdoc: host %s is not in the preset\\n' \"$host\" >&2"
    arms = by_host(content, of_node)
    return ["host=$(uname -n)", 'case "$host" in', *arms, "*)", strange, "  exit 1", "  ;;", "esac"]
