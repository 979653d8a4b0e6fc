"""Whose variables to write: the node that was asked for, this machine's, or the common set.

Never one node's HCA list for all: when values differ per node and none of them is this machine, the answer
is a UsageError with the commands to choose from. Knows documents only; who "this machine" is comes from the
caller.
"""

from __future__ import annotations

import shlex

from fabricdoc.errors import UsageError
from fabricdoc.export.content import common_lines, settings
from fabricdoc.export.formats import FORMATS, format_named
from fabricdoc.model.documents import Unknown
from fabricdoc.model.preset import NodePreset, Preset
from fabricdoc.near import meant

COMMON = "common"
"""What `--node` and a file are called that hold what all nodes share."""


def choose_part(preset: Preset, wanted: str | None, hostname: str, command: str, fmt: str) -> NodePreset:
    """The node of `choose_node`, or for `common` the part that all nodes share (a node that is called so beats it).

    UsageError as there, and where the format is a script for one node, which has no such part.
    """
    if wanted != COMMON or COMMON in {node.name for node in preset.nodes}:
        return choose_node(preset, wanted, hostname, command)
    if not preset.nodes:
        raise _without_nodes(preset)
    if not _has_common(fmt):
        able = ", ".join(one for one in FORMATS if _has_common(one))
        raise UsageError(
            f"--format {fmt} has no part that all nodes share", fix=f"use one of: {able}", id="no-common-part"
        )
    return common_part(preset)


def _has_common(fmt: str) -> bool:
    found = format_named(fmt)
    return found.with_common or found.scope == "common"


def common_part(preset: Preset) -> NodePreset:
    """The lines that every node has with the same value: all that ranks must agree on is among them."""
    return NodePreset(name=COMMON, target="", lines=common_lines(preset.nodes))


def choose_node(preset: Preset, wanted: str | None, hostname: str, command: str = "") -> NodePreset:
    """The node of the preset to write for.

    `wanted` names it; None means this machine's (by `hostname`), else any node when all have the same lines.
    The fix lines say what to add to the command, or with `command` that one instead.
    UsageError when there is no such node or no single answer.
    """
    if not preset.nodes:
        raise _without_nodes(preset)
    if wanted is not None:
        return named(preset, wanted)
    here = this_node(preset, hostname)
    if here is not None:
        return here
    if all(settings(node) == settings(preset.nodes[0]) for node in preset.nodes):
        return preset.nodes[0]
    asked = [f"--node {shlex.quote(node.name)}" for node in preset.nodes]
    choices = "  or  ".join(f"{command} {one}" for one in asked) if command else f"add {'  or  '.join(asked)}"
    raise UsageError(
        f"the values of preset {preset.name} differ per node, and this machine ({hostname}) is none of them",
        fix=choices,
        id="node-needed",
    )


def _without_nodes(preset: Preset) -> UsageError:
    return UsageError(f"preset {preset.name} has no node", fix="fabricdoc bench", id="preset-without-nodes")


def named(preset: Preset, wanted: str) -> NodePreset:
    """The node of that name, or of that role: `head` is the first node, `worker` the others where they are alike.

    A node that is called so itself beats the role. UsageError when there is none.
    """
    names = [node.name for node in preset.nodes]
    if wanted in names:
        return preset.nodes[names.index(wanted)]
    if wanted == "head":
        return preset.nodes[0]
    if wanted == "worker":
        return _worker(preset)
    guess = meant(wanted, names, 1)
    hint = f"{guess} " if guess else ""
    raise UsageError(
        f"preset {preset.name} has no node {wanted!r}",
        fix=f"{hint}nodes: {', '.join(names)}; or head, worker",
        id="no-such-node",
    )


def _worker(preset: Preset) -> NodePreset:
    workers = preset.nodes[1:]
    if workers and all(settings(node) == settings(workers[0]) for node in workers):
        return workers[0]
    names = ", ".join(node.name for node in workers)
    raise UsageError(
        f"the workers of preset {preset.name} differ"
        if workers
        else f"preset {preset.name} has no worker, one node only",
        fix=f"name one of them: {names}" if workers else "--node head",
        id="no-such-node",
    )


def this_node(preset: Preset, hostname: str) -> NodePreset | None:
    """The one node that is this machine, or None when none or several could be (lab nodes share a hostname)."""
    matches = [node for node in preset.nodes if _is_here(preset, node, hostname)]
    if len(matches) > 1:
        matches = [node for node in matches if node.target == "local"]
    return matches[0] if len(matches) == 1 else None


def _is_here(preset: Preset, node: NodePreset, hostname: str) -> bool:
    """By the hostname the fingerprint recorded; where that is unknown, by the target `local` or the node's name.

    A recorded hostname beats `local`: a preset made on another machine calls that machine local.
    """
    for printed in preset.fingerprint.nodes:
        if printed.name == node.name and not isinstance(printed.hostname, Unknown):
            return printed.hostname == hostname
    return node.target == "local" or node.name == hostname
