"""Rules of the choice of HCAs: NCCL_IB_HCA against devices, lists of nodes against each other, fused NICs."""

from __future__ import annotations

import re
from collections import defaultdict

from fabricdoc.explain.case import Case, same
from fabricdoc.explain.hits import Answer, Hit, Near, Rule, listing, spots, words
from fabricdoc.explain.own import in_force
from fabricdoc.explain.seen import Seen, Set
from fabricdoc.explain.views import (
    PortView,
    device_lists,
    failed_pairs,
    gid_rows,
    ipv4_of,
    lists_of,
    ports,
    rails_of,
    subnet,
)
from fabricdoc.nccl import DeviceList, parse_selector

ANY_PORT = -1
GONE = re.compile(r"No such device|Network is unreachable")


def fits(value: str, hca: str, port: int = 1) -> bool:
    """Whether NCCL_IB_HCA=`value` takes a port of that name, by NCCL's grammar."""
    selector = parse_selector(value)
    if not selector.entries:
        return not selector.excludes
    named = any(
        (hca == entry.name if selector.exact else hca.startswith(entry.name)) and entry.port in (ANY_PORT, port)
        for entry in selector.entries
    )
    return named != selector.excludes


def filters(case: Case) -> list[Set]:
    """Every NCCL_IB_HCA that is not empty, NCCL's own word first."""
    return case.once("filters", lambda: _filters(case))


def _filters(case: Case) -> list[Set]:
    found = [each for each in case.values("NCCL_IB_HCA") if each.value.strip("\"'^=")]
    return sorted(found, key=lambda each: each.by != "log")


def ib_hca_names_differ_between_nodes(case: Case) -> Answer:
    """The list fits active ports on one node, and on another none that is active, though others are."""
    for each in for_everybody(case):
        good: list[tuple[str, list[PortView], list[PortView]]] = []
        bad: list[tuple[str, list[PortView], list[PortView]]] = []
        for node in dict.fromkeys(port.node for port in ports(case) if port.node):
            mine = [port for port in ports(case) if port.node == node]
            active = [port for port in mine if port.active]
            chosen = [port for port in active if fits(each.value.strip("\"'"), port.hca, port.number)]
            (good if chosen else bad if active else []).append((node, mine, active))
        if good and bad:
            node, mine, active = bad[0]
            down = [port for port in mine if port.down and fits(each.value.strip("\"'"), port.hca, port.number)]
            names = ",".join(port.hca for port in active)
            filled = words(
                value=each.value, node=node, other=good[0][0], hcas=listing(port.hca for port in active), fix=names
            )
            shown = [port.spot for port in (*down[:2], *active[:2], *good[0][2][:1])]
            return Hit(spots(each, shown), filled, "certain")
    return next((hit for each in for_everybody(case) if (hit := _some_names_missing(case, each))), None)


def for_everybody(case: Case) -> list[Set]:
    """Filters of no node that ports are told of: a file that several nodes share, whatever it is called."""
    told = {port.node for port in ports(case)}
    return [each for each in filters(case) if not each.spot.node or each.spot.node not in told]


def _some_names_missing(case: Case, each: Set) -> Answer:
    """Every entry of the list is an active port on one node; on another some are not, and others are up instead."""
    value = each.value.strip("\"'")
    entries = parse_selector(value).entries
    if parse_selector(value).excludes or len(entries) < 2:
        return None
    whole: list[str] = []
    partly: list[tuple[str, list[str], list[PortView]]] = []
    for node in dict.fromkeys(port.node for port in ports(case) if port.node):
        active = [port for port in ports(case) if port.node == node and port.active]
        lost = [entry.name for entry in entries if not any(port.hca.startswith(entry.name) for port in active)]
        instead = [port for port in active if not fits(value, port.hca, port.number)]
        if not lost:
            whole.append(node)
        elif len(instead) >= len(lost):
            partly.append((node, lost, instead))
    if not whole or not partly:
        return None
    node, lost, instead = partly[0]
    taken = [port for port in ports(case) if port.node == node and port.active and fits(value, port.hca, port.number)]
    names = ",".join(port.hca for port in (*taken, *instead))
    filled = words(value=each.value, node=node, other=whole[0], hcas=listing(port.hca for port in instead), fix=names)
    down = [port.spot for port in ports(case) if port.node == node and port.down and port.hca in lost]
    return Hit(spots(each, down[:2], [port.spot for port in instead[:2]]), filled, "likely", (f"{lost[0]} on {node}",))


