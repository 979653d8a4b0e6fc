"""A node as `--nodes` takes it, for commands that people paste. Quotes nothing for a shell."""

from __future__ import annotations


def node_word(name: str, target: str) -> str:
    """`NAME=TARGET`, or NAME alone where that is its target too."""
    return name if name == target else f"{name}={target}"
