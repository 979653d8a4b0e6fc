"""Firmware of HCAs of one model, held against one another on all nodes. Which version is good is not judged here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fabricdoc.checks.differences import Told, difference, text_of
from fabricdoc.checks.majority import Odd, Place, split
from fabricdoc.checks.ports import hcas_of
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Hca
from fabricdoc.model.findings import Finding, Severity


class Chip(NamedTuple):
    """One HCA of one node; functions of one card carry the same firmware."""

    node: str
    hca: Hca


def check_firmware(fabric: Fabric) -> tuple[Finding, ...]:
    """firmware-differs-between-nodes: per model; a warning where boards are alike, information where they are not.

    Boards of two vendors (board id, PSID) get firmware from two vendors, so there a difference is no fault.
    """
    return tuple(finding for model, chips in _by_model(fabric).items() for finding in _of_model(model, chips))


def _by_model(fabric: Fabric) -> dict[str, list[Chip]]:
    found: dict[str, list[Chip]] = defaultdict(list)
    for node in fabric.nodes:
        for hca in hcas_of(node):
            if isinstance(hca.hca_type, str) and hca.physical_function is None:
                found[hca.hca_type].append(Chip(node.name, hca))
    return found


def _of_model(model: str, chips: list[Chip]) -> Iterator[Finding]:
    boards: dict[Fact[str], list[Chip]] = defaultdict(list)
    for chip in chips:
        board = chip.hca.board_id
        boards[board if isinstance(board, str) else ""].append(chip)
    alike = [found for board in boards.values() if (found := split(_votes(board))) is not None]
    yield from (difference(_told(model, "warning"), found) for found in alike)
    if not alike and (found := split(_votes(chips))) is not None:
        yield difference(_told(model, "info"), found)


def _votes(chips: Iterable[Chip]) -> list[tuple[str | Place, Fact[str]]]:
    """One vote for each node; one for each HCA of a node whose HCAs differ."""
    nodes: dict[str, dict[str, Fact[str]]] = defaultdict(dict)
    for chip in chips:
        nodes[chip.node][chip.hca.name] = chip.hca.firmware
    votes: list[tuple[str | Place, Fact[str]]] = []
    for node, facts in nodes.items():
        known = {fact for fact in facts.values() if not isinstance(fact, Unknown)}
        if len(known) > 1:
            votes += [(Place(node, hca), fact) for hca, fact in facts.items()]
        else:
            votes += [(node, fact) for fact in known]
    return votes


def _told(model: str, severity: Severity) -> Told:
    def one(odd: Odd[Any, Any]) -> tuple[str, ...]:
        return (
            f"bring the firmware of {text_of(odd.key)} from {odd.value} to {odd.usual}, with the tool of the node's "
            "vendor, and power-cycle it",
        )

    return Told(
        "firmware-differs-between-nodes",
        severity,
        f"firmware of {model} (/sys/class/infiniband/*/fw_ver)",
        "HCAs of one model run different firmware: defaults for congestion control, link training and PCIe differ "
        "with it, and one end that behaves otherwise is hard to see."
        + (" The boards come from different vendors, who release firmware separately." if severity == "info" else ""),
        one,
        (f"bring the {model} of all nodes to one firmware when it is convenient",),
        "certain",
    )