def ib_hca_includes_port_cabled_elsewhere(case: Case) -> Answer:
    """An HCA of the list has an address in a subnet that no HCA of another node is in, while others share one."""
    owners: dict[str, set[str]] = defaultdict(set)
    mine: dict[tuple[str, str], set[str]] = defaultdict(set)
    rows = [row for row in gid_rows(case) if row.routable]
    for row in rows:
        owners[subnet(row.ipv4)].add(row.node)
        mine[row.node, row.hca].add(subnet(row.ipv4))
    if len({row.node for row in rows}) < 2:
        return _elsewhere_by_pair(case)
    shared = {network for network, nodes in owners.items() if len(nodes) > 1}
    chosen = {node: in_force(case, "NCCL_IB_HCA", node) for node, _hca in mine}
    alone = [key for key, networks in mine.items() if not networks & shared and _taken(chosen[key[0]], key[1])]
    if not shared or not alone:
        return None
    together = {hca for (_node, hca), networks in mine.items() if networks & shared}
    odd = [key for key in alone if key[1] not in together] or alone
    shown = [row.spot for row in rows if (row.node, row.hca) in odd]
    near = [row.spot for row in rows if (row.node, row.hca) not in odd and subnet(row.ipv4) in shared][:1]
    keep = ",".join(dict.fromkeys(hca for (node, hca) in mine if (node, hca) not in odd))
    each = chosen[odd[0][0]]
    filled = words(
        hca=odd[0][1], node=odd[0][0], network=next(iter(mine[odd[0]])), keep=keep, value=each.value if each else ""
    )
    failing = [seen for seen, pair in failed_pairs(case) if pair.device == odd[0][1]][:1]
    return Hit(spots(failing, each, shown[:4], near), filled, "certain" if each else "likely")


def _taken(each: Set | None, hca: str) -> bool:
    """Whether a node's list, where it has one, takes an HCA."""
    value = each.value.strip("\"'") if each else ""
    return not value or fits(value, hca)


def _elsewhere_by_pair(case: Case) -> Answer:
    """No tables of two nodes: a queue pair between subnets of which neither is another HCA's here decides nothing."""
    for seen, pair in failed_pairs(case):
        rows = [row for row in gid_rows(case, seen.spot.node) if row.routable and row.hca != pair.device]
        remote = subnet(pair.remote_gid.removeprefix("::ffff:"))
        if rows and remote and remote not in {subnet(row.ipv4) for row in rows} and filters(case):
            why = "the peer's subnet is none of this node's; whether its cable leads there is not told"
            return Near(spots(seen, filters(case)[:1]), why, ("the GID table of the peer",))
    return None


def lists_by_node(case: Case) -> dict[str, tuple[Seen, DeviceList]]:
    """The first device list of every node that has one with devices."""
    found: dict[str, tuple[Seen, DeviceList]] = {}
    for seen, listed in device_lists(case):
        if listed.devices:
            found.setdefault(seen.spot.node, (seen, listed))
    return found


def hca_sets_differ_between_nodes(case: Case) -> Answer:
    """NCCL counts unequal numbers of NICs, or the nodes' lists differ in number, fused NICs taken apart."""
    mixed = case.of("err.netcount")
    counted = [
        seen
        for seen in case.of("net.counts")
        if seen.groups.get("kind") == "Net" and seen.groups.get("min") not in (None, seen.groups.get("max"))
    ]
    lists = lists_by_node(case)
    counts = {
        node: sum(device.name.count("+") + 1 for device in listed.devices) for node, (_seen, listed) in lists.items()
    }
    refused = [seen for seen in case.of("ib.open") if "WARN" in seen.level]
    if not mixed and not counted and len(set(counts.values())) < 2:
        return None
    if not mixed and not counted and not case.errors and joined(case):
        equal = [seen for seen, _listed in lists.values()]
        return Near(spots(equal[:2]), "the lists differ, and the ranks were joined", ("a hang or an error",))
    least = min(counts, key=lambda node: counts[node], default="")
    most = max(counts, key=lambda node: counts[node], default="")
    filled = words(node=least, other=most, few=counts.get(least, ""), many=counts.get(most, ""))
    if least in lists:
        filled |= words(keep=",".join(device.name for device in lists[least][1].devices))
    ignoring = case.values("NCCL_IGNORE_NET_MISMATCH")[:1]
    evidence = spots(refused[:1], mixed[:1], counted[:1], [seen for seen, _listed in lists.values()][:2], ignoring)
    return Hit(evidence, filled, "certain" if mixed or counted or refused else "likely")


