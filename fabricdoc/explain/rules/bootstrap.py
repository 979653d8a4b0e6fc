"""Rules of the side channel: which interface NCCL meets its peers on, and what stops the TCP connections."""

from __future__ import annotations

import ipaddress
import re

from fabricdoc.explain.case import Case, same
from fabricdoc.explain.hits import Answer, Hit, Near, Rule, listing, spots, words
from fabricdoc.explain.own import of_node
from fabricdoc.explain.seen import Seen, Set
from fabricdoc.explain.views import addresses, parsed, subnet
from fabricdoc.nccl import parse_selector

VIRTUAL = re.compile(
    r"(?:docker|veth|virbr|vnet|br-|cni|flannel|cali|cilium|lxc|lxd|tun|tap|wg|tailscale|zt|vmnet|nerdctl|podman|kube|"
    r"dummy|ovs|vxlan|geneve|nodelocaldns|ppp|utun|ham|nordlynx|gpd|ipvlan|azv|weave|antrea|genev|macvtap|vboxnet|l4tbr|"
    r"usb|incusbr|hassio|edp)"
)
BRIDGE = ipaddress.ip_network("172.17.0.0/16")
"""The subnet that docker gives its bridge."""
HOST_NETWORK = re.compile(r"--net(?:work)?[ =]host")
_BRACKETED = re.compile(r"\[\d+\]([^\s:]+):(\S+?)<\d+>")
_OLD = re.compile(r"NET : Using interface ([^\s:]+):(\S+?)<\d+>")
"""NCCL up to 2.3 gave each interface a line of its own."""
CONNECT = ("err.connect", "sock.misc", "err.recv", "torch.rendezvous", "gloo.connect")
REFUSED = re.compile(r"refused|unreachable|timed out|No route|retry count|failed|abort", re.I)


def interfaces_used(case: Case) -> list[tuple[Seen, str, str]]:
    """(line, interface, address) of every interface that NCCL says it uses for sockets."""
    found = []
    for seen in case.of("boot.if", "sock.using", "ib.using"):
        listed = _BRACKETED.findall(seen.message) if seen.event != "ib.using" else []
        single = [(seen.groups["if"], seen.groups.get("addr", ""))] if "if" in seen.groups else []
        found += [(seen, name, address.partition("%")[0]) for name, address in listed or single]
    old = [(seen, match) for seen in case.of("boot.if.old") if (match := _OLD.search(seen.message))]
    return found + [(seen, match[1], match[2].partition("%")[0]) for seen, match in old]


def connect_failures(case: Case) -> list[Seen]:
    """Connections that were refused or never answered."""
    told = [seen for seen in case.of(*CONNECT) if REFUSED.search(seen.spot.text) and seen.event != "err.recv"]
    return told + [seen for seen in case.warned(r"^Call to connect ") if REFUSED.search(seen.message)]


def peer_of(seen: Seen) -> str:
    """The address that a connection went to, "" where not told."""
    peer = seen.groups.get("peer", "")
    match = re.search(r"(?:[Cc]onnect(?:ion)?(?:ing)? to |peer )\[?([0-9a-fA-F.:]{3,45})", seen.spot.text)
    text = peer or (match[1] if match else "")
    return text.partition("<")[0].partition("%")[0].strip("[]").split()[-1] if text.strip() else ""


def socket_ifname_not_found(case: Case) -> Answer:
    """NCCL found no interface, and a filter is set that fits none."""
    none = case.of("boot.none", "sock.none", "boot.nodev")
    named = [each for each in case.values("NCCL_SOCKET_IFNAME") if each.value.strip()]
    wrong = [each for each in named if (left := _fitting(case, each.value, each.spot.node)) is not None and not left]
    if not none:
        return _no_address(case, wrong or named) or _by_interfaces(case, wrong)
    if not named and not wrong:
        return Near(spots(none[:1]), "NCCL_SOCKET_IFNAME is not set", ("the interfaces of this host",))
    where = none[0].spot.node
    each = next(iter(of_node(wrong, where) or of_node(named, where)), (wrong or named)[0])
    there = list(dict.fromkeys(view.netdev for view in addresses(case, each.spot.node)))
    shown = [view.spot for view in addresses(case, each.spot.node)][:2]
    filled = words(
        value=each.value, interfaces=listing(there), suggestion=there[0] if there else "", node=none[0].spot.node
    )
    sought = () if there else ("ip addr of this host",)
    return Hit(spots(none[:1], each, shown), filled, "certain", sought)


