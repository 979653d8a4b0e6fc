"""Which preset a command means, and the nodes it was measured on as nodes to ask.

Reads files and the store; looks at no node.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fabricdoc.files import is_file
from fabricdoc.model.preset import Preset
from fabricdoc.store import RunStore
from fabricdoc.transport import Config, NodeSpec, parse_nodes
from fabricdoc.tuning import read_preset
from fabricdoc.workflow.recommending import latest_preset


def find_preset(wanted: str | None, store: Path | None, progress: Callable[[str], None] = lambda _: None) -> Preset:
    """The preset meant by a file name, a run id, or nothing (the latest one; a newer run without one is told)."""
    if wanted is not None and (wanted.endswith(".toml") or is_file(Path(wanted))):
        return read_preset(Path(wanted))
    return latest_preset(RunStore.open(store), wanted, progress)


def this_hostname() -> str:
    """This machine's hostname, to find its node in a preset."""
    return socket.gethostname()


def nodes_of(preset: Preset) -> tuple[NodeSpec, ...]:
    """The preset's nodes by the targets and with the pythons they were measured at."""
    specs = parse_nodes([f"{node.name}={node.target}" for node in preset.nodes], Config())
    pythons = {node.name: node.python for node in preset.nodes}
    return tuple(replace(spec, python=pythons[spec.name]) for spec in specs)
