"""NCCL_IB_GID_INDEX held against the GID tables of every node it is meant for: where it is right, and what would be.

One index serves all ports of a process. Right is a RoCE v2 entry with an IPv4 address that is not link-local; where a
port has several, any of them. A port whose table is unknown or has no such entry says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Gid, Node, Port
from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint_selectors import HCAS, hcas_of
from fabricdoc.nccl.numbers import number_at_start
from fabricdoc.nccl.selectors import Selector, matches, parse_selector
from fabricdoc.nccl.versions import Release

INDEX = "NCCL_IB_GID_INDEX"
CHOOSES: Release = (2, 21, 5)
ZEROCONF = "169.254."
SHOWN = 6
Pinned = tuple[tuple[Node, ...], Mapping[str, str]]


class Slot(NamedTuple):
    """What the pinned index `pin` means on one port: its entry, and the indices that would be right there."""

    node: str
    hca: str
    pin: int
    found: Gid | None
    right: tuple[int, ...]

    @property
    def wrong(self) -> str:
        """The id of what is wrong with the entry, "" where it is right."""
        if self.pin in self.right:
            return ""
        if self.found is None:
            return "gid-index-drifted" if self.right else "wrong-gid-index"
        return "gid-index-link-local" if _is_link_local(self.found) else "wrong-gid-index"

    def told(self) -> str:
        """The entry in a few words."""
        where = f"{self.node}/{self.hca}"
        if not self.wrong:
            return f"right on {where}"
        right = (
            f"right there is {' or '.join(map(str, self.right))}"
            if self.right
            else "no entry there is RoCE v2 with IPv4"
        )
        return f"{_what(self.found)} on {where}: {right}"


def _what(gid: Gid | None) -> str:
    if gid is None:
        return "empty"
    kind = gid.type if isinstance(gid.type, str) else "of an unknown type"
    return f"{kind.removeprefix('IB/')} {gid.ipv4 or gid.gid}"


def _is_link_local(gid: Gid) -> bool:
    return gid.link_local or (gid.ipv4 or "").startswith(ZEROCONF)


def pinned(meant: Sequence[Pinned], release: Release | None) -> Iterator[tuple[int, Complaint]]:
    """(number of the process, complaint) for each process whose pinned index is wrong on some port."""
    slots = [[*_slots(nodes, values)] for nodes, values in meant]
    everywhere = [slot for found in slots for slot in found]
    for number, found in enumerate(slots):
        wrong = [slot for slot in found if slot.wrong]
        if wrong:
            yield number, _complaint(found, wrong, everywhere, meant[number][1][INDEX], release)


def _slots(nodes: Sequence[Node], values: Mapping[str, str]) -> Iterator[Slot]:
    index = number_at_start(values.get(INDEX, ""))
    if index is None or index < 0:
        return
    for node in nodes:
        hcas = hcas_of(node)
        selector = parse_selector(values.get(HCAS, ""))
        for hca in hcas:
            for port in hca.ports:
                if _may_be_taken(selector, hca.name, port) and not isinstance(port.gids, Unknown) and port.gids:
                    entry = next((gid for gid in port.gids if gid.index == index), None)
                    yield Slot(node.name, hca.name, index, entry, right_indices(port))


def _may_be_taken(selector: Selector, name: str, port: Port) -> bool:
    """Whether a port falls under the selector and is a RoCE port that is not known to be down."""
    if port.link_layer == "InfiniBand" or (isinstance(port.state, str) and port.state != "ACTIVE"):
        return False
    listed = any(matches(selector, entry, name, port.number) for entry in selector.entries)
    return (listed or not selector.entries) != selector.excludes


def right_indices(port: Port) -> tuple[int, ...]:
    """The indices of RoCE v2 entries with an IPv4 address; link-local ones only where there is nothing else."""
    gids = () if isinstance(port.gids, Unknown) else port.gids
    able = [gid for gid in gids if gid.ipv4 and gid.type in ("RoCE v2", "v2")]
    best = [gid for gid in able if not _is_link_local(gid)] or able
    return tuple(gid.index for gid in best)


def _complaint(
    found: Sequence[Slot], wrong: Sequence[Slot], everywhere: Sequence[Slot], value: str, release: Release | None
) -> Complaint:
    id = _id(found, wrong, everywhere)
    told = "; ".join(slot.told() for slot in (*wrong, *(one for one in everywhere if not one.wrong))[:SHOWN])
    right = any(not slot.wrong for slot in everywhere)
    message = f"index {found[0].pin} is {'not right everywhere' if right else 'right nowhere'}: {told}"
    if release is not None and release < CHOOSES:
        fix = "set it per node: " + "; ".join(
            f"{INDEX}={slot.right[0]} for {slot.node}/{slot.hca}" for slot in everywhere[:SHOWN] if slot.right
        )
    else:
        fix = f"leave {INDEX} out: NCCL 2.21.5 and later choose the right one for each port"
    is_old_kind = id == "wrong-gid-index" and all(slot.wrong == id and slot.found for slot in wrong)
    return Complaint(id, INDEX, message, fix, value, level="warning" if is_old_kind else None)


def _id(found: Sequence[Slot], wrong: Sequence[Slot], everywhere: Sequence[Slot]) -> str:
    """No single index is right on all nodes, or on all HCAs of one; else what is wrong with the entry."""
    able = [set(slot.right) for slot in everywhere if slot.right]
    if able and not set.intersection(*able):
        one_node = [set(slot.right) for slot in found if slot.right and slot.node == wrong[0].node]
        inside = bool(one_node) and not set.intersection(*one_node)
        return "gid-index-differs-between-hcas" if inside else "gid-index-differs-between-nodes"
    return wrong[0].wrong
