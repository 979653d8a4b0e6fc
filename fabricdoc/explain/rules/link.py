"""Rules of links and networks: MTU of both ends, ports that go down, packets that are lost, subnets."""

from __future__ import annotations

import re
from collections import defaultdict

from fabricdoc.explain.case import Case
from fabricdoc.explain.hits import Answer, Confidence, Hit, Near, Rule, listing, spots, words
from fabricdoc.explain.rules.bootstrap import VIRTUAL
from fabricdoc.explain.rules.transport import pairs_of, timeouts, unconnected
from fabricdoc.explain.seen import Fact, Row, Seen, Spot
from fabricdoc.explain.views import PortKey, PortView, addresses, completions, gid_rows, ports, subnet

MTU_OF_ENUM = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
LOSS = (
    "out_of_sequence",
    "packet_seq_err",
    "implied_nak_seq_err",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "local_ack_timeout_err",
    "req_transport_retries_exceeded",
    "out_of_buffer",
    "rx_discards_phy",
    "tx_discards_phy",
    "rx_out_of_buffer",
    "port_xmit_discards",
    "duplicate_request",
    "rnr_nak_retry_err",
)
"""Counters that grow when packets are lost or thrown away (spark facts 8.3)."""
UNANSWERED = ("local_ack_timeout_err", "req_transport_retries_exceeded", "rnr_nak_retry_err")
"""Counters that count the same missing answers that NCCL's status 12 tells of: no cause of it."""
MANY = 1000
"""Counters since boot below this come from a cable that was pulled or a peer that restarted."""
JUMBO = (4092, 4200, 9000, 9001, 9216, 9500)
"""The MTUs that fabrics use beside 1500."""
COLLAPSE, LARGE = 5.0, 1 << 20
"""Bus bandwidth this many times below a smaller size's, from 1 MiB on, is what loss without flow control looks like."""


def mtu_mismatch(case: Case) -> Answer:
    """The active MTU of ports that face one another differs, or that of the interfaces below them.

    A connection that is not made at all is seldom its fault: the MTU of the other end matters once data flows.
    """
    found = _ports_apart(case) or _netdevs_apart(case) or _queue_pairs_apart(case)
    ping = case.sign("ping-too-long")
    if found is None and ping:
        return Hit(spots(ping[:2]), words(node=ping[0].spot.node), "likely", ("the MTU of both ends",))
    if found is None:
        return None
    evidence, filled = found
    if unconnected(case) and not completions(case):
        return Hit(spots(evidence, ping[:1], unconnected(case)[:1]), filled, "possible", ("data that flowed first",))
    return Hit(spots(evidence, ping[:1], case.errors[:2]), filled, "certain")


def _ports_apart(case: Case) -> tuple[list[Spot], dict[str, str]] | None:
    """Two nodes' ports of one name, or in one subnet, with another active MTU."""
    networks: dict[PortKey, set[str]] = defaultdict(set)
    for row in gid_rows(case):
        if row.ipv4:
            networks[row.node, row.hca, row.port].add(subnet(row.ipv4))
    groups: dict[str, list[PortView]] = defaultdict(list)
    for port in ports(case):
        if port.mtu and port.mtu_spot and not port.down:
            for name in networks.get((port.node, port.hca, port.number)) or {port.hca}:
                groups[name].append(port)
    for members in groups.values():
        low, high = min(members, key=lambda port: port.mtu), max(members, key=lambda port: port.mtu)
        if low.mtu != high.mtu and len({port.node for port in members}) > 1 and low.node != high.node:
            filled = words(node=low.node, hca=low.hca, low=low.mtu, other=high.node, high=high.mtu, netdev=low.netdev)
            return [spot for spot in (low.mtu_spot, high.mtu_spot) if spot], filled
    return None


