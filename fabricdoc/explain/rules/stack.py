"""Rules of the RDMA stack and its container: libraries, device files, rights, switched off by a variable."""

from __future__ import annotations

import re

from fabricdoc.explain.case import Case, same
from fabricdoc.explain.hits import Answer, Confidence, Hit, Near, Rule, listing, spots, words
from fabricdoc.explain.own import elsewhere, in_force, machines, networks_of, nodes_of, of_node, own_ports
from fabricdoc.explain.seen import Fact, Seen, Set, Sign
from fabricdoc.explain.views import PortView, device_lists, networks, ports, uses_sockets

FABRIC = re.compile(r"\bib0|ibp|\ben[opPsx]\w{1,12}np\d{1,2}[:<. ]")
"""Interfaces of InfiniBand, and those whose driver names the port of its NIC (mlx5, bnxt, ice: enp1s0f1np1)."""
EXTERNAL = ("IBext", "AWS Libfabric", "Libfabric", "UCX", "SHARP", "FastSocket", "GPUDirectTCPX", "Spectrum", "OFI")
"""How external plugins' networks call themselves."""


def libibverbs_missing(case: Case) -> Answer:
    """The library could not be opened; it is no fault where a libfabric plugin was meant to carry the traffic."""
    found = [seen for seen in case.of("ib.nolib") if seen.groups.get("lib", "").startswith("libibverbs")]
    found += [seen for seen in case.warned(r"libibverbs.*(?:not found|cannot open|dlopen)") if seen not in found]
    if not found:
        return None
    node = found[0].spot.node
    if any(net != "Socket" for net in networks_of(case, node)):
        return Near(spots(found), "the ranks use another network than sockets all the same")
    sockets = networks_of(case, node).get("Socket", [])
    if within_one_node(case):
        return Near(spots(found[:1]), "all ranks are on one node, and need no network", ("a channel via NET",))
    others = elsewhere(case, node)[:1]
    sure: Confidence = "certain" if sockets else "likely"
    return Hit(spots(found[:2], sockets[:1], others), words(node=node), sure, severity="error" if others else None)


def within_one_node(case: Case) -> bool:
    """Whether NCCL's lines say that there is one node alone: it counts one, or every channel stays within it."""
    shapes = case.of("comm.shape")
    counted = bool(shapes) and all(seen.groups.get("nodes") == "1" for seen in shapes)
    local = case.of("chan.p2p", "chan.shm", "chan.local.old")
    return (counted or bool(local)) and not case.of("chan.net", "chan.net.old") and len(case.nodes) < 2


def no_device(case: Case) -> list[Seen]:
    """Lines in which NCCL finds no HCA: it says so, or its list is empty."""
    empty = [seen for seen, listed in device_lists(case) if not listed.devices]
    return case.of("ib.none") or empty


def container_rdma_device_missing(case: Case) -> Answer:
    """On some node NCCL found no HCA while that host has active ports, and no filter of NCCL's explains it."""
    none = no_device(case)
    absent: list[Fact | Sign] = [
        fact for fact in case.told("host") if fact.path[1:] == ("infiniband_devices",) and not fact.value
    ]
    absent += case.sign("no-dev-infiniband")
    answers = [_not_in_container(case, node, none, absent) for node in nodes_of([*none, *absent])]
    return next((one for one in answers if isinstance(one, Hit)), next((one for one in answers if one), None))


def _not_in_container(case: Case, node: str, everywhere: list[Seen], missing: list[Fact | Sign]) -> Answer:
    none, absent = of_node(everywhere, node), of_node(missing, node)
    sockets = networks_of(case, node).get("Socket", [])
    up = [port for port in own_ports(case, node) if port.active]
    if not up and not absent:
        if not sockets or not of_node(wants_rdma(case), node):
            return None
        return Near(
            spots(none[:2]), "nothing shows that the host has HCAs", ("rdma link of the host", "ls /dev/infiniband")
        )
    if off := disabled(case, node):
        return Near(spots(none[:1]), "NCCL_IB_DISABLE alone explains it", (f"{off.name} is set",))
    if up and (filtered := _filtered_away(case, node, up)):
        return Near(spots(none[:1], filtered), "the filter fits no port of the host, which explains it too")
    foreign = bool(up) and not absent and not any(same(port.node, node) for port in up)
    if foreign and (each := in_force(case, "NCCL_IB_HCA", node)) and each.value:
        why = "the filter may fit none of its ports; those that are told are under another node's name"
        return Near(spots(none[:1], each, up[:1]), why, ("the ports of this node",))
    others = elsewhere(case, node)[:1]
    evidence = spots(none[:2], absent[:1], [port.spot for port in up[:2]], sockets[:1], others)
    filled = words(hca=listing(port.hca for port in up), node=evidence[0].node)
    sure: Confidence = "likely" if foreign or not (absent or sockets) else "certain"
    sought = ("ports under this node's own name",) if foreign else ()
    return Hit(evidence, filled, sure, sought, "error" if others else None)


def _filtered_away(case: Case, node: str, up: list[PortView]) -> Set | None:
    """The filter of a node that fits none of its active ports."""
    from fabricdoc.explain.rules.selection import fits

    each = in_force(case, "NCCL_IB_HCA", node)
    return each if each and each.value and not any(fits(each.value, port.hca, port.number) for port in up) else None


