"""The gate's job: look at the preset's nodes as they are now and compare them with its fingerprint."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path

from fabricdoc.files import is_file
from fabricdoc.gate import judge_gate
from fabricdoc.model.gate import Gate
from fabricdoc.model.preset import Preset
from fabricdoc.store import RunStore
from fabricdoc.transport import Config, NodeSpec, parse_nodes
from fabricdoc.tuning import read_preset
from fabricdoc.workflow.looking import look
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


def check_gate(preset: Preset, specs: Sequence[NodeSpec], progress: Callable[[str], None], python: str = "") -> Gate:
    """Scan the nodes (the preset's own unless others are named), prove the links again, and compare.

    `python` replaces the python of every node.
    """
    # by name, never as a pattern: a preset from elsewhere must not send beacons out of more ports than it names
    ports = {node.name: tuple(escape(port.netdev) for port in node.ports) for node in preset.fingerprint.nodes}
    nodes = [_with_ports(spec, ports.get(spec.name, ())) for spec in (specs or nodes_of(preset))]
    if python:
        nodes = [replace(spec, python=python) for spec in nodes]
    return judge_gate(preset, look(nodes, progress))


def _with_ports(spec: NodeSpec, ports: tuple[str, ...]) -> NodeSpec:
    return replace(spec, ports=spec.ports or ports)
