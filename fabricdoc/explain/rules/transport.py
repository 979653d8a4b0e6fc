"""Rules of queue pairs that can't be connected and of completions that fail: who does not reach whom, and why."""

from __future__ import annotations

import re

from fabricdoc.explain.case import Case, same
from fabricdoc.explain.hits import Answer, Hit, Near, Rule, spots, words
from fabricdoc.explain.own import machines
from fabricdoc.explain.seen import Seen, Set
from fabricdoc.explain.views import (
    addresses,
    completions,
    failed_pairs,
    gid_rows,
    ipv4_of,
    parsed,
    rails_of,
    subnet,
)

RETRY_EXCEEDED = 12
NO_ANSWER = (110, 113, 101)
LOW_TIMEOUT, LOW_RETRY = 13, 5
"""Values of NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT below these can't ride out a short disturbance: 4.096 us * 2^13 is
34 ms a try; NCCL's own are 14 to 20, and 7."""
UNREACHED = re.compile(r"timed out|No route to host|unreachable", re.I)


def timeouts(case: Case) -> list[Seen]:
    """Completions that ended without an answer (status 12)."""
    return [seen for seen, error in completions(case) if error.status == RETRY_EXCEEDED]


def unconnected(case: Case) -> list[Seen]:
    """Queue pairs whose peer did not answer, in the new form of the line and in the old one."""
    new = [seen for seen, pair in failed_pairs(case) if pair.errno in NO_ANSWER or UNREACHED.search(pair.text)]
    old = [
        seen
        for seen in case.of("err.ibv")
        if seen.groups.get("call") == "ibv_modify_qp" and UNREACHED.search(seen.groups.get("err", ""))
    ]
    return new + old


def pairs_of(case: Case) -> list[tuple[Seen, str, str, str]]:
    """Failing connections by address: the line, the HCA, local and remote address, "" where not told."""
    found = [
        (seen, pair.device, ipv4_of(pair.local_gid) or pair.local_gid, ipv4_of(pair.remote_gid) or pair.remote_gid)
        for seen, pair in failed_pairs(case)
        if pair.errno in NO_ANSWER or UNREACHED.search(pair.text)
    ]
    for seen, error in completions(case):
        if error.status == RETRY_EXCEEDED and error.local_gid and error.remote_gid:
            local, remote = ipv4_of(error.local_gid) or error.local_gid, ipv4_of(error.remote_gid) or error.remote_gid
            found.append((seen, error.hca, local, remote))
    return found


def _number(each: Set) -> int | None:
    text = each.value.strip().strip("\"'")
    return int(text) if text.isdecimal() and len(text) < 6 else None


def ib_timeout_or_retry_too_low(case: Case) -> Answer:
    """Completions end without an answer, and the time or the tries allowed for it were cut down."""
    found = timeouts(case)
    low = [
        each
        for name, bound in (("NCCL_IB_TIMEOUT", LOW_TIMEOUT), ("NCCL_IB_RETRY_CNT", LOW_RETRY))
        for each in case.values(name)
        if (value := _number(each)) is not None and value < bound and _on_a_failing_node(case, each, found)
    ]
    if not found or not low:
        return None
    names = " and ".join(dict.fromkeys(f"{each.name}={each.value.strip()}" for each in low))
    return Hit(spots(found[:1], low), words(settings=names, node=found[0].spot.node), "certain")


def _on_a_failing_node(case: Case, each: Set, found: list[Seen]) -> bool:
    """Whether a setting may be that of a node whose completions ended without an answer."""
    node = each.spot.node
    return node not in machines(case) or any(same(seen.spot.node, node) for seen in found)


def own_addresses(case: Case, node: str) -> set[str]:
    """Every address known to be of a node."""
    own = {row.ipv4 for row in gid_rows(case, node) if row.ipv4 and row.node == node}
    own |= {view.address for view in addresses(case, node) if view.node == node}
    if not own:
        own = {row.ipv4 for row in gid_rows(case, node) if row.ipv4} | {view.address for view in addresses(case, node)}
    return own


