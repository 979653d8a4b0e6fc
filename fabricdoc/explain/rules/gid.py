"""Rules of GIDs: the pinned index against the tables of the nodes, and what NCCL chooses by itself."""

from __future__ import annotations

from collections import defaultdict

from fabricdoc.explain.case import Case
from fabricdoc.explain.hits import Answer, Hit, Near, Rule, listing, spots, words
from fabricdoc.explain.own import in_force
from fabricdoc.explain.rules.selection import both_kinds, fits
from fabricdoc.explain.rules.transport import timeouts, unconnected
from fabricdoc.explain.seen import Seen, Set, Spot
from fabricdoc.explain.views import (
    GidRow,
    completions,
    failed_pairs,
    gid_rows,
    ipv4_of,
    is_link_local,
    parsed,
    subnet,
)
from fabricdoc.nccl import QueuePairFailure

INVALID, NO_DEVICE = 22, 19
ELSEWHERE = (NO_DEVICE, 101)
"""No such device, network unreachable: the HCA itself can't be used from here, whatever its GID."""
AUTOMATIC = (2, 21)
"""The first release that chooses the slot by itself (2.21.5); those before take slot 0."""
PEER, PEERS_HCA = "the peer", "the HCA at the other end"
"""How an end is called whose log is not there."""
EMPTY = ("::", "0", "0:0:0:0:0:0:0:0", "0000:0000:0000:0000:0000:0000:0000:0000")
NO_DEVICE = 19
"""ENODEV of the verbs calls: the HCA is not there, whatever its GID."""
"""A slot of the table that holds no GID."""
Tables = dict[tuple[str, str], list[GidRow]]


def pinned(case: Case) -> Set | None:
    """NCCL_IB_GID_INDEX where it is 0 or more: as NCCL read it, else as a file sets it."""
    return case.once("pinned", lambda: _pinned(case))


def _pinned(case: Case) -> Set | None:
    found = [each for each in case.values("NCCL_IB_GID_INDEX") if index_of(each) is not None]
    said = [each for each in found if each.by == "log"]
    return said[0] if said else found[-1] if found else None


def pin_of(case: Case, node: str) -> tuple[Set, int] | None:
    """The pin in force on a node: its own; another node's where its own settings are not told at all."""
    return case.once(("pin", node), lambda: _pin_of(case, node))


def _pin_of(case: Case, node: str) -> tuple[Set, int] | None:
    each = in_force(case, "NCCL_IB_GID_INDEX", node)
    if each is None:
        files = case.once("nodes with files", lambda: {one.spot.node for one in case.sets if one.by == "file"})
        each = None if node in files else pinned(case)
    index = index_of(each) if each else None
    return (each, index) if each and index is not None else None


def index_of(each: Set) -> int | None:
    """The index as NCCL's number parser reads it, None where that is automatic choice."""
    text = each.value.strip().strip("\"'")
    return int(text) if text.isdecimal() and len(text) < 5 else None


def tables(case: Case) -> Tables:
    """The GID tables of the HCAs that NCCL may use: those of the list, where there is one."""
    return case.once("tables", lambda: _tables(case))


def _tables(case: Case) -> Tables:
    found: Tables = defaultdict(list)
    for row in gid_rows(case):
        found[row.node, row.hca].append(row)
    taken: dict[str, str] = {}
    for node in {node for node, _hca in found}:
        each = in_force(case, "NCCL_IB_HCA", node)
        taken[node] = each.value.strip("\"'") if each else ""
    return {key: rows for key, rows in found.items() if not taken[key[0]] or fits(taken[key[0]], key[1], rows[0].port)}


def right(rows: list[GidRow], wanted: frozenset[str] = frozenset()) -> list[GidRow]:
    """The slots that RoCE v2 over IPv4 wants; of several those in subnets that the peers have."""
    good = [row for row in rows if row.routable]
    shared = [row for row in good if subnet(row.ipv4) in wanted]
    return shared or good