def joined(case: Case) -> bool:
    """Whether the ranks were joined, as far as NCCL's lines tell."""
    complete = any(seen.groups.get("state") == "COMPLETE" for seen in case.of("comm.init"))
    return complete or bool(case.of("conn.rings", "gdr.ring"))


def both_kinds(case: Case) -> list[Seen]:
    """NCCL's lists that hold InfiniBand and Ethernet ports together."""
    kinds = [(seen, {device.link for device in listed.devices}) for seen, listed in device_lists(case)]
    return [seen for seen, links in kinds if {"IB", "RoCE"} <= links][:1]


def mixed_link_layers(case: Case) -> Answer:
    """InfiniBand and Ethernet ports in one list, or one kind on this node and the other on that."""
    refused = case.of("ib.linkmix")
    for seen, listed in device_lists(case):
        kinds = {device.link for device in listed.devices if device.link in ("IB", "RoCE")}
        if len(kinds) > 1:
            roce = [device.name for device in listed.devices if device.link == "RoCE"]
            ib = [device.name for device in listed.devices if device.link == "IB"]
            filled = words(roce=",".join(roce), ib=",".join(ib), node=seen.spot.node)
            if not refused and not case.errors and joined(case):
                why = "both kinds are in the list, and nothing failed"
                return Near(spots(seen), why, ("a line that says that a link was refused",))
            sought = () if refused else ("a line that says that a link was refused",)
            shown = spots(refused[:1], seen, case.errors[:1])
            return Hit(shown, filled, "certain" if refused else "likely", sought)
    lists = lists_by_node(case)
    layers = {node: {device.link for device in listed.devices} for node, (_seen, listed) in lists.items()}
    different = {frozenset(kinds) for kinds in layers.values()}
    if len(different) > 1:
        told = [seen for seen, _listed in lists.values()]
        return Hit(spots(refused[:1], told[:3]), words(node=next(iter(lists))), "certain" if refused else "likely")
    return Hit(spots(refused[:2]), words(node=refused[0].spot.node), "likely") if refused else None


def nic_merge_asymmetric(case: Case) -> Answer:
    """NCCL says that members differ in number, or one node's list is fused and another's is not."""
    said = case.of("ib.devcount")
    fused = [seen for seen, _listed in device_lists(case) if "={" in seen.spot.text or _members(seen)]
    if said:
        names = words(local=said[0].groups.get("l", ""), remote=said[0].groups.get("r", ""), node=said[0].spot.node)
        return Hit(spots(said[:1], fused[:2]), names, "certain")
    plain = [seen for seen, listed in device_lists(case) if listed.devices and seen not in fused]
    ends = {seen.spot.node for seen in fused}, {seen.spot.node for seen in plain}
    if all(ends) and not ends[0] & ends[1] and (case.errors or not joined(case)):
        filled = words(node=fused[0].spot.node, local="fused", remote="single")
        return Hit(spots(case.errors[:1], fused[:1], plain[:1]), filled, "likely", ("NCCL's own word on it",))
    by_node: dict[str, set[int]] = defaultdict(set)
    made: dict[str, Seen] = {}
    for seen in case.of("ib.vdev"):
        by_node[seen.spot.node].add(int(seen.groups.get("n", "1")))
        if seen.groups.get("n", "1") != "1" or seen.spot.node not in made:
            made[seen.spot.node] = seen
    largest = {node: max(sizes) for node, sizes in by_node.items()}
    if len(set(largest.values())) > 1 and case.errors:
        return Hit(spots(case.errors[:1], list(made.values())[:2]), words(node=next(iter(made))), "likely")
    return None


