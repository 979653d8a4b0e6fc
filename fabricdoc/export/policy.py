"""A preset as it is wanted this time: with diagnostics for the first launch, or without what makes a lost HCA fatal.

Which lines those are is data (presets/policy.toml). Nothing measured is touched.
"""

from __future__ import annotations

from collections.abc import Iterable

from fabricdoc.files import shipped
from fabricdoc.model.policy import FirstLaunch, Policy
from fabricdoc.model.preset import Line, NodePreset, Preset


def wanted_lines(preset: Preset, fmt: str, *, strict: bool = True, first_launch: bool = False) -> Preset:
    """The preset without NCCL_NET=IB (not `strict`), and with the diagnostics that readers of the format take.

    A diagnostic that the preset sets itself keeps the preset's value.
    """
    nodes = preset.nodes if strict else tuple(_without_strict(node) for node in preset.nodes)
    if first_launch and preset.backend == "nccl":
        added = tuple(one for one in shipped(Policy).first_launch if fmt not in one.not_for)
        nodes = tuple(_with(node, added) for node in nodes)
    return preset.model_copy(update={"nodes": nodes})


def by_choice(name: str, value: str) -> bool:
    """Whether a node may do without that line of its preset, because whoever writes it may leave it out."""
    return any(one.by_choice and (one.name, one.value) == (name, value) for one in shipped(Policy).reason)


def _without_strict(node: NodePreset) -> NodePreset:
    return node.model_copy(
        update={"lines": tuple(line for line in node.lines if not by_choice(line.name, line.value))}
    )  # fmt: skip


def _with(node: NodePreset, added: Iterable[FirstLaunch]) -> NodePreset:
    known = {line.name for line in node.lines}
    more = [
        Line(name=one.name, value=one.value, kind="diagnostic", evidence=f"for the first launch alone: {one.why}")
        for one in added
        if one.name not in known
    ]
    return node.model_copy(update={"lines": (*node.lines, *more)})