def at(rows: list[GidRow], index: int) -> GidRow | None:
    """The slot of an index."""
    return next((row for row in rows if row.index == index), None)


def _filled(case: Case, each: Set, row: GidRow | None, good: list[GidRow]) -> dict[str, str]:
    node = (row or (good[0] if good else None)) and (row or good[0]).node
    hca = row.hca if row else good[0].hca if good else ""
    return words(
        index=each.value,
        hca=hca,
        device=hca,
        node=node or each.spot.node,
        right=good[0].index if good else "",
        address=good[0].ipv4 if good else "",
        gid=row.gid if row else "",
    )


def wrong_gid_index(case: Case) -> Answer:
    """The slot of the pinned index is RoCE v1, or there is none, on every table that is told."""
    each = pinned(case)
    index = index_of(each) if each else None
    if each is None or index is None:
        return _old_default(case) or _empty_unpinned(case)
    for (node, _hca), rows in tables(case).items():
        pin = pin_of(case, node)
        row, good = at(rows, pin[1]) if pin else None, right(rows)
        empty = row is None or row.version == 1 or (row.version == 2 and not row.ipv4 and not row.link_local)
        if pin and good and empty:
            failing = [seen for seen, _pair in failed_pairs(case)][:1]
            shown = spots(pin[0], row.spot if row else (), good[0].spot, failing)
            return Hit(shown, _filled(case, pin[0], row, good), "certain")
    return _wrong_by_log(case, each, index)


def _old_default(case: Case) -> Answer:
    """Nothing is pinned, and every release that is named takes slot 0 as it is: RoCE v1, which no router passes on."""
    named = case.of("version", "version.engine")
    releases = {tuple(int(part) for part in seen.groups["ver"].split(".")[:2]) for seen in named}
    failing = (timeouts(case) or unconnected(case))[:1]
    if not failing or not releases or max(releases) >= AUTOMATIC or pinned(case) or case.values("NCCL_IB_GID_INDEX"):
        return None
    for rows in tables(case).values():
        first, good = at(rows, 0), right(rows)
        if good and first is not None and first.version == 1:
            filled = words(index="0", hca=first.hca, node=first.node, right=good[0].index, gid=first.gid)
            sought = ("NCCL_IB_GID_INDEX, which is 0 in this release where it is not set",)
            return Hit(spots(failing, first, good[0], named[:1]), filled, "likely", sought)
    return None


def _empty_unpinned(case: Case) -> Answer:
    """An end has an empty GID and no pin is told: NCCL chooses none such by itself, so one is set there."""
    sought = ("NCCL_IB_GID_INDEX in a log or a file of that node", "its GID table")
    for seen, hca in _empty_here(case):
        return Hit(spots(seen), words(hca=hca, node=seen.spot.node), "likely", sought)
    far = _empty_at_the_peer(case)
    return Hit(spots(far[:2]), words(hca=PEERS_HCA, node=PEER), "likely", sought) if far else None


def _wrong_by_log(case: Case, each: Set, index: int) -> Answer:
    """No table is told: the errors say what the slot held."""
    empty = [seen for seen, pair in failed_pairs(case) if pair.gid_index == index and pair.local_gid in EMPTY]
    queries = [seen for seen in case.of("err.ibv") if seen.groups.get("call") == "ibv_query_gid"]
    refused = [seen for seen, pair in failed_pairs(case) if pair.gid_index == index and pair.errno == 22]
    if empty or queries:
        return Hit(
            spots((empty or queries)[:1], each, (empty or queries)[1:3]), _filled(case, each, None, []), "certain"
        )
    for seen, hca in _empty_here(case) if not gid_rows(case) else ():
        filled = words(index=each.value, hca=hca, node=seen.spot.node)
        return Hit(spots(seen, each), filled, "likely", ("the GID table of this node",))
    if far := _empty_at_the_peer(case):
        filled = words(index=each.value, hca=PEERS_HCA, node=PEER)
        return Hit(spots(far[:2], each), filled, "likely", ("the GID table of the peer",))
    if refused and not gid_rows(case):
        return Hit(spots(refused[:2], each), _filled(case, each, None, []), "likely", ("the GID table of this node",))
    if not tables(case) and case.errors and index == 0:
        v1 = [seen for seen, _error in completions(case)][:1]
        return Hit(spots(each, v1), _filled(case, each, None, []), "possible", ("the GID table",)) if v1 else None
    return None


