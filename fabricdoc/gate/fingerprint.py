"""The preset's fingerprint held against a fresh look: every fact compared, and the causes of what differs.

What stands by itself (ports down now, memory, tenants) is judged elsewhere; this is only then against now.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.gate.causes import find_causes
from fabricdoc.gate.commands import bench_command, node_words
from fabricdoc.gate.compared import Compared
from fabricdoc.gate.nodes import fact_comparisons, node_comparison
from fabricdoc.gate.ports import meetings, peer_comparisons, port_comparisons, unlistened
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck
from fabricdoc.model.preset import Preset


def judge_fingerprint(preset: Preset, fabric: Fabric, only: str = "") -> tuple[list[GateCheck], list[Finding]]:
    """Each fact as a check, and the findings: most fundamental cause first.

    `only` is the one node whose own part is asked: whom its ports meet is then not.
    """
    if only:
        preset = _narrowed(preset, only)
    compared = comparisons(preset, fabric, peers=not only)
    missing = _unprinted(preset, fabric)
    checks = [one.check() for one in compared]
    if missing:
        checks.append(
            GateCheck(id="fingerprint", node="", outcome="unknown", expected="recorded", found="not recorded")
        )
    return checks, [*missing, *find_causes(preset, fabric, compared)]


def _narrowed(preset: Preset, only: str) -> Preset:
    nodes = tuple(one for one in preset.nodes if one.name == only)
    prints = tuple(one for one in preset.fingerprint.nodes if one.name == only)
    return preset.model_copy(
        update={"nodes": nodes, "fingerprint": preset.fingerprint.model_copy(update={"nodes": prints})}
    )


def comparisons(preset: Preset, fabric: Fabric, *, peers: bool = True) -> list[Compared]:
    """Every fact of the fingerprint beside what was seen."""
    nodes = {node.name: node for node in fabric.nodes}
    failed = {node.name: node for node in fabric.failed}
    prints = preset.fingerprint.nodes
    deaf = unlistened(fabric, [printed.name for printed in prints if printed.name not in nodes])
    met = {} if isinstance(fabric.links, Unknown) else meetings(fabric.links)
    found = [node_comparison(printed.name, nodes, failed) for printed in prints]
    for printed in prints:
        if printed.name in nodes:
            found += fact_comparisons(printed, nodes[printed.name])
            found += port_comparisons(printed, nodes[printed.name])
            found += peer_comparisons(printed, fabric, deaf, met) if peers else []
    gone = {one.place for one in found if one.id == "port" and one.outcome != "ok"}
    return [one for one in found if one.id != "peer" or one.place not in gone]


def _unprinted(preset: Preset, fabric: Fabric) -> tuple[Finding, ...]:
    """A finding when nodes of the preset (or all) have no fingerprint to be held against."""
    printed = {node.name for node in preset.fingerprint.nodes}
    names: Sequence[str] = [node.name for node in preset.nodes if node.name not in printed]
    if printed and not names:
        return ()
    about = ", ".join(names) or preset.name
    cause = f"the preset records nothing that must still be true of {about}"
    fix = ("measure again, which records it:", bench_command(preset, node_words(preset, fabric)))
    return (Finding(id="gate-no-fingerprint", severity="warning", subject=about, cause=cause, fix=fix),)
