"""What a case tells, put in order for rules: ports, GID tables, addresses, NCCL's device lists, networks, failures.

Nothing is judged here; addresses are compared by the prefix length that is told, else by /24 (IPv4) and /64.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from fabricdoc.explain.case import Case
from fabricdoc.explain.seen import Fact, Seen, Spot
from fabricdoc.nccl import Completion, DeviceList, LogReader, QueuePairFailure, record_of

MAPPED = bytes(10) + b"\xff\xff"
PortKey = tuple[str, str, int]
"""Node, HCA, port."""
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class GidRow:
    """A slot of a GID table. `version` is 1, 2, or 0 where it is not told."""

    node: str
    hca: str
    port: int
    index: int
    gid: str
    version: int
    spot: Spot

    @property
    def ipv4(self) -> str:
        """The IPv4 address it maps, else ""."""
        return ipv4_of(self.gid)

    @property
    def link_local(self) -> bool:
        """Whether it is in fe80::/10, or maps 169.254.0.0/16."""
        return is_link_local(self.gid)

    @property
    def routable(self) -> bool:
        """Whether NCCL over RoCE v2 and IPv4 wants this one."""
        return self.version == 2 and bool(self.ipv4) and not self.link_local

    @property
    def address(self) -> str:
        """The address of this entry: the IPv4 address it maps, else the IPv6 address it is."""
        return self.ipv4 or self.gid


@dataclass(frozen=True, slots=True)
class PortView:
    """An RDMA port: its state ("ACTIVE", "DOWN", ""), interface, link layer and active MTU, with a line of each."""

    node: str
    hca: str
    number: int
    state: str
    netdev: str
    layer: str
    mtu: int
    spot: Spot
    mtu_spot: Spot | None

    @property
    def active(self) -> bool:
        """Whether it can carry traffic."""
        return self.state == "ACTIVE"

    @property
    def down(self) -> bool:
        """Whether it is told that it can not."""
        return self.state not in ("", "ACTIVE")


@dataclass(frozen=True, slots=True)
class AddressView:
    """An address of an interface."""

    node: str
    netdev: str
    address: str
    prefix: int
    spot: Spot

    @property
    def network(self) -> str:
        """Its subnet, as ADDRESS/PREFIX."""
        return subnet(self.address, self.prefix)


V = TypeVar("V", GidRow, PortView, AddressView)


@lru_cache(maxsize=1 << 15)
def ipv4_of(gid: str) -> str:
    """The IPv4 address that a GID maps, "" for any other text."""
    address = parsed(gid)
    if address is None:
        return ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.IPv4Address(address.packed[12:])) if address.packed.startswith(MAPPED) else ""


@lru_cache(maxsize=1 << 15)
def parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address without zone and port, None for another text."""
    try:
        return ipaddress.ip_address(text.partition("%")[0].partition("<")[0].strip("[]"))
    except ValueError:
        return None


@lru_cache(maxsize=1 << 15)
def is_link_local(text: str) -> bool:
    """Whether an address, or what a GID maps, is link-local."""
    plain = parsed(ipv4_of(text) or text)
    return plain is not None and plain.is_link_local


@lru_cache(maxsize=1 << 15)
def subnet(address: str, prefix: int | None = None) -> str:
    """The subnet of an address: /24 and /64 where no prefix length is told; "" for what is no address.

    A length of the other family (longer than the address) says nothing about this one: "" again.
    """
    plain = parsed(address)
    if plain is None:
        return ""
    bits = prefix if prefix is not None else 24 if plain.version == 4 else 64
    if not 0 <= bits <= plain.max_prefixlen:
        return ""
    return str(ipaddress.ip_network(f"{plain}/{bits}", strict=False))


def gid_rows(case: Case, node: str = "", hca: str = "") -> list[GidRow]:
    """The slots of every GID table told (of a node, of an HCA), by index."""
    rows = case.once(("gid rows", node), lambda: _of_node(case, case.once("gid rows", lambda: _gid_rows(case)), node))
    return [row for row in rows if row.hca == hca] if hca else rows