def _empty_here(case: Case) -> list[tuple[Seen, str]]:
    """Connections whose own end has an empty GID, with the HCA; not of an HCA that is gone. No index is looked at."""
    failed = [(seen, pair.device, pair.local_gid) for seen, pair in failed_pairs(case) if pair.errno != NO_DEVICE]
    failed += [(seen, one.hca, one.local_gid) for seen, one in completions(case) if one.status == 12]
    return [(seen, hca) for seen, hca, local in failed if local in EMPTY]


def _empty_at_the_peer(case: Case) -> list[Seen]:
    """Connections whose other end sent an empty GID, while this one has its own."""
    failed = [(seen, pair.local_gid, pair.remote_gid) for seen, pair in failed_pairs(case)]
    failed += [(seen, one.local_gid, one.remote_gid) for seen, one in completions(case) if one.status == 12]
    return [seen for seen, local, remote in failed if remote in EMPTY and local and local not in EMPTY]


def gid_index_link_local(case: Case) -> Answer:
    """The pinned slot is link-local (fe80, RoCE v2), or the failing queue pair's own GID is, with a pin."""
    each = pinned(case)
    index = index_of(each) if each else None
    if each is None or index is None:
        return None
    for (node, _hca), rows in tables(case).items():
        pin = pin_of(case, node)
        row, good = at(rows, pin[1]) if pin else None, right(rows)
        if pin and row and row.version == 2 and not row.ipv4 and row.link_local and good:
            failing = case.of("err.modify_qp", "err.ibv")[:1]
            return Hit(spots(pin[0], row.spot, good[0].spot, failing), _filled(case, pin[0], row, good), "certain")
    return _link_local_by_log(case, each, index)


def _link_local_by_log(case: Case, each: Set, index: int) -> Answer:
    """The same at either end of a failing connection, whosever log tells it; the peer's index is taken to be the pin's.

    fe80 at this end proves it; 169.254.x, or the peer's end, makes it likely, where the other end is another kind.
    """
    pairs = [(seen, pair) for seen, pair in failed_pairs(case) if pair.gid_index == index]
    for seen, pair in pairs:
        if pair.local_gid.lower().startswith("fe80"):
            filled = words(index=each.value, hca=pair.device, node=seen.spot.node, gid=pair.local_gid)
            return Hit(spots(seen, each), filled, "certain")
    ends = [(seen, pair.device, pair.local_gid, pair.remote_gid) for seen, pair in pairs]
    ends += [(seen, one.hca, one.local_gid, one.remote_gid) for seen, one in completions(case) if one.status == 12]
    for seen, hca, local, remote in ends:
        if is_link_local(local) and (local.lower().startswith("fe80") or (remote and not is_link_local(remote))):
            filled = words(index=each.value, hca=hca, node=seen.spot.node, gid=local)
            return Hit(spots(seen, each), filled, "likely", ("the GID table of this node",))
        if is_link_local(remote) and local and not is_link_local(local):
            filled = words(index=each.value, hca=PEERS_HCA, node=PEER, gid=remote)
            return Hit(spots(seen, each), filled, "likely", ("the GID table of the peer",))
    return None


