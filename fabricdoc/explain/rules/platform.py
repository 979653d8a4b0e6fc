"""Rules of platforms: the two functions of a GB10 port, LL128 where it is unsafe, NVLink SHARP."""

from __future__ import annotations

import re
from collections import defaultdict

from fabricdoc.explain.case import Case
from fabricdoc.explain.hits import Answer, Hit, Near, Rule, spots, words
from fabricdoc.explain.own import of_node
from fabricdoc.explain.rules.memory import is_gb10
from fabricdoc.explain.rules.selection import filters, fits
from fabricdoc.explain.seen import Row, Seen, Set, Sign
from fabricdoc.explain.views import PortView, ports

SLOW, BIG = 15.0, 32 << 20
"""Bus bandwidth in GB/s that one cable of a GB10 exceeds on large messages when both functions carry it (about 22)."""
TWIN = re.compile(r"roce(?P<domain>P\d+)?p(?P<bus>\d+)s(?P<slot>\d+)f(?P<function>\d)$")
NOT_READY = re.compile(
    r"(?i)\b401\b|present state|\b802\b|not yet initialized|initialization error|not ready|ILLEGAL_STATE"
)
"""Answers of the driver where the NVLink fabric is in no state for multicast."""
REFUSED = re.compile(
    r"(?i)\b800\b|not permitted|permission|\b1\b 'invalid arg|invalid argument|\b101\b|invalid device ordinal"
    r"|\b304\b|\b801\b|not supported|OS call|IMEX"
)
"""Answers where this process may not make or bind a multicast object."""
DENIED = re.compile(r"(?i)\b800\b|not permitted|permission")
"""Those that speak of rights alone."""


def twin_pairs(views: list[PortView]) -> list[tuple[PortView, PortView]]:
    """Active ports of one node that are the two functions of one cage of a GB10, by their names."""
    cages: dict[tuple[str, str], dict[bool, PortView]] = defaultdict(dict)
    for view in views:
        match = TWIN.match(view.hca)
        if match and view.active:
            cages[view.node, match["function"]].setdefault(bool(match["domain"]), view)
    return [(cage[False], cage[True]) for cage in cages.values() if len(cage) > 1]


def slow_rows(case: Case) -> list[Row]:
    """Large messages that are slower than a whole cable of a GB10."""
    return [row for row in case.rows if row.size >= BIG and row.busbw and max(row.busbw) < SLOW]


def gb10_one_function_of_port_used(case: Case) -> Answer:
    """NCCL_IB_HCA takes one of the two functions of a cage that is up, or NCCL's list shows one of them."""
    for one, other in twin_pairs(ports(case)):
        for each in of_node(filters(case), one.node):
            taken = [fits(each.value.strip("\"'"), port.hca, port.number) for port in (one, other)]
            if any(taken) and not all(taken):
                return _one_used(case, each, one, other, taken)
    return _one_listed(case)


def _one_used(case: Case, each: Set, one: PortView, other: PortView, taken: list[bool]) -> Hit:
    used, left = (one, other) if taken[0] else (other, one)
    filled = words(hca=used.hca, other=left.hca, node=used.node, both=f"={one.hca},{other.hca}", value=each.value)
    return Hit(
        spots(each, left.spot, used.spot, slow_rows(case)[:1]), filled, "certain" if slow_rows(case) else "likely"
    )


def _one_listed(case: Case) -> Answer:
    """Without a dump of links: NCCL uses one function by name on a GB10, and large messages are slow."""
    slow = slow_rows(case)
    if not slow or not is_gb10(case):
        return None
    for each in filters(case):
        names = [entry.partition(":")[0] for entry in each.value.strip("\"'^=").split(",")]
        matches = [match for name in names if (match := TWIN.match(name))]
        if matches and len(matches) == len(names) and len({bool(match["domain"]) for match in matches}) == 1:
            first = matches[0]
            twin = f"roceP2p{first['bus']}s{first['slot']}f{first['function']}"
            filled = words(hca=names[0], other=twin, both=f"={names[0]},{twin}", value=each.value, node=each.spot.node)
            return Hit(spots(each, slow[:1]), filled, "likely", ("rdma link of both nodes",))
    return None


def rdma_path_not_pinned(case: Case) -> Answer:
    """On a GB10 no list of HCAs is given, two functions are up, and large messages are slow."""
    slow = slow_rows(case)
    pairs = twin_pairs(ports(case))
    spark = is_gb10(case) or bool(pairs)
    if not slow or not spark:
        return None
    if filters(case):
        return Near(spots(filters(case)[:1], slow[:1]), "NCCL_IB_HCA is set", ("a setting without NCCL_IB_HCA",))
    both = f"{pairs[0][0].hca},{pairs[0][1].hca}" if pairs else ""
    nic = case.values("NCCL_SOCKET_IFNAME")[:1]
    small = [fact for fact in case.told("netdev") if fact.path[2:] == ("mtu",) and fact.value == 1500]
    mine = [
        fact for fact in small if not pairs or str(fact.path[1]) in {port.netdev for pair in pairs for port in pair}
    ]
    up = [port for pair in pairs[:1] for port in pair]
    sought = ("NCCL_IB_HCA in a setting or in NCCL's log",)
    filled = words(both=both, netdev=up[0].netdev if up else "", node=slow[0].spot.node, busbw=max(slow[0].busbw))
    return Hit(
        spots(slow[:1], nic, [port.spot for port in up], mine[:1]), filled, "certain" if pairs else "likely", sought
    )


