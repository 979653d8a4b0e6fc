"""The commands a finding tells people to paste, quoted for a shell.

What is to be done is decided by `causes`; nothing is run here.
"""

from __future__ import annotations

import shlex

from fabricdoc.model.preset import Preset


def bench_command(preset: Preset) -> str:
    """The command that measures the preset's nodes again, quoted for a shell."""
    nodes = ",".join(node_words(preset).values())
    words = ["fabricdoc", "bench"] + (["--nodes", nodes] if nodes else [])
    return shlex.join(words + (["--profile", preset.profile] if preset.profile else []))


def node_words(preset: Preset) -> dict[str, str]:
    """Each node as `--nodes` takes it: NAME=TARGET, or NAME where that is the target."""
    return {node.name: node.name if node.name == node.target else f"{node.name}={node.target}" for node in preset.nodes}


def on_node(node: str, *words: str) -> list[str]:
    """Two fix lines: on which node, and the command alone, since not every shell takes a comment behind it."""
    return [f"on {node}:", shlex.join(words)]