def gid_index_drifted(case: Case) -> Answer:
    """The pinned index is right on one HCA of a node, and on another one its GID stands elsewhere, or stood there."""
    each = pinned(case)
    index = index_of(each) if each else None
    if each is None or index is None:
        return None
    for before, after in moved_slots(case):
        if before.index == index or after.index == index:
            old, new = (before, after) if before.index == index else (after, before)
            failing = _failing_on(case, old.hca, index)[:1]
            return Hit(spots(failing, each, new.spot, old.spot), _filled(case, each, None, [new]), "certain")
    by_node: dict[str, list[list[GidRow]]] = defaultdict(list)
    for (node, _hca), rows in tables(case).items():
        by_node[node].append(rows)
    for node, listed in by_node.items():
        pin = pin_of(case, node)
        if pin is None:
            continue
        each, index = pin
        fitting = [rows for rows in listed if (row := at(rows, index)) and row.routable]
        moved = [rows for rows in listed if right(rows) and not ((row := at(rows, index)) and row.version == 2)]
        if moved and (fitting or (_failing_on(case, moved[0][0].hca, index) and at(moved[0], index) is None)):
            good = right(moved[0])
            failing = _failing_on(case, moved[0][0].hca, index)
            kept = [row for rows in fitting[:1] if (row := at(rows, index))]
            shown = spots(failing[:1], each, good[0], kept)
            return Hit(shown, _filled(case, each, at(moved[0], index), good), "certain")
    return None


def moved_slots(case: Case) -> list[tuple[GidRow, GidRow]]:
    """The same GID of one HCA at another index in another dump: a host at two times, since no two share a GID."""
    known: dict[tuple[str, str], GidRow] = {}
    found = []
    for row in gid_rows(case):
        if row.routable:
            first = known.setdefault((row.hca, row.ipv4), row)
            if first.index != row.index and first.spot.file != row.spot.file:
                found.append((first, row))
    return found


def _failing_on(case: Case, hca: str, index: int) -> list[Seen]:
    return [seen for seen, pair in failed_pairs(case) if pair.device == hca and pair.gid_index == index]


def gid_index_differs_between_nodes(case: Case) -> Answer:
    """The index that is right on one node is another one on the next, for HCAs that face one another."""
    each = pinned(case)
    index = index_of(each) if each else None
    found = tables(case)
    nodes = list(dict.fromkeys(node for node, _hca in found))
    if each is None or index is None or len(nodes) < 2 or moved_slots(case):
        return None
    if {pin[1] if (pin := pin_of(case, node)) else None for node in nodes} != {index}:
        return None  # each has a number of its own, which other rules hold against its own table
    wanted = _shared_subnets(found)
    good = {key: right(rows, wanted) for key, rows in found.items() if right(rows, wanted)}
    fits_here = {key: rows for key, rows in good.items() if any(row.index == index for row in rows)}
    fails = {key: rows for key, rows in good.items() if key not in fits_here}
    if not fails or {node for node, _hca in good} == {node for node, _hca in fails}:
        return _no_common(each, good, index) if fails else None
    bad_key = next(iter(fails))
    if all(node == bad_key[0] for node, _hca in fits_here):
        return None  # one node alone: its HCAs differ, which is another cause
    row = at(found[bad_key], index)
    other = next(rows for key, rows in fits_here.items() if key[0] != bad_key[0])
    filled = words(
        index=each.value,
        node=bad_key[0],
        hca=bad_key[1],
        right=fails[bad_key][0].index,
        other=other[0].node,
        other_right=index,
        network=subnet(fails[bad_key][0].ipv4),
    )
    return Hit(spots(each, row.spot if row else (), fails[bad_key][0].spot, other[0].spot), filled, "certain")


def _no_common(each: Set, good: Tables, index: int) -> Answer:
    """The pin is right nowhere: only where no index would be right on all does it differ."""
    sets = [{row.index for row in rows} for rows in good.values()]
    if len(good) < 2 or set.intersection(*sets):
        return None
    firsts = [rows[0] for rows in good.values()]
    filled = words(
        index=each.value,
        node=firsts[0].node,
        hca=firsts[0].hca,
        right=firsts[0].index,
        other=firsts[1].node,
        other_right=firsts[1].index,
        network=subnet(firsts[0].ipv4),
    )
    return Hit(spots(each, [row.spot for row in firsts]), filled, "certain")