def _members(seen: Seen) -> bool:
    return "+" in seen.groups.get("devs", "")


def fused_nic_subdevice_order_differs(case: Case) -> Answer:
    """NCCL names mismatched members, or two nodes fuse the same names in another order."""
    said = case.of("ib.rails")
    if said:
        names = words(local=said[0].groups.get("l", ""), remote=said[0].groups.get("r", ""), node=said[0].spot.node)
        return Hit(spots(said[:2], case.errors[:1]), names, "certain")
    pairs: dict[frozenset[str], dict[str, tuple[tuple[str, ...], Seen]]] = defaultdict(dict)
    for seen in (*case.of("ib.vdev"), *case.of("ib.using")):
        for members in _fused(seen):
            pairs[frozenset(members)].setdefault(seen.spot.node, (members, seen))
    for nodes in pairs.values():
        if len({members for members, _seen in nodes.values()}) > 1:
            (node, (members, seen)), (other, (others, second)), *_rest = nodes.items()
            filled = words(node=node, other=other, local="+".join(members), remote="+".join(others))
            return Hit(spots(case.errors[:1], seen, second), filled, "certain" if case.errors else "likely")
    return _crossing(case, pairs)


def _crossing(case: Case, pairs: dict[frozenset[str], dict[str, tuple[tuple[str, ...], Seen]]]) -> Answer:
    """The k-th members of a fused NIC are in other subnets on two nodes, while the sets of subnets are alike.

    NCCL pairs the members by their place; the names may differ on the peer (virtual functions).
    """
    fused = [(node, order, seen) for nodes in pairs.values() for node, (order, seen) in nodes.items()]
    for node, order, seen in fused:
        mine = _subnets_of(case, node, order)
        for other in {row.node for row in gid_rows(case)} - {node}:
            named = [members for owner, members, _seen in fused if owner == other] or [order]
            for members in named:
                theirs = _subnets_of(case, other, members)
                if None not in mine and None not in theirs and mine != theirs and set(mine) == set(theirs):
                    shown = [row.spot for row in rails_of(case) if row.hca in (*order, *members)][:4]
                    filled = words(node=node, other=other, local="+".join(order), remote="+".join(members))
                    return Hit(spots(case.errors[:1], seen, shown), filled, "certain")
    return _within_one(case, fused)


def _within_one(case: Case, fused: list[tuple[str, tuple[str, ...], Seen]]) -> Answer:
    """The peer of a member of a fused NIC is in the subnet of another member of the same fused NIC."""
    for seen, pair in failed_pairs(case):
        remote = subnet(ipv4_of(pair.remote_gid) or pair.remote_gid)
        for node, order, made in fused:
            if not same(node, seen.spot.node) or pair.device not in order:
                continue
            nets = _subnets_of(case, seen.spot.node, order)
            place = order.index(pair.device)
            if remote and nets[place] not in (None, remote) and remote in nets:
                shown = [row.spot for row in rails_of(case, seen.spot.node) if row.hca in order][:2]
                names = words(node=seen.spot.node, local="+".join(order), remote="another order", other="its peer")
                return Hit(spots(seen, made, shown), names, "likely", ("the members of the fused NIC on the peer",))
    return None


def _subnets_of(case: Case, node: str, order: tuple[str, ...]) -> list[str | None]:
    rows = [row for row in rails_of(case) if row.node == node]
    return [next((subnet(row.address) for row in rows if row.hca == name), None) for name in order]


def _fused(seen: Seen) -> list[tuple[str, ...]]:
    """The members of every fused NIC on a line, in its order: a+b, or {[0] a:1/RoCE, [1] b:1/RoCE}."""
    text = seen.groups.get("name") or seen.groups.get("devs") or ""
    found = [tuple(name.split("+")) for name in re.findall(r"[\w.-]+(?:\+[\w.-]+)+", text)]
    groups = re.findall(r"\{([^{}]{1,400})\}", seen.spot.text)
    found += [tuple(re.findall(r"\] ?([\w.-]+):", group)) for group in groups]
    return [members for members in found if len(members) > 1]


