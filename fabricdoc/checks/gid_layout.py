"""Where the IPv4 RoCE v2 GID stands in the tables of all ports, and whether one pinned index can be right for them.

NCCL 2.21 and later chooses per port, so tables may differ as they like until NCCL_IB_GID_INDEX pins one number for
all HCAs of a process. Whether a pin is right on a node by itself is not judged here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NamedTuple

from fabricdoc.checks.differences import SHOWN, Told, difference, named, node_lines
from fabricdoc.checks.majority import Place, split_ports
from fabricdoc.checks.ports import hcas_of
from fabricdoc.checks.variables import Variable, variable, whole_number
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gid, Hca, Node, Port
from fabricdoc.model.findings import Evidence, Finding

PIN = "NCCL_IB_GID_INDEX"
LINK_LOCAL = "169.254."
ROCE_V2 = "RoCE v2"


class Table(NamedTuple):
    """A port with the indices of its GIDs that can reach a peer (RoCE v2, IPv4, not 169.254 where there is another)."""

    place: Place
    usable: tuple[int, ...]
    first_is_link_local: bool


def check_gid_layout(fabric: Fabric) -> tuple[Finding, ...]:
    """At most one finding: an error where a pin meets tables that no index fits, else information that none would."""
    tables = [table for node in fabric.nodes for table in _tables(node)]
    if len(tables) < 2 or set.intersection(*(set(table.usable) for table in tables)):
        return ()
    pins = {node.name: pin for node in fabric.nodes if (pin := _pin(node)) is not None}
    missed = [table for table in tables if _misses(table, pins)]
    if missed:
        return (_pinned(fabric, tables, missed, pins),)
    return tuple(_unpinned(tables)) if not pins else ()


def _tables(node: Node) -> Iterator[Table]:
    """The node's ports that can be used, or of which only the table is known; those of NCCL_IB_HCA where it is set."""
    listed = _listed(node)
    for hca in hcas_of(node):
        for port in hca.ports:
            if _can_be_used(hca, port) and (listed is None or (hca.name, port.number) in listed):
                usable = _usable(port)
                if usable:
                    first = min(usable, key=lambda gid: gid.index)
                    good = [gid for gid in usable if not _is_link_local(gid)] or usable
                    place = Place(node.name, hca.name)
                    yield Table(place, tuple(sorted(gid.index for gid in good)), _is_link_local(first))


def _listed(node: Node) -> set[tuple[str, int]] | None:
    selector = variable(node, "NCCL_IB_HCA")
    if selector is None:
        return None
    from fabricdoc.nccl import expand

    return set(expand(selector.value, hcas_of(node)).ports) or None


def _can_be_used(hca: Hca, port: Port) -> bool:
    is_up = isinstance(port.state, Unknown) or port.state == "ACTIVE"
    is_roce = isinstance(port.link_layer, Unknown) or port.link_layer == "Ethernet"
    return is_up and is_roce and hca.physical_function is None


def _usable(port: Port) -> list[Gid]:
    """RoCE v2 GIDs that map an IPv4 address; none where a type can't be read."""
    gids = () if isinstance(port.gids, Unknown) else port.gids
    if any(isinstance(gid.type, Unknown) for gid in gids):
        return []
    return [gid for gid in gids if gid.ipv4 and gid.type == ROCE_V2]


def _is_link_local(gid: Gid) -> bool:
    return gid.ipv4 is not None and gid.ipv4.startswith(LINK_LOCAL)


def _pin(node: Node) -> Variable | None:
    """The variable where it pins an index; -1 leaves the choice to NCCL."""
    found = variable(node, PIN)
    return found if found is not None and whole_number(found.value) >= 0 else None


def _misses(table: Table, pins: dict[str, Variable]) -> bool:
    pin = pins.get(table.place.node)
    return pin is not None and whole_number(pin.value) not in table.usable


def _pinned(fabric: Fabric, tables: list[Table], missed: list[Table], pins: dict[str, Variable]) -> Finding:
    nodes = list(dict.fromkeys(table.place.node for table in missed))
    good = next((table for table in tables if not _misses(table, pins)), None)
    shown = [*missed[:SHOWN], *([good] if good else [])]
    return Finding(
        id=_id(tables),
        severity="error",
        subject=named([table.place for table in missed]),
        evidence=(
            *(Evidence(file=name, text=pins[name].text()) for name in nodes[:2]),
            *(Evidence(file=table.place.node, text=_text(table)) for table in shown),
        ),
        cause="NCCL_IB_GID_INDEX is one number for all HCAs of a process, and none is right on all of these ports. "
        "Where it misses, NCCL takes a RoCE v1, link-local or empty GID and connecting fails with errno 22, 61 or 110.",
        fix=(
            *node_lines((name, [_unset(pins[name])]) for name in nodes),
            "NCCL 2.21 and later then chooses the right index for each port by itself",
            *_range_lines(tables),
        ),
    )


def _id(tables: list[Table]) -> str:
    nodes = {table.place.node for table in tables}
    return "gid-index-differs-between-nodes" if len(nodes) > 1 else "gid-index-differs-between-hcas"


def _text(table: Table) -> str:
    return f"{table.place.slot}: RoCE v2 GID of its IPv4 address at index {' or '.join(map(str, table.usable))}"


def _unset(pin: Variable) -> str:
    if pin.source == "environment":
        return f"unset {PIN}"
    return shlex.join(["sudo", "sed", "-i", f"/^{PIN}=/d", pin.source])


def _range_lines(tables: list[Table]) -> list[str]:
    """Where a 169.254 address stands before the right one, NCCL's own choice needs a range."""
    before = [table.place for table in tables if table.first_is_link_local]
    if not before:
        return []
    return [
        f"{named(before)}: a 169.254 address stands first, and NCCL would take it: remove it, or set "
        "NCCL_IB_ADDR_RANGE to the fabric's subnets on all ranks"
    ]


def _unpinned(tables: list[Table]) -> Iterator[Finding]:
    found = split_ports((table.place, table.usable[0]) for table in tables)
    if found is not None:
        told = Told(
            _id(tables),
            "info",
            "RoCE v2 GID of its IPv4 address at index",
            "The GID that NCCL needs stands at different places in the tables of these ports. NCCL 2.21 and later "
            "finds it by itself; a pinned NCCL_IB_GID_INDEX would be wrong on some of them.",
            lambda _odd: (f"leave {PIN} unset on all ranks",),
            (f"leave {PIN} unset on all ranks",),
        )
        yield difference(told, found)
