"""What a writer is given: the preset, the nodes to write, and which of their lines all nodes share.

The first node of a preset is its head (rank 0), the others are workers. Nothing is quoted or written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fabricdoc.model.documents import Unknown
from fabricdoc.model.preset import Line, NodePreset, NodePrint, Preset


@dataclass(frozen=True)
class Content:
    """`nodes` are the ones to write, in the order of ranks: one of the preset's, or all of them."""

    preset: Preset
    nodes: tuple[NodePreset, ...]

    @cached_property
    def common(self) -> tuple[Line, ...]:
        """The lines whose name and value every node of the preset has, in the first node's order."""
        return common_lines(self.preset.nodes)

    def own(self, node: NodePreset) -> tuple[Line, ...]:
        """The lines of that node that are not common."""
        shared = {line.name for line in self.common}
        return tuple(line for line in node.lines if line.name not in shared)

    @cached_property
    def differing(self) -> tuple[str, ...]:
        """The names whose values are not the same on every node of the preset."""
        return tuple(dict.fromkeys(line.name for node in self.preset.nodes for line in self.own(node)))

    def rank(self, node: NodePreset) -> int:
        """The node's place in the preset; 0 is the head."""
        return [one.name for one in self.preset.nodes].index(node.name)


def common_lines(nodes: Sequence[NodePreset]) -> tuple[Line, ...]:
    """The lines (of the first node) that every node has with the same value."""
    if not nodes:
        return ()
    others = [dict(settings(node)) for node in nodes[1:]]
    return tuple(line for line in nodes[0].lines if all(one.get(line.name) == line.value for one in others))


def settings(node: NodePreset) -> list[tuple[str, str]]:
    """The (name, value) pairs of a node, in order: what two nodes must share to be written as one."""
    return [(line.name, line.value) for line in node.lines]


def print_of(preset: Preset, node: NodePreset) -> NodePrint | None:
    """What the fingerprint holds of the node."""
    return next((one for one in preset.fingerprint.nodes if one.name == node.name), None)


def host_names(preset: Preset, node: NodePreset) -> tuple[str, ...]:
    """The names by which the machine may call itself: the node's, and the recorded hostname if it is one node's."""
    names = [node.name]
    recorded = [(one.name, one.hostname) for one in preset.fingerprint.nodes if not isinstance(one.hostname, Unknown)]
    mine = next((hostname for name, hostname in recorded if name == node.name), "")
    others = {hostname for name, hostname in recorded if name != node.name} | {
        other.name for other in preset.nodes if other.name != node.name
    }
    return (*names, mine) if mine and mine != node.name and mine not in others else tuple(names)