def _shared_subnets(found: Tables) -> frozenset[str]:
    """Subnets that the tables of two nodes have in common."""
    owners: dict[str, set[str]] = defaultdict(set)
    for (node, _hca), rows in found.items():
        for row in rows:
            if row.routable:
                owners[subnet(row.ipv4)].add(node)
    return frozenset(network for network, nodes in owners.items() if len(nodes) > 1)


def gid_auto_selected_link_local(case: Case) -> Answer:
    """No pin, and the connection that fails was made from a link-local GID; or a table has nothing better."""
    if pinned(case) is not None:
        return None
    for seen, pair in failed_pairs(case):
        if pair.local_gid.lower().startswith("fe80") and (pair.errno not in ELSEWHERE or _bare(case, seen, pair)):
            return _automatic(case, seen, pair.device, pair.local_gid)
        if _zeroconf(pair.local_gid, pair.remote_gid):
            return _automatic(case, seen, pair.device, ipv4_of(pair.local_gid))
    for seen, pair in failed_pairs(case):
        if _zeroconf(pair.remote_gid, pair.local_gid):
            return _automatic_at_the_peer(case, seen, pair.device, ipv4_of(pair.remote_gid))
        known = pair.local_gid and pair.local_gid not in EMPTY
        if pair.remote_gid.lower().startswith("fe80") and known and pair.errno not in ELSEWHERE:
            return _automatic_at_the_peer(case, seen, pair.device, pair.remote_gid)
    for seen, error in completions(case):
        if error.status == 12 and error.local_gid.lower().startswith("fe80"):
            return _automatic(case, seen, error.hca, error.local_gid)
        if error.status == 12 and _zeroconf(error.local_gid, error.remote_gid):
            return _automatic(case, seen, error.hca, ipv4_of(error.local_gid))
        if error.status == 12 and _zeroconf(error.remote_gid, error.local_gid):
            return _automatic_at_the_peer(case, seen, error.hca, ipv4_of(error.remote_gid))
        if error.status == 12 and error.local_gid and error.remote_gid.lower().startswith("fe80"):
            return _automatic_at_the_peer(case, seen, error.hca, error.remote_gid)
    bare = [rows for rows in tables(case).values() if not any(row.ipv4 and not row.link_local for row in rows)]
    if any(pair.local_gid and not is_link_local(pair.local_gid) for _seen, pair in failed_pairs(case)):
        return None
    if bare and (unconnected(case) or timeouts(case)):
        row = bare[0][0]
        filled = words(hca=row.hca, device=row.hca, node=row.node, gid=row.gid)
        return Hit(
            spots((unconnected(case) or timeouts(case))[:1], row),
            filled,
            "likely",
            ("the GID that the failing queue pair used",),
        )
    return None


def _bare(case: Case, seen: Seen, pair: QueuePairFailure) -> bool:
    """Whether the HCA was asked for, or its table holds no address that goes beyond the cable."""
    mine = gid_rows(case, seen.spot.node, pair.device)
    asked = case.values("NCCL_IB_HCA")
    return pair.errno != NO_DEVICE and bool(mine or asked) and not any(row.routable for row in mine)


def _automatic(case: Case, seen: Seen, hca: str, gid: str) -> Answer:
    if mixed := both_kinds(case):
        why = "NCCL's list holds InfiniBand ports too: these have no IPv4 GID by their nature"
        return Near(spots(seen, mixed), why, ("a list of Ethernet ports alone",))
    rows = [row for row in gid_rows(case, seen.spot.node, hca) if row.routable]
    if rows:
        why = "the table of this HCA has an IPv4 RoCE v2 GID that NCCL would have taken"
        return Near(spots(seen, rows[0].spot), why, ("a table without such a GID",))
    table = [row.spot for row in gid_rows(case, seen.spot.node, hca)][:2]
    return Hit(
        spots(seen, table), words(hca=hca, device=hca, node=seen.spot.node, gid=gid), "certain" if table else "likely"
    )


