"""What a node's kernel log says since boot: presets/signatures/kernel_log.toml, its lines made findings.

The log is read by the probe, which is sent the file's patterns by whoever asks. A line of the past proves what was,
not what is: only what can't heal by itself is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from fabricdoc.checks.limits import preset
from fabricdoc.checks.platforms import functions_of, is_gb10
from fabricdoc.checks.ports import hcas_of, roce_ports
from fabricdoc.checks.wording import of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, KernelEvent, Node
from fabricdoc.model.findings import Finding, Severity


class Signature(NamedTuple):
    """One entry of the file.

    `numbers` limits a numbered signature (Xid) to those that matter, empty for all; `errors` are those among them that
    are errors whatever its severity.
    """

    id: str
    pattern: str
    finding: str
    severity: Severity
    cause: str
    fix: list[str]
    at_least: int = 1
    per_hour: float = 0.0
    near_hca: bool = False
    not_on: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    errors: tuple[int, ...] = ()


@cache
def signatures() -> Mapping[str, Signature]:
    """Every signature by id."""
    rows: list[dict[str, Any]] = preset("signatures", "kernel_log")["signature"]
    return {row["id"]: Signature(**row) for row in rows}


def check_kernel_log(fabric: Fabric) -> tuple[Finding, ...]:
    """One finding per node and signature that its log holds often enough; only on nodes with HCAs."""
    return of_nodes(fabric, events)


def events(node: Node) -> Iterator[Finding]:
    """The findings of one node's log; signatures of one finding that were met together are told together."""
    log = node.host.kernel_log
    if isinstance(log, Unknown) or not log or isinstance(node.hcas, Unknown) or not (hcas_of(node) or is_gb10(node)):
        return
    met: dict[tuple[str, str], list[tuple[Signature, KernelEvent]]] = {}
    for event in log:
        signature = _signature(event.id)
        if signature is not None and _counts(node, signature, event):
            met.setdefault((signature.finding, signature.cause), []).append((signature, event))
    for (id, cause), hits in met.items():
        first = hits[0][0]
        yield Finding(
            id=id,
            severity="error" if any(_is_error(*hit) for hit in hits) else first.severity,
            subject=f"{node.name}: kernel log",
            evidence=seen(node, *(f"{event.count} x since boot, last: {event.last}" for _signature, event in hits)),
            cause=cause,
            fix=(f"on {node.name}:", *first.fix),
            confidence="likely",
        )


def _is_error(signature: Signature, event: KernelEvent) -> bool:
    number = event.id.removeprefix(f"{signature.id}-")
    return number.isdigit() and int(number) in signature.errors


def _signature(id: str) -> Signature | None:
    """The signature of an event's id, numbered ("xid-79") or not; None for one this version does not know."""
    base, _dash, number = id.rpartition("-")
    numbered = signatures().get(base)
    if numbered is not None and numbered.numbers and number.isdigit():
        return numbered if int(number) in numbered.numbers else None
    plain = signatures().get(id)
    return None if plain is None or plain.numbers else plain


def _counts(node: Node, signature: Signature, event: KernelEvent) -> bool:
    platform: Literal["gb10", ""] = "gb10" if is_gb10(node) else ""
    if event.count < signature.at_least or platform in signature.not_on:
        return False
    uptime = node.host.uptime_s
    hours = 0.0 if isinstance(uptime, Unknown) else max(uptime / 3600, 1.0)
    if signature.per_hour and (not hours or event.count / hours < signature.per_hour):
        return False
    return not signature.near_hca or any(_names_it(name, event.last) for name in _names(node))


def _names_it(name: str, line: str) -> bool:
    """Whether a line names it whole: 01:00.0 is not in 000f:01:00.0, where another device is."""
    return name in line and re.search(rf"(?<![\w:.]){re.escape(name)}(?!\w)", line) is not None


def _names(node: Node) -> set[str]:
    """PCI addresses of HCAs and of the bridges above them, without a domain of 0000 too, and their ports' names."""
    hcas = {hca.pci for hca in hcas_of(node) if isinstance(hca.pci, str)}
    above = {bridge for one in functions_of(node) if one.address in hcas for bridge in one.upstream}
    addresses = hcas | above
    short = {one.removeprefix("0000:") for one in addresses}
    return addresses | short | {one.netdev.name for one in roce_ports(node)}