def intra_node_nics_cannot_talk(case: Case) -> Answer:
    """Both ends of the failing connection are NICs of one node: by their addresses, or since NCCL counts one node."""
    for seen, hca, local, remote in pairs_of(case):
        own = own_addresses(case, seen.spot.node)
        if local != remote and local in own and remote in own:
            table = [row.spot for row in gid_rows(case, seen.spot.node) if row.ipv4 in (local, remote)]
            table += [view.spot for view in addresses(case, seen.spot.node) if view.address in (local, remote)]
            filled = words(hca=hca, node=seen.spot.node, local=local, remote=remote)
            return Hit(spots(seen, table[:3]), filled, "certain")
    shapes = case.of("comm.shape")
    if shapes and all(seen.groups.get("nodes") == "1" for seen in shapes):
        for seen, hca, local, remote in pairs_of(case):
            if local != remote:
                filled = words(hca=hca, node=seen.spot.node, local=local, remote=remote)
                shown = spots(seen, shapes[:1], case.of("chan.net")[:1])
                return Hit(shown, filled, "likely", ("this node's addresses",))
    return _within_host(case)


def _within_host(case: Case) -> Answer:
    """No address is told, and both ends of every network channel speak from one host: no other node takes part."""
    silent = [seen for seen, one in completions(case) if one.status == RETRY_EXCEEDED and not one.remote_gid]
    failed = [seen for seen in (*unconnected_lines(case), *silent) if seen.host]
    channels = case.of("chan.net", "chan.net.old")
    hosts = {seen.host for seen in (*channels, *failed)}
    own = {seen.groups["src" if seen.groups["dir"] == "send" else "dst"] for seen in channels}
    if not failed or len(hosts) != 1 or pairs_of(case) or len(own) < 2:
        return None
    if any(seen.groups[end] not in own for seen in channels for end in ("src", "dst")):
        return None
    views = addresses(case, failed[0].spot.node)
    filled = words(node=failed[0].spot.node, hca="", local="one NIC", remote="another")
    shown = spots(failed[:1], channels[:2], [view.spot for view in views][:3])
    return Hit(shown, filled, "likely", ("the addresses of the connection, which this release does not name",))


def unconnected_lines(case: Case) -> list[Seen]:
    """Queue pairs whose peer did not answer, as releases before 2.24 tell it: without addresses."""
    old = [seen for seen in case.of("err.ibv") if seen.groups.get("call") == "ibv_modify_qp"]
    return [seen for seen in old if UNREACHED.search(seen.groups.get("err", ""))]


def cross_rail_unreachable(case: Case) -> Answer:
    """Local and remote address are in different subnets, and the remote one is that of another HCA here."""
    near: Answer = None
    for seen, hca, local, remote in pairs_of(case):
        prefix = next((view.prefix for view in addresses(case) if view.address == local), None)
        if not parsed(local) or not parsed(remote) or subnet(local, prefix) == subnet(remote, prefix):
            continue
        if (":" in local and ":" not in remote) or (":" in remote and ":" not in local):
            continue
        if parsed(local).is_link_local or parsed(remote).is_link_local:  # type: ignore[union-attr]
            continue
        rails = rails_of(case, seen.spot.node)
        other = [row for row in rails if subnet(row.address, prefix) == subnet(remote, prefix) and row.hca != hca]
        named = [view for view in addresses(case, seen.spot.node) if view.network == subnet(remote, view.prefix)]
        filled = words(hca=hca, node=seen.spot.node, local=local, remote=remote)
        filled |= words(other=other[0].hca if other else named[0].netdev if named else "")
        crossing = case.values("NCCL_CROSS_NIC")[:1]
        if other or named:
            mine = [row.spot for row in rails if parsed(row.address) == parsed(local)]
            return Hit(spots(seen, mine[:1], other[:1], named[:1], crossing), filled, "certain")
        if near is None and rails:
            near = Near(
                spots(seen), "the peer's subnet is that of no HCA of this node", ("a rail in the peer's subnet",)
            )
        elif near is None and any(each.value.strip() in ("1", "2") for each in crossing):
            sought = ("a GID table or addresses of this node with an HCA in the peer's subnet",)
            near = Hit(spots(seen, crossing), filled, "likely", sought)
    return near or _crossing_by_settings(case)


