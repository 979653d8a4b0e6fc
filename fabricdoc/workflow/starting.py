"""`fabricdoc init`: find the nodes that this machine can reach, and write them down as fabric.toml.

This machine is read, then every near host that its files, its Slurm job, avahi or a fabric port's neighbours name is
asked as a scan asks, with host keys checked and no password. A node is kept when it has an HCA. Nothing is installed or
changed anywhere.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fabricdoc.errors import InputError, UsageError
from fabricdoc.fabric import scan
from fabricdoc.files import home_folder
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import FailedNode, Node
from fabricdoc.sudo import give_away, sudo_owner
from fabricdoc.transport import (
    DEFAULT_PYTHON,
    Config,
    NodeSpec,
    Peer,
    allocated_peers,
    announced_peers,
    default_name,
    hosts_of,
    known_peers,
    load_config,
)

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

# what a user can mend, and so is worth a line in the file; a host that is simply off is not
MENDABLE = ("ssh-host-unknown", "ssh-host-key", "ssh-permission", "python-missing", "python-too-old")
# hosts that are asked: a known_hosts of years, or a neighbour table somebody filled, is no reason to log in everywhere
MOST_ASKED = 256
HOSTS = Path("/etc/hosts")
SYSTEM_KEYS = Path("/etc/ssh/ssh_known_hosts")
LIVE = ("reachable", "stale", "delay", "probe", "permanent")


@dataclass(frozen=True)
class Found:
    """The nodes to write down, and remarks about others, one line each."""

    nodes: tuple[NodeSpec, ...]
    remarks: tuple[str, ...]


def after_init(found: Found) -> tuple[str, str]:
    """The command that follows, and why: with one node alone there is no cable to prove yet."""
    if len(found.nodes) > 1:
        return "fabricdoc scan", "look at these nodes and prove the cables"
    return f"fabricdoc init --force --nodes {found.nodes[0].target},OTHER_HOST", "name the node at the other end"


def check_absent(path: Path, *, force: bool) -> None:
    """Raise UsageError where the file is there already, unless it may be replaced."""
    if not force and os.path.lexists(path):
        raise UsageError(f"{path} is there already", fix="look at it; --force replaces it")


def find_nodes(named: Sequence[NodeSpec], progress: Callable[[str], None]) -> Found:
    """This machine and its peers, of which those count that answer and have an HCA; `named` ones count as they are."""
    progress("reading this machine")
    here = NodeSpec(_own_name(), "local")
    own = scan([here])
    near = [peer for node in own.nodes for peer in _near(node)]
    specs, sources, left = _specs(here, named, _chosen(_known(), near))
    progress(f"asking {len(specs)} host{'s' if len(specs) != 1 else ''} that ssh knows or a fabric port sees")
    asked = scan(specs) if specs else own
    read = {node.name: node for node in (*own.nodes, *asked.nodes)}
    ours = () if any(spec.name == here.name or spec.target == "local" for spec in named) else (here,)
    kept = _kept((*ours, *specs), read, {spec.name for spec in named})
    remarks = [*_remarks(read, kept, sources, asked.failed)]
    if left:
        remarks.append(f"{left} more hosts are near and were not asked; name those that count: fabricdoc init --nodes")
    return Found(kept or (here,), tuple(remarks))


def _own_name() -> str:
    try:
        return default_name(socket.gethostname())
    except UsageError:
        return "local"


def _known() -> tuple[Peer, ...]:
    owner = sudo_owner()
    home = owner.home if owner else home_folder()
    return (*allocated_peers(), *(known_peers(home / ".ssh", SYSTEM_KEYS) if home else ()))


def _near(node: Node) -> Iterator[Peer]:
    """The hosts that this machine's fabric ports lead to: by name, as announced, as neighbours."""
    yield from hosts_of(HOSTS, fabric_networks(node))
    yield from announced_peers(fabric_netdevs(node))
    yield from neighbours_of(node)


