"""What belongs to one node: the setting in force there, its ports, the network it took; nothing of a neighbour's.

A file of settings or a dump whose name names no machine (prod.env) may be anybody's. Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from fabricdoc.explain.case import Case, same
from fabricdoc.explain.hits import HasSpot
from fabricdoc.explain.seen import Seen, Set
from fabricdoc.explain.views import PortView, gid_rows, networks, ports

P = TypeVar("P", bound=HasSpot)
HCA_LIST, SOCKETS = "NCCL_IB_HCA", "Socket"
SPOKE = ("ib.using", "ib.none", "net.used")
"""NCCL's own words on the HCAs or the network that it took: they count before what dumps make likely."""


def machines(case: Case) -> frozenset[str]:
    """The nodes that a log speaks of, or a dump: a file of settings alone makes no node."""
    return case.once("machines", lambda: _machines(case))


def _machines(case: Case) -> frozenset[str]:
    return frozenset({one.spot.node for one in case.seen} | {one.spot.node for one in case.facts}) - {""}


def of_node(pieces: Iterable[P], node: str) -> list[P]:
    """Those of a node, and those of nobody in particular."""
    return [piece for piece in pieces if same(piece.spot.node, node)]


def in_force(case: Case, name: str, node: str) -> Set | None:
    """A node's setting: NCCL's word there, else the last file for it; else the last that is no machine's own.

    None also where another node's is all that is told.
    """
    return case.once(("in force", name, node), lambda: _in_force(case, name, node))


def _in_force(case: Case, name: str, node: str) -> Set | None:
    told = case.once(("sets by node", name), lambda: _by_node(case.values(name)))
    mine = told.get("", []) + told.get(node, []) if node else case.values(name)
    if not mine:
        mine = case.once(("anybody's", name), lambda: _anybodys_sets(case, told))
    said = sorted((each for each in mine if each.by == "log"), key=lambda each: not each.spot.node)
    return said[0] if said else mine[-1] if mine else None


def _by_node(pieces: Sequence[P]) -> dict[str, list[P]]:
    found: dict[str, list[P]] = {}
    for piece in pieces:
        found.setdefault(piece.spot.node, []).append(piece)
    return found


def _anybodys_sets(case: Case, told: Mapping[str, list[Set]]) -> list[Set]:
    return [each for node, sets in told.items() if node not in machines(case) for each in sets]


def own_ports(case: Case, node: str) -> list[PortView]:
    """The ports of a node; where none are told under its name, those of a dump whose name is no other node's."""
    mine = ports(case, node)
    if mine or not node:
        return mine
    owners = case.once("owners of ports", lambda: frozenset(port.node for port in ports(case)))
    talking = speakers(case)
    return ports(case) if len(owners) == 1 and _anybodys(next(iter(owners)), talking) else []


def of_those(case: Case, told: list[P], failing: Sequence[HasSpot]) -> list[P]:
    """What is told of the nodes that something failed on, or of nobody; else that of a name no other node has."""
    nodes = {piece.spot.node for piece in failing}
    mine = [piece for piece in told if any(same(piece.spot.node, node) for node in nodes)]
    owners = {piece.spot.node for piece in told}
    return told if not mine and len(owners) == 1 and _anybodys(next(iter(owners)), speakers(case)) else mine


def speakers(case: Case) -> frozenset[str]:
    """The nodes that lines of a log are of."""
    return case.once("speakers", lambda: frozenset(seen.spot.node for seen in case.seen) - {""})


def _anybodys(owner: str, talking: frozenset[str]) -> bool:
    """Whether a dump's name may mean a node that speaks under another one: node1 is not node2, `on_host` is anybody."""
    if owner in talking:
        return False
    alike = any(_kind(owner) == _kind(node) for node in talking)
    return not alike and (len(talking) == 1 or not any(mark.isdecimal() for mark in owner))


def _kind(name: str) -> str:
    """A name without what counts nodes of one kind: node of node1."""
    return "".join(mark for mark in name.lower() if mark.isalpha())


def told_hcas(case: Case) -> dict[str, list[tuple[str, int, HasSpot]]]:
    """Node -> (HCA, port, line) of what may carry traffic: active ports, else those that have a GID table."""
    return case.once("told hcas", lambda: _told_hcas(case))


def _told_hcas(case: Case) -> dict[str, list[tuple[str, int, HasSpot]]]:
    found: dict[str, dict[tuple[str, int], HasSpot]] = {}
    known = {port.node for port in ports(case) if port.state}
    for port in ports(case):
        if port.active:
            found.setdefault(port.node, {})[port.hca, port.number] = port
    for row in gid_rows(case):
        if row.node not in known:
            found.setdefault(row.node, {}).setdefault((row.hca, row.port), row)
    return {node: [(*key, spot) for key, spot in listed.items()] for node, listed in found.items()}


def silent(case: Case, node: str) -> bool:
    """Whether no log tells what NCCL took on a node."""
    spoke = case.once("spoke", lambda: frozenset(seen.spot.node for seen in case.of(*SPOKE)))
    return not (spoke & {node, ""} if node else spoke)


def networks_of(case: Case, node: str) -> dict[str, list[Seen]]:
    """The networks that a node's ranks say they use, with the lines."""
    listed = {net: of_node(lines, node) for net, lines in networks(case).items()}
    return {net: lines for net, lines in listed.items() if lines}


def elsewhere(case: Case, node: str) -> list[Seen]:
    """Lines of other nodes whose ranks use no sockets: they can't be joined with a node that fell back to them."""
    return [
        seen
        for net, lines in networks(case).items()
        if net != SOCKETS
        for seen in lines
        if node and seen.spot.node and seen.spot.node != node
    ]


def nodes_of(pieces: Sequence[HasSpot]) -> list[str]:
    """The nodes of these pieces, each once, in order."""
    return list(dict.fromkeys(piece.spot.node for piece in pieces))