def rails_of(case: Case, node: str = "") -> list[GidRow]:
    """The entries of RoCE v2 that reach beyond the cable: those of IPv4, or of IPv6 where there is no IPv4."""
    rows = gid_rows(case, node)
    wide = [row for row in rows if row.version == 2 and not row.link_local and subnet(row.gid)]
    return [row for row in rows if row.routable] or [row for row in wide if set(row.gid) - set("0:")]


def _gid_rows(case: Case) -> list[GidRow]:
    found: dict[tuple[str, str, int, int], dict[str, Fact]] = defaultdict(dict)
    for fact in case.told("gid"):
        if len(fact.path) == 5 and isinstance(fact.path[2], int) and isinstance(fact.path[3], int):
            found[fact.spot.node, str(fact.path[1]), fact.path[2], fact.path[3]][str(fact.path[4])] = fact
    rows = []
    for (owner, name, port, index), fields in found.items():
        if "gid" in fields:
            kind = str(fields["type"].value) if "type" in fields else ""
            version = 2 if "v2" in kind else 1 if "v1" in kind or kind.startswith("IB") else 0
            gid = fields["gid"]
            rows.append(GidRow(owner, name, port, index, str(gid.value), version, gid.spot))
    return sorted(rows, key=lambda row: (row.node, row.hca, row.port, row.index))


def _of_node(case: Case, views: list[V], node: str) -> list[V]:
    """The views of what may be a node (`same`), in their order; looked up, since there may be thousands of nodes."""
    if not node:
        return views
    found: dict[str, list[tuple[int, V]]] = case.once(("by node", id(views)), lambda: _placed(views))
    placed = [*found.get(node, ()), *found.get("", ())]
    return [view for _at, view in sorted(placed, key=lambda each: each[0])]


def _placed(views: list[V]) -> dict[str, list[tuple[int, V]]]:
    found: dict[str, list[tuple[int, V]]] = defaultdict(list)
    for at, view in enumerate(views):
        found[view.node].append((at, view))
    return found


def ports(case: Case, node: str = "") -> list[PortView]:
    """The RDMA ports told (of a node)."""
    return case.once(("ports", node), lambda: _of_node(case, case.once("ports", lambda: _ports(case)), node))


def _ports(case: Case) -> list[PortView]:
    found: dict[PortKey, dict[str, Fact]] = defaultdict(dict)
    for fact in case.told("port"):
        if len(fact.path) == 4 and isinstance(fact.path[2], int):
            found[fact.spot.node, str(fact.path[1]), fact.path[2]].setdefault(str(fact.path[3]), fact)
    netdevs = {
        (fact.spot.node, str(fact.path[1])): fact for fact in case.told("netdev") if fact.path[-1] == "operstate"
    }
    views = [_port(key, fields, netdevs) for key, fields in found.items()]
    return sorted(views, key=lambda view: (view.node, view.hca, view.number))


def _port(key: PortKey, fields: dict[str, Fact], netdevs: dict[tuple[str, str], Fact]) -> PortView:
    """A port; where no tool tells its state, that of its interface stands for it (ibdev2netdev says no more)."""

    def text(name: str) -> str:
        return str(fields[name].value) if name in fields else ""

    below = netdevs.get((key[0], text("netdev")))
    state = fields.get("state") or below or next(iter(fields.values()))
    mtu = fields.get("active_mtu")
    value = mtu.value if mtu and isinstance(mtu.value, int) else 0
    said = text("state") or {"up": "ACTIVE", "down": "DOWN"}.get(str(below.value) if below else "", "")
    return PortView(*key, said, text("netdev"), text("link_layer"), value, state.spot, mtu.spot if mtu else None)