def _by_interfaces(case: Case, wrong: list[Set]) -> Answer:
    """No log of this node: its filter fits none of its interfaces, of which all are told (lo is among them)."""
    for each in wrong:
        node = each.spot.node
        spoke = of_node(case.of("boot.if", "boot.if.old", "sock.using", "ib.using", "net.used"), node)
        complete = any(fact.path[1] == "lo" and same(fact.spot.node, node) for fact in case.told("netdev"))
        there = list(dict.fromkeys(view.netdev for view in addresses(case, node)))
        if complete and there and not spoke and each.by == "file":
            shown = [view.spot for view in addresses(case, node)][:3]
            filled = words(value=each.value, interfaces=listing(there), suggestion=there[0], node=node)
            return Hit(spots(each, shown), filled, "certain")
    return None


def _no_address(case: Case, named: list[Set]) -> Answer:
    """Releases that do not say so go on with an empty address: a peer's is of no family."""
    empty = case.of("sock.family")
    releases = {seen.groups["ver"] for seen in case.of("version", "version.engine")}
    if not empty or not named or len(releases) > 1 or interfaces_used(case):
        return None
    filled = words(value=named[0].value, node=named[0].spot.node)
    return Hit(spots(empty[:1], named[0]), filled, "likely", ("the line with the interface in use", "ip addr"))


def _fitting(case: Case, value: str, node: str) -> list[str] | None:
    """The interfaces told that a filter takes; None where none are told."""
    there = list(dict.fromkeys(str(fact.path[1]) for fact in case.told("netdev", node)))
    if not there:
        return None
    selector = parse_selector(value.strip("\"'"))
    named = [
        name
        for name in there
        if any(name == entry.name if selector.exact else name.startswith(entry.name) for entry in selector.entries)
    ]
    return [name for name in there if name not in named] if selector.excludes else named


def virtual_interface_selected(case: Case) -> Answer:
    """NCCL uses an interface that exists inside its host alone, and connections to peers fail or never come."""
    virtual = [(seen, name, address) for seen, name, address in interfaces_used(case) if VIRTUAL.match(name)]
    if not virtual:
        return _behind_a_bridge(case) or _peer_on_its_own_link(case)
    failing = connect_failures(case)
    own = {address for _seen, _name, address in virtual}
    hit = [seen for seen in failing if peer_of(seen) in own]
    link_local = [seen for seen in failing if (plain := parsed(peer_of(seen))) is not None and plain.is_link_local]
    twice = _same_address(virtual)
    real = [name for _seen, name, _address in interfaces_used(case) if not VIRTUAL.match(name) and name != "lo"]
    seen, name, address = virtual[0]
    there = [view.netdev for view in addresses(case, seen.spot.node) if not VIRTUAL.match(view.netdev)]
    good = (real or there or [""])[0]
    filled = words(interface=name, address=address, node=seen.spot.node, good=good)
    lines = [one[0] for one in virtual]
    if hit or link_local or twice:
        return Hit(spots((hit or link_local)[:1], lines[:2], twice), filled, "certain")
    stuck = failing or case.of("torch.watchdog", "torch.watchdog.end") or case.sign("rendezvous-timeout", "engine-hang")
    if stuck or (case.errors and not real):
        return Hit(
            spots(stuck[:1] or case.errors[:1], lines[:2]), filled, "likely", ("an address in a failing connection",)
        )
    ended = any(one.groups.get("state") == "COMPLETE" for one in case.of("comm.init"))
    joined = case.of("conn.rings", "chan.net", "comm.init", "net.used")
    if not ended and not joined and not real:
        return Hit(spots(lines[:2]), filled, "possible", ("a line that says that a peer was reached",))
    if not case.errors:
        return None
    return Near(spots(lines[:1]), "no connection over it failed", ("a refused or unanswered connection",))


def _behind_a_bridge(case: Case) -> Answer:
    """A container's own eth0 on docker's bridge: every node's containers have the same addresses there."""
    for seen, name, address in interfaces_used(case):
        plain = parsed(address)
        if plain is None or plain.version != BRIDGE.version or plain not in BRIDGE:
            continue
        itself = [line for line in connect_failures(case) if peer_of(line) == address]
        started = [sign for sign in case.sign("docker-run") if not HOST_NETWORK.search(sign.spot.text)]
        if itself or (started and connect_failures(case)):
            filled = words(interface=name, address=address, node=seen.spot.node)
            evidence = spots((itself or connect_failures(case))[:1], seen, started[:1])
            return Hit(evidence, filled, "certain" if itself and started else "likely")
    return None