def wrong_rows(case: Case) -> list[Row | Seen]:
    """Results with wrong values, in rows or in the last line."""
    found: list[Row | Seen] = [row for row in case.rows if row.wrong]
    return found


def forces_ll128(value: str) -> bool:
    """Whether a value of NCCL_PROTO turns LL128 on: by name, or by a list of exclusions that leaves it out."""
    for part in value.strip("\"'").lower().split(";"):
        listed = part.rpartition(":")[2].strip()
        names = {name.strip() for name in listed.lstrip("^").split(",")}
        if names != {""} and ("ll128" in names) != listed.startswith("^"):
            return True
    return False


def ll128_forced_line(case: Case) -> Set | None:
    """NCCL_PROTO where it turns LL128 on, by name or by leaving it out of a list of exclusions."""
    return next((each for each in case.values("NCCL_PROTO") if forces_ll128(each.value)), None)


def ll128_forced_on_unsupported_path(case: Case) -> Answer:
    """LL128 is forced and values are wrong, on GPUs that nothing shows to be joined to the NIC by C2C."""
    each, wrong = ll128_forced_line(case), wrong_rows(case)
    failed = case.sign("tests-failed")
    if each is None or not (wrong or failed) or case.sign("gpu-c2c"):
        return None
    return Hit(spots(wrong[:2], failed[:1], each), words(value=each.value, node=each.spot.node), "certain")


def ll128_unsafe_on_path(case: Case) -> Answer:
    """Values are wrong where NIC writes reach the GPU over C2C, and LL128 is not ruled out by the settings."""
    wrong, failed, c2c = wrong_rows(case), case.sign("tests-failed"), case.sign("gpu-c2c")
    if not (wrong or failed) or not c2c:
        return None
    proto = case.values("NCCL_PROTO")
    plain = [each for each in proto if "128" not in each.value and "^" not in each.value]
    off = [each for each in case.values("NCCL_LL128_C2C") if each.value == "0"]
    if plain or off:
        return Near(spots(wrong[:1], plain or off), "LL128 is not used under these settings", ("LL128 in use",))
    return Hit(
        spots(wrong[:2], failed[:1], proto[:1], c2c[:1]), words(node=c2c[0].spot.node), "certain" if proto else "likely"
    )


def _multicast_errors(case: Case) -> list[Seen]:
    """Errors of NVLink SHARP: from nvls.cc, or lines that name multicast."""
    from_file = case.placed(r"nvls|mnnvl|multicast")
    named = case.of("nvls.fail") + [seen for seen in case.warned(r"(?i)multicast|NVLS") if seen not in from_file]
    unique = {(seen.spot.file, seen.spot.line): seen for seen in (*from_file, *named)}
    return list(unique.values())


def nvls_fabric_manager_state(case: Case) -> Answer:
    """Setting up multicast fails since the fabric is in no state for it."""
    found = _multicast_errors(case)
    hit = [seen for seen in found if NOT_READY.search(seen.message)]
    hit += [seen for seen in found if "Fabric Manager" in seen.message and not REFUSED.search(seen.message)]
    manager = case.sign("fabric-manager-down", "fabric-manager-stopped")
    waiting = case.sign("cuda-not-ready")
    other = [seen for seen in (*found, *case.of("err.cuda")) if not DENIED.search(seen.message)]
    if not hit and not (manager and other) and not waiting:
        return None
    first: list[Seen | Sign] = [*hit, *other, *waiting]
    support = [seen for seen in case.of("nvls.support") if not seen.groups.get("state")][:1]
    return Hit(
        spots(first[:1], manager[:1], support), words(node=first[0].spot.node), "certain" if manager else "likely"
    )


def nvls_multicast_not_permitted(case: Case) -> Answer:
    """Setting up multicast is refused to this process: rights or devices that a container lacks."""
    found = _multicast_errors(case)
    hit = [seen for seen in found if REFUSED.search(seen.message) and not NOT_READY.search(seen.message)]
    if not hit:
        return None
    container = case.sign("container", "docker-run", "imex-missing")
    stopped = case.sign("fabric-manager-stopped")
    if stopped and not container and not any(DENIED.search(seen.message) for seen in hit):
        return Near(spots(hit[:1], stopped[:1]), "Fabric Manager was stopped on this node", ("a container",))
    support = [seen for seen in case.of("nvls.support") if not seen.groups.get("state")][:1]
    return Hit(
        spots(hit[:1], container[:1], support), words(node=hit[0].spot.node), "certain" if container else "likely"
    )


RULES: dict[str, Rule] = {
    "nvls-fabric-manager-state": nvls_fabric_manager_state,
    "nvls-multicast-not-permitted-in-container": nvls_multicast_not_permitted,
    "ll128-unsafe-on-path": ll128_unsafe_on_path,
    "ll128-forced-on-unsupported-path": ll128_forced_on_unsupported_path,
    "gb10-one-function-of-port-used": gb10_one_function_of_port_used,
    "rdma-path-not-pinned": rdma_path_not_pinned,
}