def _netdevs_apart(case: Case) -> tuple[list[Spot], dict[str, str]] | None:
    """Interfaces in one subnet on two nodes, or fabric interfaces of one name, with another MTU."""
    mtus = {
        (fact.spot.node, str(fact.path[1])): fact
        for fact in case.told("netdev")
        if fact.path[2:] == ("mtu",) and isinstance(fact.value, int)
    }
    networks: dict[str, list[Fact]] = defaultdict(list)
    for view in addresses(case):
        if fact := mtus.get((view.node, view.netdev)):
            networks[view.network].append(fact)
    rdma = {port.netdev for port in ports(case) if port.netdev}
    addressed = {(view.node, view.netdev) for view in addresses(case)}
    for (node, name), fact in mtus.items():
        usual = name in rdma or (fact.value in (1500, *JUMBO) and not VIRTUAL.match(name) and name != "lo")
        if usual and (node, name) not in addressed:
            networks[f"interface {name}"].append(fact)
    for facts in networks.values():
        values = {fact.value for fact in facts}
        if len({fact.spot.node for fact in facts}) > 1 and len(values) > 1:
            low, high = min(facts, key=lambda fact: fact.value), max(facts, key=lambda fact: fact.value)
            filled = words(
                node=low.spot.node,
                netdev=low.path[1],
                low=low.value,
                other=high.spot.node,
                high=high.value,
                hca=low.path[1],
            )
            return [low.spot, high.spot], filled
    return None


def _queue_pairs_apart(case: Case) -> tuple[list[Spot], dict[str, str]] | None:
    """NCCL's own lines of queue pairs on two nodes with another MTU; only where something failed."""
    seen: dict[str, Seen] = {}
    for line in case.of("ib.qp.roce"):
        seen.setdefault(line.groups.get("mtu", ""), line)
    if len(seen) < 2 or len({line.spot.node for line in seen.values()}) < 2 or not case.errors:
        return None
    low, high = seen[min(seen)], seen[max(seen)]
    small, large = (MTU_OF_ENUM.get(int(line.groups["mtu"]), 0) for line in (low, high))
    return [low.spot, high.spot], words(node=low.spot.node, low=small, other=high.spot.node, high=large)


def link_flap(case: Case) -> Answer:
    """A port reported that it went down, or the kernel or the counters say so beside connections that broke."""
    events = [
        seen
        for seen in case.of("err.async")
        if re.search(r"port (?:error|down)|link (?:down|error)|port_err|PORT_ERR", seen.spot.text, re.I)
    ]
    broken = timeouts(case) or unconnected(case)
    kernel = case.sign("kernel-link-down")
    counted = [
        fact
        for fact in case.told("counter")
        if str(fact.path[-1]) in ("link_downed", "link_down_events_phy") and isinstance(fact.value, int) and fact.value
    ]
    failover = [seen for seen in case.of("ib.failover") if "failed" in seen.spot.text]
    first: list[Seen | Fact] = [*events, *failover]
    if not first and not ((kernel or counted) and broken):
        return None
    lead = (events or failover or kernel or counted)[0]
    hca = events[0].groups.get("dev", "") if events else ""
    evidence = spots(events[:2], failover[:1], kernel[:2], counted[:2], broken[:1])
    sought = () if kernel or counted else ("dmesg and link_downed of that port",)
    return Hit(evidence, words(hca=hca, node=lead.spot.node), "certain" if events else "likely", sought)


def roce_packet_loss(case: Case) -> Answer:
    """Counters of lost packets above zero, or a bandwidth that collapses at single sizes."""
    counters = [fact for fact in case.told("counter") if loses(str(fact.path[-1])) and isinstance(fact.value, int)]
    lost = [fact for fact in counters if fact.value > 0]
    collapsed = collapse(case.rows)
    if not lost and not collapsed:
        return None
    names = listing(f"{fact.path[-1]}={fact.value}" for fact in lost)
    strong = [fact for fact in lost if str(fact.path[-1]) != "out_of_buffer" and fact.value >= MANY]
    hca = str(lost[0].path[1]).partition("/")[0] if lost else ""
    filled = words(counters=names, hca=hca, node=(lost or collapsed)[0].spot.node)
    if lost and not (strong or collapsed or timeouts(case)):
        return Near(
            spots(lost[:3]), "few packets were lost, and nothing broke or slowed down", ("a slow or broken run",)
        )
    zero = tuple(f"{fact.path[-1]} above 0 (it is {fact.value})" for fact in counters if not fact.value)[:3]
    evidence = spots(lost[:4], collapsed[:4], timeouts(case)[:1])
    sure: Confidence = "certain" if strong and collapsed else "likely" if strong else "possible"
    causal = [fact for fact in strong if str(fact.path[-1]) not in UNANSWERED]
    return Hit(evidence, filled, sure, zero, "error" if causal and timeouts(case) else None)


