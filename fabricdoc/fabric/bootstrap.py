"""TCP between nodes judged: ports that NCCL's bootstrap or a rendezvous needs and cannot reach, ports that are taken.

RoCE's data passes beside the host's firewall and these connections do not, so RDMA tests pass while a launch hangs.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence

from fabricdoc.fabric.tried import Dialled, Taken
from fabricdoc.fabric.ways import Way
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Node
from fabricdoc.model.findings import Evidence, Finding

WORDS = {
    "refused": "was refused although a listener of ours stood there",
    "timed-out": "got no answer",
    "unreachable": "could not be sent",
    "silent": "was taken and then nothing came",
    "stranger": "was answered by something else",
    "failed": "failed",
}
CAUSES = {
    "refused": "Something on {b}, or on the way to it, rejects these connections (a firewall with reject).",
    "timed-out": "Something on {b}, or on the way to it, drops these connections (a firewall with drop).",
    "unreachable": "{a} has no route to this address, or a firewall says that it is prohibited.",
    "silent": "The connection is made and its data does not arrive: a proxy or a firewall that looks inside.",
    "stranger": "Another machine or a proxy has this address, or the port is redirected.",
    "failed": "The connection could not be made.",
}


def bootstrap_findings(
    nodes: Sequence[Node], dialled: Sequence[Dialled], taken: Sequence[Taken]
) -> tuple[Finding, ...]:
    """One finding for each direction and address that does not let everything through, and one for each port taken."""
    return (*_blocked({node.name: node for node in nodes}, dialled), *map(_taken, taken))


def _blocked(nodes: dict[str, Node], dialled: Sequence[Dialled]) -> Iterator[Finding]:
    by_way: dict[Way, list[Dialled]] = defaultdict(list)
    for one in dialled:
        by_way[one.way].append(one)
    open_links = {(way.a.node, way.b.node) for way, some in by_way.items() if way.by == "link" and not _failed(some)}
    for way, some in by_way.items():
        failed = _failed(some)
        if failed:
            spare = way.by == "management" and (way.a.node, way.b.node) in open_links
            yield _finding(nodes, way, failed, some, spare=spare)


def _failed(some: Sequence[Dialled]) -> list[Dialled]:
    return [one for one in some if one.outcome != "connected"]


def _finding(
    nodes: dict[str, Node], way: Way, failed: Sequence[Dialled], some: Sequence[Dialled], *, spare: bool
) -> Finding:
    """`spare`: only the management address is closed, while the link between the same nodes lets all through."""
    a, b = way.a, way.b
    worst = failed[0]
    cause = CAUSES[worst.outcome].format(a=a.node, b=b.node)
    meaning = (
        f"NCCL's bootstrap hangs if it takes {b.netdev}; over the link between the two it passes."
        if spare
        else "RDMA may pass all the same, since its data takes another path: NCCL's bootstrap and torch's rendezvous "
        "use TCP, and hang or time out at start."
    )
    told = nodes[b.node].host.firewall
    firewall = () if isinstance(told, Unknown) else (Evidence(file=b.node, text=f"firewall: {told}"),)
    return Finding(
        id="bootstrap-port-blocked",
        severity="warning" if spare else "error",
        subject=f"{a.node} -> {b.node} {b.ip}",
        evidence=(*(Evidence(file=a.node, text=_words(one)) for one in some), *firewall),
        cause=f"{cause} {meaning}",
        fix=(*_fix(worst, "" if isinstance(told, Unknown) else told), *(_elsewhere(way) if spare else ())),
    )


def _words(one: Dialled) -> str:
    what = "the rendezvous port" if one.wanted else "a port of the ephemeral range"
    host = f"[{one.way.b.ip}]" if ":" in one.way.b.ip else one.way.b.ip
    how = "connected" if one.outcome == "connected" else WORDS[one.outcome]
    reason = f": {one.reason}" if one.reason else ""
    return f"tcp from {one.way.a.netdev} {one.way.a.ip} to {host}:{one.port} ({what}) {how}{reason}"


def _fix(one: Dialled, firewall: str) -> Iterator[str]:
    """Lines for the node that does not let in: for its own firewall where it is known, else for each usual one."""
    b, a = one.way.b, one.way.a
    if one.outcome == "unreachable":
        yield f"on {a.node}, see where packets to {b.ip} go:"
        yield shlex.join(["ip", "route", "get", b.ip])
        yield f"and if the route is right, let a firewall on {b.node} accept them, as below"
    yield f"on {b.node}, accept what comes in on {b.netdev} (the fabric's own interface):"
    lines = {
        "ufw": ["sudo", "ufw", "allow", "in", "on", b.netdev],
        "firewalld": ["sudo", "firewall-cmd", "--permanent", "--zone=trusted", f"--change-interface={b.netdev}"],
        "nft": ["sudo", "nft", "insert", "rule", "inet", "filter", "input", "iifname", b.netdev, "accept"],
    }
    known = "ufw" if "ufw" in firewall else "firewalld" if "firewalld" in firewall else ""
    for name in [known] if known else lines:
        after = " && sudo firewall-cmd --reload" if name == "firewalld" else ""
        yield shlex.join(lines[name]) + after + ("" if known else f"    # {name}")


def _elsewhere(way: Way) -> Iterator[str]:
    yield f"or name the interface of the link in NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME, not {way.b.netdev}"


def _taken(one: Taken) -> Finding:
    who = one.owner or "a process that /proc does not show to this user"
    return Finding(
        id="rendezvous-port-taken",
        severity="info",
        subject=f"{one.node} {one.ip}:{one.port}",
        evidence=(Evidence(file=one.node, text=f"tcp port {one.port} is in use by {who}"),),
        cause=f"Port {one.port}, on which a launch would meet, is in use on {one.node}. If that is a server "
        "that runs on purpose, nothing is wrong; a second launch with this port fails with 'address already in use'.",
        fix=("end what holds it if it is left over, or give the launch another port (MASTER_PORT, --master-port)",),
    )
