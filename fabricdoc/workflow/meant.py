"""Which preset a command means, and the nodes it was measured on as nodes to ask.

Reads files and the store; looks at no node.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fabricdoc.model.preset import NodePreset, Preset
from fabricdoc.model.run import NodeContext
from fabricdoc.transport import NodeSpec, as_configured, check_unique, load_config


def find_preset(wanted: str | None, store: Path | None, progress: Callable[[str], None] = lambda _: None) -> Preset:
    """The preset meant by a file name, a run id, or nothing (the latest one; a newer run without one is told)."""
    if wanted is not None and _is_path(wanted):
        from fabricdoc.tuning import read_preset

        return read_preset(Path(wanted))
    from fabricdoc.store import RunStore
    from fabricdoc.workflow.recommending import latest_preset

    with RunStore.open(store) as kept:
        return latest_preset(kept, wanted, progress)


def _is_path(wanted: str) -> bool:
    """Whether a file is meant, also one that can't be read: what is there, or what only looks like a path."""
    return wanted.endswith(".toml") or "/" in wanted or os.path.lexists(wanted)


def this_hostname() -> str:
    """This machine's hostname, to find its node in a preset."""
    return socket.gethostname()


def nodes_of(preset: Preset) -> tuple[NodeSpec, ...]:
    """The preset's nodes by the targets and with the pythons they were measured at, else as fabric.toml tells them.

    Without the file's ports: what leaves a port is asked of those the preset was measured on.
    """
    return tuple(replace(spec, ports=()) for spec in as_told(preset.nodes))


def as_told(nodes: Sequence[NodePreset] | Sequence[NodeContext]) -> tuple[NodeSpec, ...]:
    """The nodes of a document in its order: name, target and python are its own, the rest is fabric.toml's."""
    config = load_config()
    specs = [NodeSpec(name=node.name, target=node.target, python=node.python) for node in nodes]
    check_unique(specs)
    return tuple(as_configured(spec, config) for spec in specs)
