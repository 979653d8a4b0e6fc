"""The commands a finding tells people to paste, quoted for a shell.

What is to be done is decided by `causes`; nothing is run here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from fabricdoc.model.fabric import Fabric
from fabricdoc.model.naming import node_word
from fabricdoc.model.preset import Preset


def node_words(preset: Preset, fabric: Fabric) -> dict[str, str]:
    """Each node of the preset as `--nodes` takes it; where it was reached just now beats where it was measured."""
    targets = {node.name: node.target for node in preset.nodes}
    for printed in preset.fingerprint.nodes:
        targets.setdefault(printed.name, printed.name)
    now = {node.name: node.target for node in fabric.nodes} | {node.name: node.target for node in fabric.failed}
    words = {name: now.get(name, target) for name, target in targets.items()}
    return {name: node_word(name, target) for name, target in words.items()}


def bench_command(preset: Preset, nodes: Mapping[str, str]) -> str:
    """The command that measures these nodes (see `node_words`) again for the preset's profile."""
    profile = ["--profile", preset.profile] if preset.profile else []
    return shlex.join(["fabricdoc", "bench", *node_options(nodes.values()), *port_options(preset), *profile])


def node_options(words: Iterable[str]) -> list[str]:
    """`--nodes A,B`, each once; nothing for no node."""
    joined = ",".join(dict.fromkeys(words))
    return ["--nodes", joined] if joined else []


def port_options(preset: Preset) -> list[str]:
    """`--ports` for the ports without RDMA device: beacons leave from such a port only when it is named."""
    ports = (port for node in preset.fingerprint.nodes for port in node.ports)
    named = ",".join(dict.fromkeys(port.netdev for port in ports if port.hca is None))
    return ["--ports", named] if named else []


def on_node(node: str, *words: str) -> list[str]:
    """Two fix lines: on which node, and the command alone, since not every shell takes a comment behind it."""
    return [f"on {node}:", shlex.join(words)]
