"""`fabricdoc init`: find the nodes that this machine can reach, and write them down as fabric.toml.

This machine is read, then every host that its ssh knows and every neighbour on a fabric port is asked as a scan asks,
with host keys checked and no password. A node is kept when it has an HCA. Nothing is installed or changed anywhere.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricdoc.errors import InputError, UsageError
from fabricdoc.fabric import scan
from fabricdoc.files import home_folder
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import FailedNode, Node
from fabricdoc.sudo import give_away, sudo_owner
from fabricdoc.transport import DEFAULT_PYTHON, NodeSpec, Peer, default_name, known_peers

# what a user can mend, and so is worth a line in the file; a host that is simply off is not
MENDABLE = ("ssh-host-unknown", "ssh-host-key", "ssh-permission", "python-missing", "python-too-old")
LIVE = ("reachable", "stale", "delay", "probe", "permanent")


@dataclass(frozen=True)
class Found:
    """The nodes to write down, and remarks about others, one line each."""

    nodes: tuple[NodeSpec, ...]
    remarks: tuple[str, ...]


def check_absent(path: Path, *, force: bool) -> None:
    """Raise UsageError where the file is there already, unless it may be replaced."""
    if not force and os.path.lexists(path):
        raise UsageError(f"{path} is there already", fix="look at it; --force replaces it")


def find_nodes(named: Sequence[NodeSpec], progress: Callable[[str], None]) -> Found:
    """This machine and its peers, of which those count that answer and have an HCA; `named` ones count as they are."""
    progress("reading this machine")
    here = NodeSpec(_own_name(), "local")
    own = scan([here])
    peers = (*_known(), *(peer for node in own.nodes for peer in neighbours_of(node)))
    specs, sources = _specs(here, named, peers)
    progress(f"asking {len(specs)} host{'s' if len(specs) != 1 else ''} that ssh knows or a fabric port sees")
    asked = scan(specs) if specs else own
    read = {node.name: node for node in (*own.nodes, *asked.nodes)}
    ours = () if any(spec.name == here.name or spec.target == "local" for spec in named) else (here,)
    kept = _kept((*ours, *specs), read, {spec.name for spec in named})
    remarks = _remarks(read, kept, sources, asked.failed)
    return Found(kept or (here,), tuple(remarks))


def _own_name() -> str:
    try:
        return default_name(socket.gethostname())
    except UsageError:
        return "local"


def _known() -> tuple[Peer, ...]:
    owner = sudo_owner()
    home = owner.home if owner else home_folder()
    return known_peers(home / ".ssh") if home else ()


def neighbours_of(node: Node) -> Iterator[Peer]:
    """The hosts that answered lately on a port of an HCA."""
    hcas = () if isinstance(node.hcas, Unknown) else node.hcas
    ports = {port.netdev for hca in hcas for port in hca.ports if isinstance(port.netdev, str)}
    for neighbour in () if isinstance(node.neighbours, Unknown) else node.neighbours:
        if neighbour.netdev in ports and neighbour.state.lower() in LIVE:
            scope = f"%{neighbour.netdev}" if neighbour.ip.startswith("fe80:") else ""
            place = f"[{neighbour.ip}{scope}]" if ":" in neighbour.ip else neighbour.ip
            yield Peer(place, f"neighbour on {neighbour.netdev}")


def _specs(
    here: NodeSpec, named: Sequence[NodeSpec], peers: Sequence[Peer]
) -> tuple[tuple[NodeSpec, ...], dict[str, str]]:
    """The nodes to ask, named ones first, each name once; and where each was found."""
    specs, sources = {spec.name: spec for spec in named}, {spec.name: "named" for spec in named}
    for peer in peers:
        try:
            name = default_name(peer.target)
            spec = NodeSpec(name, peer.target)
        except UsageError:
            continue
        if name != here.name and name not in specs:
            specs[name], sources[name] = spec, peer.source
    return tuple(specs.values()), sources


def _kept(specs: Sequence[NodeSpec], read: dict[str, Node], named: set[str]) -> tuple[NodeSpec, ...]:
    """Those that have an HCA or were named, each machine once (by its boot id)."""
    kept, boots = [], set[str]()
    for spec in specs:
        node = read.get(spec.name)
        if spec.name in named:
            kept.append(spec)
        elif node is not None and _has_hca(node):
            boot = node.host.boot_id
            if isinstance(boot, Unknown) or boot not in boots:
                kept.append(spec)
        if node is not None and not isinstance(node.host.boot_id, Unknown):
            boots.add(node.host.boot_id)
    return tuple(kept)


def _has_hca(node: Node) -> bool:
    return not isinstance(node.hcas, Unknown) and bool(node.hcas)


def _remarks(
    read: dict[str, Node], kept: Sequence[NodeSpec], sources: dict[str, str], failed: Sequence[FailedNode]
) -> Iterator[str]:
    names = {spec.name for spec in kept}
    for name, node in read.items():
        if name not in names:
            why = "is a machine of another name above" if _has_hca(node) else "has no HCA"
            yield f"{name} ({sources.get(name, 'this machine')}): {why}"
    for one in failed:
        if one.id in MENDABLE and one.name not in names:
            yield f"{one.message} ({sources.get(one.name, '')}); {one.fix}"


def config_text(found: Found) -> str:
    """fabric.toml for these nodes, with all that is known of each, and the remarks as comments."""
    lines = ["# written by fabricdoc init; `fabricdoc scan` takes its nodes from here"]
    configs = {node.ssh_config for node in found.nodes if node.ssh_config}
    lines += [f"\n[ssh]\nconfig = {_quoted(config)}" for config in sorted(configs)[:1]]
    for node in found.nodes:
        lines += ["", "[[node]]", f"name = {_quoted(node.name)}", f"target = {_quoted(node.target)}"]
        lines += [f"{key} = {_quoted(text)}" for key, text in _settings(node) if text]
        lines += [f"ports = [{', '.join(map(_quoted, node.ports))}]"] if node.ports else []
        env = ", ".join(f"{key} = {_quoted(text)}" for key, text in sorted(node.env.items()))
        lines += [f"env = {{ {env} }}"] if env else []
    lines += ["", *(f"# {_printable(remark)}" for remark in found.remarks)] if found.remarks else []
    return "\n".join(lines) + "\n"


def _settings(node: NodeSpec) -> tuple[tuple[str, str], ...]:
    python = "" if node.python == DEFAULT_PYTHON else node.python
    return (
        ("user", node.user),
        ("role", node.role),
        ("python", python),
        ("image", node.image),
        ("container", node.container),
    )


def _quoted(text: str) -> str:
    """A TOML basic string; node specs hold no control characters."""
    return json.dumps(text, ensure_ascii=False)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def write_config(path: Path, text: str, *, force: bool) -> None:
    """Write the file whole or not at all; without `force` never over another. Raises UsageError or InputError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        give_away(draft)
        if force:
            draft.replace(path)
        else:
            os.link(draft, path)
    except FileExistsError:
        check_absent(path, force=False)
        raise
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror}", fix="go to a folder of yours") from error
    finally:
        draft.unlink(missing_ok=True)