def addresses(case: Case, node: str = "") -> list[AddressView]:
    """The addresses of interfaces told (of a node), without loopback."""
    return case.once(
        ("addresses", node), lambda: _of_node(case, case.once("addresses", lambda: _addresses(case)), node)
    )


def _addresses(case: Case) -> list[AddressView]:
    found = []
    for fact in case.told("address"):
        netdev, text = str(fact.path[1]), str(fact.path[2])
        address, _, prefix = text.partition("/")
        if netdev != "lo" and parsed(address) and prefix.isdecimal() and len(prefix) < 4:
            found.append(AddressView(fact.spot.node, netdev, address, int(prefix), fact.spot))
    return found


def device_lists(case: Case) -> list[tuple[Seen, DeviceList]]:
    """NCCL's device lists: one line for each process that told one."""
    return case.once("device lists", lambda: _records(case.of("ib.using"), DeviceList))


def lists_of(case: Case, node: str) -> list[tuple[Seen, DeviceList]]:
    """NCCL's device lists of what may be a node, in their order."""
    return may_be(case.once("lists by node", lambda: by_node(device_lists(case))), node)


def by_node(pairs: Sequence[tuple[Seen, R]]) -> dict[str, list[tuple[int, tuple[Seen, R]]]]:
    """Lines by their nodes, each with its place among all."""
    found: dict[str, list[tuple[int, tuple[Seen, R]]]] = defaultdict(list)
    for at, pair in enumerate(pairs):
        found[pair[0].spot.node].append((at, pair))
    return found


def may_be(found: Mapping[str, list[tuple[int, tuple[Seen, R]]]], node: str) -> list[tuple[Seen, R]]:
    """The lines of what may be a node (`same`), in their order."""
    nodes = (node, "") if node else tuple(found)
    placed = [each for one in nodes for each in found.get(one, ())]
    return [pair for _at, pair in sorted(placed, key=lambda each: each[0])]


def failed_pairs(case: Case) -> list[tuple[Seen, QueuePairFailure]]:
    """Queue pairs that could not be connected, those given up before those still tried."""
    pairs = case.once("pairs", lambda: _records(case.of("err.modify_qp"), QueuePairFailure))
    return sorted(pairs, key=lambda pair: pair[1].retrying)


def completions(case: Case) -> list[tuple[Seen, Completion]]:
    """Completion errors; flushed ones (status 5) come last, since they follow another."""
    lines = case.of("err.cqe.name", "err.cqe.num", "err.cqe.old")
    return sorted(case.once("completions", lambda: _records(lines, Completion)), key=lambda pair: pair[1].status == 5)


def _records(lines: list[Seen], kind: type[R]) -> list[tuple[Seen, R]]:
    found = [(seen, _record(seen)) for seen in lines]
    return [(seen, record) for seen, record in found if isinstance(record, kind)]


def _record(seen: Seen) -> object:
    for event in LogReader(seen.spot.text):
        if event.name == seen.event:
            return record_of(event)
    return None


def networks(case: Case) -> dict[str, list[Seen]]:
    """Name of NCCL's network (IB, Socket, a plugin's) -> the lines that say it is used."""
    return case.once("networks", lambda: _networks(case))


def _networks(case: Case) -> dict[str, list[Seen]]:
    found: dict[str, list[Seen]] = defaultdict(list)
    told = set()
    for seen in (*case.of("net.used"), *case.of("chan.net", "chan.net.old")):
        if seen.event == "net.used" or seen.process not in told:
            found[seen.groups.get("net", "")].append(seen)
            told.add(seen.process)
    return dict(found)


def uses_sockets(case: Case) -> list[Seen]:
    """The lines that say that NCCL runs over TCP sockets."""
    return networks(case).get("Socket", [])


def ranks(case: Case) -> int:
    """How many ranks the largest communicator has, 0 where no line tells."""
    counts = [
        int(seen.groups["n"]) for seen in case.of("comm.init", "comm.shape") if seen.groups.get("n", "").isdecimal()
    ]
    return max(counts, default=0)
