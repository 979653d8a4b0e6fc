"""Delivery as answers of the gate: what `fabricdoc.export.judge_delivery` said of each process or file, per node.

Judges nothing again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fabricdoc.model.delivery import Delivered, Delivery, WorkerDelivery
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck

BAD = ("missing", "differs", "overridden")


def judge_deliveries(delivery: Delivery) -> list[GateCheck]:
    """One check for each place looked at, and one for each node of which nothing was seen."""
    checks = [_worker(one, [f for f in delivery.findings if f.subject == one.node]) for one in delivery.workers]
    return [*checks, *_unseen(delivery)]


def _worker(one: WorkerDelivery, findings: Sequence[Finding]) -> GateCheck:
    bad = [variable for variable in one.variables if variable.outcome in BAD]
    unknown = [variable for variable in one.variables if variable.outcome == "unknown"]
    count = f"{len(one.variables)} variable{'s' if len(one.variables) != 1 else ''}"
    left = [variable.name for variable in one.variables if variable.outcome == "left-out"]
    but = f", but for {', '.join(left)}, left out (--no-strict)" if left else ""
    found = f"all as the preset has them in {one.source}{but}"
    note = ""
    if bad:
        found = ", ".join(_told(variable) for variable in bad)
    elif unknown:
        found = f"unknown: nothing tells of {', '.join(variable.name for variable in unknown)}"
    elif one.extra or one.unlike:
        note = "; ".join(filter(None, (_names("besides", one.extra), _names("not as measured", one.unlike))))
    errors = [line for finding in findings if finding.severity == "error" for line in finding.fix]
    return GateCheck(
        id="delivery",
        node=one.node,
        outcome="differs" if bad else "unknown" if unknown else "noted" if note else "ok",
        expected=f"{count} of the preset",
        found=found[:300],
        note=(note or (f"in {one.source}" if bad else ""))[:200],
        fix=tuple(dict.fromkeys(errors)) if bad else (),
    )


def _told(one: Delivered) -> str:
    """`NCCL_NET differs: is 'Socket', wanted 'IB'`, with what wins where another place does."""
    if one.outcome == "missing" or not isinstance(one.seen, str):
        return f"{one.name} {one.outcome}"
    by = f" ({one.by})" if one.by else ""
    return f"{one.name} {one.outcome}: is {one.seen[:60]!r}, wanted {one.wanted[:60]!r}{by}"


def _names(word: str, values: Mapping[str, str]) -> str:
    return f"{word}: {', '.join(values)}" if values else ""


def _unseen(delivery: Delivery) -> Iterator[GateCheck]:
    for one in delivery.unseen:
        found = f"unknown: {one.reason}"
        yield GateCheck(id="delivery", node=one.node, outcome="unknown", expected="the preset's variables", found=found)
