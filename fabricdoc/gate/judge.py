"""The gate's answer: every fact of the fingerprint compared, the causes found, one sentence for the reason.

Any difference is not-fit; else any unknown is could-not-tell; else fit. A preset without a fingerprint can't
be judged. Pure: two documents in, one out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fabricdoc.errors import ExitStatus
from fabricdoc.gate.causes import find_causes
from fabricdoc.gate.commands import bench_command, node_words
from fabricdoc.gate.compared import Compared
from fabricdoc.gate.nodes import fact_comparisons, node_comparison
from fabricdoc.gate.ports import peer_comparisons, port_comparisons, unlistened
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import Gate
from fabricdoc.model.preset import Preset

Answer = Literal["fit", "not-fit", "could-not-tell"]
_STATUS = {"fit": ExitStatus.FIT, "not-fit": ExitStatus.NOT_FIT, "could-not-tell": ExitStatus.INCONCLUSIVE}


def judge_gate(preset: Preset, fabric: Fabric) -> Gate:
    """Compare the preset's fingerprint to a fresh look at its nodes and links."""
    comparisons = _comparisons(preset, fabric)
    missing = _unprinted(preset, fabric)
    findings = missing + find_causes(preset, fabric, comparisons)
    answer = _answer(comparisons, bool(missing))
    return Gate(
        preset=preset.name,
        answer=answer,
        reason=_reason(answer, comparisons, findings),
        checks=tuple(one.check() for one in comparisons),
        findings=findings,
    )


def gate_status(gate: Gate) -> ExitStatus:
    """fit 0, not-fit 1, could-not-tell 3."""
    return _STATUS[gate.answer]


def _comparisons(preset: Preset, fabric: Fabric) -> list[Compared]:
    nodes = {node.name: node for node in fabric.nodes}
    failed = {node.name: node for node in fabric.failed}
    prints = preset.fingerprint.nodes
    deaf = unlistened(fabric, [printed.name for printed in prints if printed.name not in nodes])
    found = [node_comparison(printed.name, nodes, failed) for printed in prints]
    for printed in prints:
        if printed.name in nodes:
            found += fact_comparisons(printed, nodes[printed.name])
            found += port_comparisons(printed, nodes[printed.name])
            found += peer_comparisons(printed, fabric, deaf)
    gone = {one.place for one in found if one.id == "port" and one.outcome != "ok"}
    return [one for one in found if one.id != "peer" or one.place not in gone]


def _unprinted(preset: Preset, fabric: Fabric) -> tuple[Finding, ...]:
    """A finding when nodes of the preset (or all) have no fingerprint to be held against."""
    printed = {node.name for node in preset.fingerprint.nodes}
    names = [node.name for node in preset.nodes if node.name not in printed]
    if printed and not names:
        return ()
    about = ", ".join(names) or preset.name
    cause = f"the preset records nothing that must still be true of {about}"
    fix = ("measure again, which records it:", bench_command(preset, node_words(preset, fabric)))
    return (Finding(id="gate-no-fingerprint", severity="warning", subject=about, cause=cause, fix=fix),)


def _answer(comparisons: Sequence[Compared], incomplete: bool) -> Answer:
    outcomes = {one.outcome for one in comparisons}
    if "differs" in outcomes:
        return "not-fit"
    return "could-not-tell" if incomplete or "unknown" in outcomes else "fit"


def _reason(answer: Answer, comparisons: Sequence[Compared], findings: Sequence[Finding]) -> str:
    """One sentence: the first cause that decides the answer, and how many more there are."""
    if answer == "fit":
        nodes = sum(one.id == "node" for one in comparisons)
        return f"all {len(comparisons)} facts of the fingerprint hold on {nodes} node{'s' if nodes != 1 else ''}"
    severity = "error" if answer == "not-fit" else "warning"
    deciding = [finding for finding in findings if finding.severity == severity]
    if not deciding:
        return f"{sum(one.outcome == 'differs' for one in comparisons)} facts of the fingerprint no longer hold"
    more = f" (and {len(deciding) - 1} more)" if len(deciding) > 1 else ""
    return f"{deciding[0].cause}{more}"