def _zeroconf(gid: str, other: str) -> bool:
    """Whether a GID maps 169.254.x, and the one at the other end is of no such kind."""
    return bool(ipv4_of(gid)) and is_link_local(gid) and bool(other) and not is_link_local(other)


def _automatic_at_the_peer(case: Case, seen: Seen, hca: str, gid: str) -> Answer:
    """The same seen from the other side: the peer sent a link-local GID."""
    if mixed := both_kinds(case):
        why = "NCCL's list holds InfiniBand ports too: these have no IPv4 GID by their nature"
        return Near(spots(seen, mixed), why, ("a list of Ethernet ports alone",))
    others = [row for row in gid_rows(case) if row.node != seen.spot.node]
    owner = next(((row.node, row.hca) for row in others if parsed(row.address) == parsed(gid)), None)
    better = [row for row in others if owner == (row.node, row.hca) and row.routable]
    if better:
        why = "the table of the peer's HCA has an IPv4 RoCE v2 GID that NCCL would have taken"
        return Near(spots(seen, better[0].spot), why, ("a table without such a GID",))
    filled = words(hca=owner[1] if owner else PEERS_HCA, node=owner[0] if owner else PEER, gid=gid)
    return Hit(spots(seen), filled, "likely", ("show_gids of the peer",))


def gid_choice_zeroconf(case: Case) -> Answer:
    """No pin, and a connection that fails has 169.254.x at one end: NCCL counts that as a proper address."""
    if pinned(case) is not None:
        return None
    for seen, pair in failed_pairs(case):
        for end, gid in (("this end", pair.local_gid), ("the peer", pair.remote_gid)):
            if ipv4_of(gid) and is_link_local(gid):
                rows = [row for row in gid_rows(case, seen.spot.node, pair.device) if row.routable]
                filled = words(hca=pair.device, node=seen.spot.node, gid=ipv4_of(gid), end=end)
                filled |= words(network=subnet(rows[0].ipv4) if rows else "")
                return Hit(spots(seen, rows[:1]), filled, "certain" if rows else "likely")
    return None


def gid_scan_einval_container(case: Case) -> Answer:
    """NCCL, or a plugin made of its code, stops over a slot of the table that it may not read."""
    found = case.of("ib.gidread") or case.warned(r"failed in ncclIbRoceGetVersionNum")
    if not found:
        return None
    visible = gid_rows(case, found[0].spot.node)
    good = [row for row in visible if row.routable]
    shown: list[Spot] = [row.spot for row in good[:1]]
    filled = words(
        hca=listing(row.hca for row in visible), right=good[0].index if good else "", node=found[0].spot.node
    )
    return Hit(spots(found[:1], shown), filled, "certain")


def gid_missing_at_one_end(case: Case) -> Answer:
    """One GID is IPv4 and the other link-local (error 22, or no answer): one end has no address."""
    for seen, pair in failed_pairs(case):
        ends = pair.local_gid.lower(), pair.remote_gid.lower()
        bare = [gid.startswith("fe80") for gid in ends]
        if pinned(case) is None and pair.errno not in ELSEWHERE and bare[0] != bare[1] and not set(ends) & set(EMPTY):
            where = "this end" if bare[0] else "the peer"
            return Hit(spots(seen), words(hca=pair.device, node=seen.spot.node, end=where), "likely")
    return None


RULES: dict[str, Rule] = {
    "gid-scan-einval-container": gid_scan_einval_container,
    "gid-index-differs-between-nodes": gid_index_differs_between_nodes,
    "gid-index-drifted": gid_index_drifted,
    "gid-index-link-local": gid_index_link_local,
    "wrong-gid-index": wrong_gid_index,
    "gid-missing-at-one-end": gid_missing_at_one_end,
    "gid-choice-zeroconf": gid_choice_zeroconf,
    "gid-auto-selected-link-local": gid_auto_selected_link_local,
}