def _chosen(known: Sequence[Peer], near: Sequence[Peer]) -> tuple[Peer, ...]:
    """All of them, each once, known ones first; of too many each kind has at least half of the places."""
    near = list(dict.fromkeys(near))
    known = list(dict.fromkeys(known))
    many = max(MOST_ASKED - len(near), MOST_ASKED // 2)
    return (*known[:many], *near, *known[many:])


def fabric_netdevs(node: Node) -> frozenset[str]:
    """The netdevs of a node's HCAs."""
    hcas = () if isinstance(node.hcas, Unknown) else node.hcas
    return frozenset(port.netdev for hca in hcas for port in hca.ports if isinstance(port.netdev, str))


def fabric_networks(node: Node) -> list[IPv4Network | IPv6Network]:
    """The networks that a node's HCAs are in, but for those that hold everything or one host."""
    from ipaddress import ip_network

    ports, found = fabric_netdevs(node), []
    for netdev in () if isinstance(node.netdevs, Unknown) else node.netdevs:
        for address in netdev.addresses if netdev.name in ports else ():
            try:
                found.append(ip_network(f"{address.ip}/{address.prefix}", strict=False))
            except ValueError:
                continue
    return [network for network in found if 8 <= network.prefixlen < network.max_prefixlen]


def neighbours_of(node: Node) -> Iterator[Peer]:
    """The hosts that answered lately on a port of an HCA."""
    ports = fabric_netdevs(node)
    for neighbour in () if isinstance(node.neighbours, Unknown) else node.neighbours:
        if neighbour.netdev in ports and neighbour.state.lower() in LIVE:
            scope = f"%{neighbour.netdev}" if neighbour.ip.startswith("fe80:") else ""
            place = f"[{neighbour.ip}{scope}]" if ":" in neighbour.ip else neighbour.ip
            yield Peer(place, f"neighbour on {neighbour.netdev}")


def _specs(
    here: NodeSpec, named: Sequence[NodeSpec], peers: Sequence[Peer]
) -> tuple[tuple[NodeSpec, ...], dict[str, str], int]:
    """The nodes to ask, named ones first, each name once; where each was found; how many more there would be."""
    specs, sources = {spec.name: spec for spec in named}, {spec.name: "named" for spec in named}
    left = 0
    for peer in peers:
        if len(specs) - len(named) >= MOST_ASKED:
            left += 1
            continue
        try:
            name = default_name(peer.target)
            spec = NodeSpec(name, peer.target)
        except UsageError:
            continue
        if name != here.name and name not in specs:
            specs[name], sources[name] = spec, peer.source
    return tuple(specs.values()), sources, left


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
    lines += _tree(load_config()) if any(node.via for node in found.nodes) else []
    for node in found.nodes:
        lines += ["", "[[node]]", f"name = {_quoted(node.name)}", f"target = {_quoted(node.target)}"]
        lines += [f"{key} = {_quoted(text)}" for key, text in _settings(node) if text]
        lines += [f"ports = [{', '.join(map(_quoted, node.ports))}]"] if node.ports else []
        env = ", ".join(f"{key} = {_quoted(text)}" for key, text in sorted(node.env.items()))
        lines += [f"env = {{ {env} }}"] if env else []
    lines += ["", *(f"# {_printable(remark)}" for remark in found.remarks)] if found.remarks else []
    return "\n".join(lines) + "\n"


def _tree(before: Config) -> list[str]:
    """The table by which these nodes got their gateways, from the file that is replaced."""
    own = [f"topology = {_quoted(before.topology)}"] if before.topology else []
    return ["\n[clustershell]", "tree = true", *own]


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
    except UnicodeEncodeError as error:
        raise UsageError("a node's python, image or container is no UTF-8 text", fix="name it in UTF-8") from error
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror}", fix="go to a folder of yours") from error
    finally:
        draft.unlink(missing_ok=True)