def _crossing_by_settings(case: Case) -> Answer:
    """Releases before 2.24 name no address: each HCA is in a subnet of its own, and a setting lets rings cross them."""
    failed = unconnected_lines(case)
    crossing = [each for each in case.values("NCCL_CROSS_NIC") if each.value.strip() in ("1", "2")]
    crossing += [each for each in case.values("NCCL_PXN_DISABLE") if each.value.strip() == "1"]
    if not failed or not crossing or pairs_of(case):
        return None
    rails = [row for row in gid_rows(case, failed[0].spot.node) or gid_rows(case) if row.routable]
    owners = {subnet(row.ipv4): row.hca for row in rails}
    if len(owners) < 2 or len({row.hca for row in rails}) > len(owners):
        return None
    filled = words(node=failed[0].spot.node)
    sought = ("the addresses of the connection, which this release does not name",)
    return Hit(spots(failed[:1], crossing[:2], [row.spot for row in rails][:2]), filled, "likely", sought)


def rdma_path_timeout(case: Case) -> Answer:
    """Nothing more is known than that no answer came."""
    found = unconnected(case) or timeouts(case)
    if not found:
        return None
    first = found[0]
    ends = next(((local, remote, hca) for seen, hca, local, remote in pairs_of(case) if seen is first), ("", "", ""))
    filled = words(local=ends[0], remote=ends[1], hca=ends[2], node=first.spot.node)
    sought = ["a port event", "unequal MTU", "a short time-out"]
    told = pairs_of(case)
    if told and all(_proper(local) and _proper(remote) for _seen, _hca, local, remote in told):
        sought.insert(1, "a GID that is wrong")
    if told and all(subnet(local) == subnet(remote) for _seen, _hca, local, remote in told):
        sought.insert(-1, "another subnet")
    return Hit(spots(found[:2]), filled, "likely", tuple(sought))


def _proper(text: str) -> bool:
    """Whether an end's address is one that reaches beyond the cable."""
    plain = parsed(text)
    return plain is not None and not plain.is_link_local and not plain.is_unspecified


def hca_health(case: Case) -> Answer:
    """The HCA reported a fatal event of its own."""
    found = [
        seen
        for seen in case.of("err.async")
        if re.search(r"fatal event|catastrophic", seen.spot.text) and "non-fatal" not in seen.spot.text
    ]
    kernel = case.sign("mlx5-health")
    if not found and not (kernel and case.errors):
        return None
    first = found[0] if found else kernel[0]
    hca = found[0].groups.get("dev", "") if found else ""
    return Hit(spots(found[:2], kernel[:2]), words(hca=hca, node=first.spot.node), "certain")


def receiver_not_ready(case: Case) -> Answer:
    """Status 13: the peer posted no receive in time."""
    found = [seen for seen, error in completions(case) if error.status == 13]
    return Hit(spots(found[:2]), words(node=found[0].spot.node), "likely") if found else None


def gid_table_changed(case: Case) -> Answer:
    """An HCA told that its table changed, and nothing else failed first."""
    found = [seen for seen in case.of("err.async") if "GID table changed" in seen.spot.text]
    return Hit(spots(found[:2]), words(hca=found[0].groups.get("dev", ""), node=found[0].spot.node)) if found else None


RULES: dict[str, Rule] = {
    "hca-health": hca_health,
    "ib-timeout-or-retry-too-low": ib_timeout_or_retry_too_low,
    "intra-node-nics-cannot-talk": intra_node_nics_cannot_talk,
    "cross-rail-unreachable": cross_rail_unreachable,
    "receiver-not-ready": receiver_not_ready,
    "gid-table-changed": gid_table_changed,
    "rdma-path-timeout": rdma_path_timeout,
}