def loses(name: str) -> bool:
    """Whether a counter of that name counts lost or repeated packets."""
    return name in LOSS or bool(re.fullmatch(r"[rt]x_(?:prio\d_)?discards?(?:_phy)?|.*_buffer_discard.*", name))


def collapse(rows: list[Row]) -> list[Row]:
    """Rows of a result whose bandwidth is far below that of both a smaller size and what the size could do."""
    found = []
    best, last = 0.0, 0
    for row in sorted(rows, key=lambda row: (row.spot.file, row.spot.line)):
        if row.size < last:  # the next table
            best = 0.0
        last = row.size
        if row.size >= LARGE and row.busbw:
            if best and min(row.busbw) * COLLAPSE < best:
                found.append(row)
            best = max(best, *row.busbw)
    return found


def nics_share_subnet(case: Case) -> Answer:
    """Several interfaces of one node have addresses in one subnet, and they carry RDMA or look alike."""
    rdma = {(port.node, port.netdev) for port in ports(case) if port.netdev}
    rdma |= {(row.node, "") for row in gid_rows(case)}
    groups: dict[tuple[str, str], list[Spot]] = defaultdict(list)
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for view in addresses(case):
        plain = ":" not in view.address and view.prefix < 31 and not view.address.startswith("169.254.")
        plain = plain and not VIRTUAL.match(view.netdev) and not view.netdev.startswith("wl")
        if plain and (not rdma or (view.node, view.netdev) in rdma or ("", view.netdev) in rdma):
            groups[view.node, view.network].append(view.spot)
            names[view.node, view.network].append(view.netdev)
    addressed = {view.node for view in addresses(case)}
    for row in gid_rows(case):
        if row.routable and row.node not in addressed:
            groups[row.node, subnet(row.ipv4)].append(row.spot)
            names[row.node, subnet(row.ipv4)].append(row.hca)
    shared = [key for key in groups if len(set(names[key])) > 1]
    if not shared:
        return None
    key = shared[0]
    flux = [
        fact
        for fact in case.told("sysctl")
        if str(fact.path[-1]).rpartition(".")[2] in ("arp_ignore", "arp_announce", "rp_filter")
    ]
    by_mac: dict[str, list[Fact]] = defaultdict(list)
    for fact in case.told("neighbour"):
        by_mac[str(fact.value.get("mac", ""))].append(fact)
    learned = [fact for mac, facts in by_mac.items() if mac and len({f.path[1] for f in facts}) > 1 for fact in facts]
    filled = words(network=key[1], interfaces=listing(names[key]), node=key[0], first=sorted(set(names[key]))[0])
    tamed = [fact for fact in flux if str(fact.path[-1]).endswith("arp_ignore") and fact.value in (1, 2)]
    if tamed and not learned and not case.errors:
        return Near(spots(groups[key][:3], tamed[:1]), "arp_ignore keeps the answers apart", ("arp_ignore=0",))
    if not learned and not case.errors and worked(case):
        why = "the ranks were joined over these interfaces, and nothing failed"
        return Near(spots(groups[key][:3], flux[:1]), why, ("one MAC address for two of the peer's",))
    broken = timeouts(case) or unconnected(case)
    sure = bool(learned or flux) and not tamed
    within = [seen for seen, _hca, local, _far in pairs_of(case) if local and _inside(local, key[1])]
    evidence = spots(groups[key][:4], learned[:3], flux[:2], broken[:1])
    return Hit(
        evidence, filled, "certain" if sure else "likely", severity="error" if broken and (sure or within) else None
    )


def _inside(address: str, network: str) -> bool:
    """Whether an address is one of a subnet's."""
    return subnet(address, int(network.rpartition("/")[2])) == network


def worked(case: Case) -> bool:
    """Whether a communicator was made."""
    return any(seen.groups.get("state") == "COMPLETE" for seen in case.of("comm.init")) or bool(case.of("conn.rings"))


RULES: dict[str, Rule] = {
    "link-flap": link_flap,
    "mtu-mismatch": mtu_mismatch,
    "roce-packet-loss": roce_packet_loss,
    "nics-share-subnet": nics_share_subnet,
}