def force_merge_unknown_hca(case: Case) -> Answer:
    """NCCL could not find all that NCCL_NET_FORCE_MERGE names."""
    found = [
        seen for seen in case.of("ib.mergefail") if "Only matched" in seen.spot.text or "force merge" in seen.spot.text
    ]
    if not found:
        return None
    forced = case.of("ib.force")[:1]
    return Hit(spots(found[:1], forced, [seen for seen, _l in device_lists(case)][:1]), words(node=found[0].spot.node))


def unusable_hca_visible(case: Case) -> Answer:
    """The queue pair fails on an HCA that NCCL took by itself, and that is none of the fabric's."""
    chosen = {each.spot.node for each in filters(case)}
    for seen, pair in failed_pairs(case):
        if seen.spot.node in chosen or "" in chosen or (chosen and not seen.spot.node):
            continue
        local, remote = pair.local_gid.removeprefix("::ffff:"), pair.remote_gid.removeprefix("::ffff:")
        port = next((one for one in ports(case, seen.spot.node) if one.hca == pair.device), None)
        others = [
            device.name
            for _line, listed in lists_of(case, seen.spot.node)
            for device in listed.devices
            if device.name != pair.device
        ]
        gone = pair.errno == 19 or (port is not None and port.down) or (pair.errno == 101)
        foreign = (
            bool(others)
            and pair.errno in (110, 113)
            and subnet(local) != subnet(remote)
            and _no_own(case, seen, remote)
        )
        if gone or foreign:
            filled = words(hca=pair.device, node=seen.spot.node, keep=",".join(dict.fromkeys(others)))
            lists = [line for line, _listed in device_lists(case) if same(line.spot.node, seen.spot.node)][:1]
            return Hit(spots(seen, lists, port), filled, "certain" if gone else "likely")
    return _unusable_old(case)


def _unusable_old(case: Case) -> Answer:
    """Releases before 2.24 do not name the HCA: which one it is stays open where several are in the list."""
    gone = [
        seen
        for seen in case.of("err.ibv")
        if seen.groups.get("call") == "ibv_modify_qp" and GONE.search(seen.groups.get("err", ""))
    ]
    if not gone or any(same(each.spot.node, gone[0].spot.node) for each in filters(case)):
        return None
    mine = [(line, listed) for line, listed in device_lists(case) if same(line.spot.node, gone[0].spot.node)]
    good = {row.hca for row in gid_rows(case, gone[0].spot.node) if row.routable}
    names = [device.name for _line, listed in mine for device in listed.devices]
    bad = [name for name in names if good and name not in good]
    filled = words(
        hca=bad[0] if bad else "", node=gone[0].spot.node, keep=",".join(name for name in names if name in good)
    )
    sought = () if bad else ("show_gids in the container: which of these HCAs has a GID there",)
    return Hit(spots(gone[:1], [line for line, _listed in mine][:1]), filled, "certain" if bad else "likely", sought)


def _no_own(case: Case, seen: Seen, remote: str) -> bool:
    """Whether the peer's subnet is not that of another HCA here (then rails cross, which is another cause)."""
    rows = [row for row in gid_rows(case, seen.spot.node) if row.routable]
    return bool(rows) and subnet(remote) not in {subnet(row.ipv4) for row in rows}


RULES: dict[str, Rule] = {
    "hca-sets-differ-between-nodes": hca_sets_differ_between_nodes,
    "ib-hca-names-differ-between-nodes": ib_hca_names_differ_between_nodes,
    "ib-hca-includes-port-cabled-elsewhere": ib_hca_includes_port_cabled_elsewhere,
    "nic-merge-asymmetric": nic_merge_asymmetric,
    "fused-nic-subdevice-order-differs": fused_nic_subdevice_order_differs,
    "mixed-link-layers": mixed_link_layers,
    "force-merge-unknown-hca": force_merge_unknown_hca,
    "unusable-hca-visible": unusable_hca_visible,
}