def _peer_on_its_own_link(case: Case) -> Answer:
    """The peer gave a link-local address, and this end meets its peers on an address of a real subnet."""
    for seen in connect_failures(case):
        plain = parsed(peer_of(seen))
        mine = [one for one in interfaces_used(case) if same(one[0].spot.node, seen.spot.node)]
        ends = [parsed(address) for _line, _name, address in mine]
        if plain is not None and plain.is_link_local and ends and not any(end and end.is_link_local for end in ends):
            filled = words(address=str(plain), node=seen.spot.node, good=mine[0][1])
            return Hit(spots(seen, mine[0][0]), filled, "likely", ("the peer's line with the interface in use",))
    return None


def _same_address(used: list[tuple[Seen, str, str]]) -> list[Seen]:
    """Lines of two nodes that name the same address: neither can be the other's peer there."""
    for seen, name, address in used:
        for other, second, also in used:
            if address and address == also and name == second and seen.spot.node != other.spot.node:
                return [seen, other]
    return []


def loopback_selected(case: Case) -> Answer:
    """Bootstrap over lo, or a peer at 127.x, between hosts."""
    lines = [seen for seen, name, address in interfaces_used(case) if name == "lo" or _loopback(address)]
    failing = [seen for seen in connect_failures(case) if _loopback(peer_of(seen))]
    gloo = case.sign("gloo-loopback")
    if not lines and not failing and not gloo:
        return None
    each = case.value("NCCL_SOCKET_IFNAME", lines[0].spot.node if lines else "")
    conf = [one for one in case.values("NCCL_SOCKET_IFNAME", by="file") if "lo" in one.value.split(",")]
    named = case.sign("hosts-loopback")
    refused = failing or [seen for seen in connect_failures(case) if lines]
    if refused or gloo:
        first = (refused or gloo)[0]
        filled = words(node=first.spot.node, value=each.value if each else "")
        evidence = spots(refused[:1], gloo[:1], lines[:2], conf[:1], each, named[:1])
        return Hit(evidence, filled, "certain" if lines or failing else "likely")
    separate = [view for view in addresses(case) if not _loopback(view.address)]
    stuck = case.sign("rendezvous-timeout", "engine-hang") or case.of("torch.watchdog")
    if stuck or ((conf or named) and separate and not case.of("conn.rings", "chan.net")):
        return Hit(
            spots(lines[:2], conf[:1], named[:1], each, stuck[:1]),
            words(node=lines[0].spot.node if lines else ""),
            "likely",
        )
    apart = len({seen.spot.node for seen in lines}) > 1 or bool(conf)
    if lines and apart and not case.errors and not case.of("conn.rings", "chan.net", "chan.p2p", "net.used"):
        filled = words(node=lines[0].spot.node, value=conf[0].value if conf else "")
        return Hit(spots(lines[:2], conf[:1]), filled, "likely", ("a line in which the ranks are joined",))
    return None


def _loopback(text: str) -> bool:
    plain = parsed(text)
    return text == "localhost" or (plain is not None and plain.is_loopback)


def host_firewall(case: Case) -> Answer:
    """A connection to a high port of a peer in the same subnet is rejected or swallowed, over a real interface."""
    used = [
        (seen, name, address)
        for seen, name, address in interfaces_used(case)
        if not VIRTUAL.match(name) and name != "lo"
    ]
    rules = case.sign("firewall-reject", "firewall-active")
    near: Answer = None
    for seen in connect_failures(case):
        peer = peer_of(seen)
        plain = parsed(peer)
        text = seen.spot.text
        if plain is None or plain.is_loopback or plain.is_link_local:
            continue
        rejected = "No route to host" in text or "prohibited" in text
        silent = "timed out" in text or "exceeded error retry count" in text
        close = [line for line, _name, address in used if subnet(address) == subnet(peer)]
        filled = words(peer=peer, node=seen.spot.node, interface=used[0][1] if used else "")
        if rejected and (close or rules):
            return Hit(
                spots(seen, close[:1], rules[:2]),
                filled,
                "certain" if rules else "likely",
                ("the peer's rules",) if not rules else (),
            )
        if (silent or "refused" in text) and rules:
            return Hit(spots(seen, close[:1], rules[:2]), filled, "certain")
        if rejected or (silent and close):
            sought = ("nft list ruleset, or ufw status, of the peer", "an address of this node in the peer's subnet")
            near = near or Hit(spots(seen, close[:1]), filled, "possible", sought)
    return near


RULES: dict[str, Rule] = {
    "socket-ifname-not-found": socket_ifname_not_found,
    "virtual-interface-selected": virtual_interface_selected,
    "loopback-selected": loopback_selected,
    "host-firewall": host_firewall,
}
