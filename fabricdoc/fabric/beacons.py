"""One exchange of beacons between nodes: every port listens before any port sends.

Drives the `beacon` probe on all nodes at once through the transport; who met whom is read by `cabling`. Where raw
sockets are not allowed, a second probe is tried with the right to them (`transport.raised`); while one node has to do
without, the ports of all nodes speak link-local multicast besides, so that everybody hears everybody.
"""

from __future__ import annotations

import fnmatch
import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from fabricdoc.errors import NodeError
from fabricdoc.fabric.beacon_reports import Opened, read_heard
from fabricdoc.fabric.cabling import rdma_netdevs
from fabricdoc.fabric.crew import Crew
from fabricdoc.fabric.heard import Heard
from fabricdoc.fabric.sharing import Conversation, open_some
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Netdev, Node, PortKey
from fabricdoc.transport import NodeSpec

FRAMES = 3
ROUNDS = 2
# how often the rounds are repeated where something seems to have been lost
MOST_REPEATS = 3
# four frames of each just fit into a port's default buffer (212992 bytes, 768 for a small frame)
MOST_AT_ONCE = 64
STEP_DEADLINE_S = 10.0
PROBE = "the beacon probe"
# sudo, then a container that has to start: see `transport.raised`
RAISE_S = 25.0
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
    """Send and hear beacons on `ports` (by node name).

    A node that fails, at whatever step, is named in `Heard.failed`; what the others heard stands.
    """
    heard = Heard()
    opened = Opened({spec.name: frozenset(ports[spec.name]) for spec in specs})
    with ExitStack() as closing:
        plain = Crew(*_entered(closing, open_some(specs, "beacon")), PROBE)
        heard.failed = plain.failed
        crews = [plain]
        request = {"do": "listen", "nonce": secrets.token_hex(8), "key": secrets.token_hex(32)}
        _listen(plain, opened, request, ports)
        if barred := [spec for spec in specs if spec.name in opened.barred()]:
            more = open_some(barred, "beacon", start_deadline_s=RAISE_S, raised=True)
            raised = Crew(*_entered(closing, more), PROBE)
            _listen(raised, opened, request, ports)
            heard.rights = {name: str(error) for name, error in raised.failed.items()}
            crews.append(raised)
        if opened.barred():
            _speak_multicast(plain, opened, ports)
        opened.tell(heard)
        known = frozenset(heard.macs)
        for again in range(1 + MOST_REPEATS):
            lost = _round(crews, ports, heard, known)
            if again == MOST_REPEATS or not _incomplete(heard, lost):
                break
    _note_lost(crews, heard)
    return heard


def _note_lost(crews: Sequence[Crew], heard: Heard) -> None:
    """Probes that had their rights and then failed; what nodes that failed heard at their ports is not known."""
    for crew in crews[1:]:
        for name, error in crew.failed.items():
            if name not in heard.rights:
                heard.failed.setdefault(name, error)
    heard.set_aside_halves()


def _entered(
    closing: ExitStack, started: tuple[Conversation, dict[str, NodeError]]
) -> tuple[Conversation, dict[str, NodeError]]:
    return closing.enter_context(started[0]), started[1]


def _listen(crew: Crew, opened: Opened, request: Mapping[str, Any], ports: Mapping[str, Sequence[str]]) -> None:
    """Have every port of these nodes open a raw socket."""
    crew.tell({name: {**request, "node": name, "ports": list(ports[name])} for name in crew.names})
    for name, ready in crew.answers("ready", crew.names, STEP_DEADLINE_S).items():
        opened.note(name, ready, "beacon")


def _speak_multicast(crew: Crew, opened: Opened, ports: Mapping[str, Sequence[str]]) -> None:
    """Have every port of every node use multicast too: only so do nodes with and without raw sockets meet."""
    crew.tell({name: {"do": "open", "method": "multicast", "ports": list(ports[name])} for name in crew.names})
    for name, ready in crew.answers("ready", crew.names, STEP_DEADLINE_S).items():
        opened.note(name, ready, "multicast")


def _round(crews: Sequence[Crew], ports: Mapping[str, Sequence[str]], heard: Heard, known: frozenset[PortKey]) -> int:
    """Send everywhere, then read what was heard so far into `heard`; the frames that came too fast to be read."""
    for _ in range(ROUNDS):
        for names in _turns(crews[0].names, ports):
            _ask(crews, {"do": "send", "frames": FRAMES}, "sent", names)
    reports: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for name, report in _ask(crews, {"do": "report"}, "heard", crews[0].names):
        reports[name].append(report)
    return read_heard(heard, reports, known)


def _ask(
    crews: Sequence[Crew], message: dict[str, Any], event: str, names: Sequence[str]
) -> list[tuple[str, Mapping[str, Any]]]:
    """Ask these nodes' probes the same, all before the first answer is awaited."""
    for crew in crews:
        crew.tell(dict.fromkeys(names, message))
    return [pair for crew in crews for pair in crew.answers(event, names, STEP_DEADLINE_S).items()]


def _turns(names: Sequence[str], ports: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """The nodes in groups of at most MOST_AT_ONCE ports, so that no port's buffer overflows on a flat segment."""
    group: list[str] = []
    for name in names:
        if group and sum(len(ports[one]) for one in (*group, name)) > MOST_AT_ONCE:
            yield group
            group = []
        group.append(name)
    if group:
        yield group


def _incomplete(heard: Heard, lost: int) -> bool:
    """Whether another try may show more: one direction is missing, or frames were lost and some port met nobody."""
    directions = {(one.listener, one.sender) for one in heard.hearings}
    if any((sender, listener) not in directions for listener, sender in directions):
        return True
    return lost > 0 and len({listener for listener, _sender in directions}) < len(heard.macs)