def wants_rdma(case: Case) -> list[Set]:
    """Settings that make sense only with RDMA."""
    wanted = [each for each in case.sets if each.name.startswith("NCCL_IB_") and each.name != "NCCL_IB_DISABLE"]
    return wanted + [each for each in case.values("NCCL_NET") if each.value.upper() == "IB"]


def container_rdma_device_not_accessible(case: Case) -> Answer:
    """A device is listed and can't be opened, for want of rights or of its own device file."""
    refused = case.sign("uverbs-denied")
    opened = [seen for seen in case.of("ib.open") if seen.groups.get("what") == "open"]
    calls = [
        seen
        for seen in case.of("err.ibv")
        if seen.groups.get("call") in ("ibv_open_device", "ibv_get_device_list", "ibv_alloc_pd")
        or "not permitted" in seen.groups.get("err", "")
        or "ermission denied" in seen.groups.get("err", "")
    ]
    if not (refused or opened or calls):
        return None
    left = [listed for _seen, listed in device_lists(case) if listed.devices]
    if left and not refused and not calls:
        missing = "one of several devices can't be opened; the others are in use"
        return Near(spots(opened[:2]), missing, ("a device list without any device",))
    device = next((seen.groups["dev"] for seen in opened if "dev" in seen.groups), "")
    evidence = spots(opened[:2], calls[:2], refused[:2], uses_sockets(case)[:1])
    return Hit(evidence, words(hca=device, node=evidence[0].node), "certain" if refused or opened else "likely")


def disabled(case: Case, node: str = "") -> Set | None:
    """NCCL_IB_DISABLE where it switches the RDMA path off, on a node or anywhere."""
    told = case.values("NCCL_IB_DISABLE")
    if node:
        told = of_node(told, node) or [each for each in told if each.spot.node not in machines(case)]
    found = [each for each in told if each.value.strip("\"'") not in ("", "0")]
    logged = [each for each in told if each.by == "log"]
    if logged and all(each.value == "0" for each in logged):
        return None
    return next((each for each in found if each.by == "log"), found[0] if found else None)


def ib_disabled_by_env(case: Case) -> Answer:
    """Switched off, sockets in use on that node, and it has HCAs."""
    off = disabled(case)
    if off is None:
        return None
    node = off.spot.node
    mine = networks_of(case, node) if node in machines(case) else networks(case)
    others = [net for net in mine if net != "Socket"]
    if others:
        return Near(spots(off), f"the ranks use {listing(others)} all the same")
    sockets = mine.get("Socket", [])
    up = [port for port in (own_ports(case, node) if node in machines(case) else ports(case)) if port.active]
    hints = [each for each in wants_rdma(case) if same(each.spot.node, node)]
    fabric = [seen for seen in of_node(case.of("boot.if", "sock.using"), node) if FABRIC.search(seen.spot.text)]
    signs = case.sign("hca-in-lspci", "rdma-passed")
    if not up and not hints and not fabric and not signs:
        why = "nothing shows that these nodes have HCAs, so sockets may be meant"
        return Near(spots(off, sockets[:1]), why, ("rdma link or ibv_devinfo of a node",))
    shown = [port.spot for port in up[:2]] or spots(hints[:2]) or spots(fabric[:1], signs[:1])
    said = of_node(case.values("NCCL_IB_DISABLE", by="file"), node)[:1]
    apart = elsewhere(case, node)[:1]
    evidence = spots(off, sockets[:1], said, list(shown), apart)
    filled = words(value=off.value, node=node, hca=listing(port.hca for port in up))
    return Hit(evidence, filled, "certain" if sockets else "likely", severity="error" if apart else None)


def external_networks(case: Case) -> dict[str, list[Seen]]:
    """Networks in use that a plugin brings."""
    return {net: seen for net, seen in networks(case).items() if any(net.startswith(one) for one in EXTERNAL)}


def ib_disable_ignored_external_plugin(case: Case) -> Answer:
    """Switched off, and a plugin that does not read the variable carries the traffic."""
    off = disabled(case)
    plugins = external_networks(case)
    loaded = [
        seen for seen in case.of("plugin.loaded") if seen.groups.get("kind", seen.groups.get("t", "NET")) == "NET"
    ]
    ofi = [seen for seen in case.of("plugin.ofi") if "Selected Provider" in seen.spot.text]
    if off is None or not (plugins or (loaded and not uses_sockets(case) and "IB" not in networks(case))):
        return None
    name, lines = next(iter(plugins.items()), ("a plugin", loaded))
    broken = case.of("err.modify_qp", "err.ibv", "err.cqe.name", "err.cqe.num", "err.cqe.old")
    evidence = spots(off, lines[:1], loaded[:1], ofi[:1], broken[:1])
    return Hit(evidence, words(plugin=name, node=off.spot.node), "certain", severity="error" if broken else None)


def ibverbs_provider_missing(case: Case) -> Answer:
    """libibverbs says that it has no driver of its own for a device."""
    found = case.sign("no-provider")
    return (
        Hit(spots(found[:2], no_device(case)[:1], uses_sockets(case)[:1]), words(node=found[0].spot.node))
        if found
        else None
    )


RULES: dict[str, Rule] = {
    "ibverbs-provider-missing": ibverbs_provider_missing,
    "libibverbs-missing": libibverbs_missing,
    "container-rdma-device-missing": container_rdma_device_missing,
    "container-rdma-device-not-accessible": container_rdma_device_not_accessible,
    "ib-disabled-by-env": ib_disabled_by_env,
    "ib-disable-ignored-external-plugin": ib_disable_ignored_external_plugin,
}
