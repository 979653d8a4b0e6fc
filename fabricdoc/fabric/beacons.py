"""One exchange of beacons between nodes: every port listens before any port sends.

Drives the `beacon` probe on all nodes at once through the transport; who met whom is read by `cabling`.
"""

from __future__ import annotations

import fnmatch
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from fabricdoc.fabric.cabling import rdma_netdevs
from fabricdoc.fabric.heard import Heard, Hearing
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Netdev, Node
from fabricdoc.transport import NodeSpec, open_channels

FRAMES = 3
ROUNDS = 2
STEP_DEADLINE_S = 10.0
PROBE = "the beacon probe"
# the kernel's kinds of interface that lead to no other machine by a cable of their own
SOFTWARE = frozenset({"bridge", "dummy", "tun", "vxlan", "wireguard", "ipvlan", "macvlan", "ifb", "vrf"})


def candidate_ports(spec: NodeSpec, node: Node) -> tuple[str, ...]:
    """Ports beacons may leave from: the listed ones (shell patterns) if any, else the RDMA-backed ones."""
    if not spec.ports:
        return rdma_netdevs(node)
    names = [] if isinstance(node.netdevs, Unknown) else [netdev.name for netdev in node.netdevs]
    return tuple(name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in spec.ports))


def usable_ports(node: Node) -> tuple[str, ...]:
    """Ports worth listing with --ports: with carrier, no loopback, no software interface, not part of a bridge."""
    netdevs = () if isinstance(node.netdevs, Unknown) else node.netdevs
    return tuple(sorted(one.name for one in netdevs if one.carrier is True and _is_port(one)))


def all_ports(node: Node) -> tuple[str, ...]:
    """Every port that --ports could name on this node, whatever its state."""
    netdevs = () if isinstance(node.netdevs, Unknown) else node.netdevs
    return tuple(sorted(one.name for one in netdevs if _is_port(one)))


def _is_port(netdev: Netdev) -> bool:
    return netdev.name != "lo" and netdev.master is None and netdev.kind not in SOFTWARE


def exchange(specs: Sequence[NodeSpec], ports: Mapping[str, Sequence[str]]) -> Heard:
    """Send and hear beacons on `ports` (by node name). Raises NodeError when a node does not answer."""
    nonce, key = secrets.token_hex(8), secrets.token_hex(32)
    heard = Heard()
    with open_channels(specs, "beacon") as channels:
        for name in channels.names:
            channels.send(name, {"do": "listen", "node": name, "nonce": nonce, "key": key, "ports": list(ports[name])})
        for name, ready in channels.gather("ready", STEP_DEADLINE_S, PROBE).items():
            _note_ready(heard, name, ready)
        for _ in range(ROUNDS):
            channels.broadcast({"do": "send", "frames": FRAMES})
            channels.gather("sent", STEP_DEADLINE_S, PROBE)
        channels.broadcast({"do": "report"})
        for name, report in channels.gather("heard", STEP_DEADLINE_S, PROBE).items():
            _note_heard(heard, name, report)
    return heard


def _note_ready(heard: Heard, name: str, ready: dict[str, Any]) -> None:
    heard.macs.update({(name, port["netdev"]): port["mac"] for port in ready["ports"]})
    heard.refused.update({(name, port["netdev"]): port["reason"] for port in ready["refused"]})


def _note_heard(heard: Heard, name: str, report: dict[str, Any]) -> None:
    heard.stray += int(report["stray"])
    for frame in report["frames"]:
        sender = (frame["node"], frame["from_netdev"])
        heard.hearings.append(Hearing((name, frame["netdev"]), sender, int(frame["count"])))
