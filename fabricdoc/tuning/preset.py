"""From a verdict to the preset: the lines each node needs, each with its evidence, and what was not exercised.

Placed lines (base's) are never dropped; measured lines are the chosen candidate's own, exactly as confirmed. Writing a
file and quoting for a consumer are other jobs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, LinkProof
from fabricdoc.model.preset import Line, NodePreset, Preset
from fabricdoc.model.run import Candidate, NodeContext, Proof, Run
from fabricdoc.model.verdict import CandidateVerdict, Verdict
from fabricdoc.tuning.fingerprint import ends_of, fingerprint
from fabricdoc.tuning.latencies import latencies_of
from fabricdoc.tuning.settled import merged_proof
from fabricdoc.tuning.wording import one_line, size_text


def build_preset(run: Run, verdict: Verdict, fabric: Fabric | None) -> Preset:
    """The preset of a run under a verdict; `fabric` is the scan that came with the run (None: ports stay unknown)."""
    return Preset(
        name=f"{verdict.profile}-{verdict.objective}",
        run=run.id,
        backend=run.plan.backend,
        objective=verdict.objective,
        profile=verdict.profile,
        choice=verdict.choice,
        reason=verdict.reason,
        exercised=_exercised(run),
        not_exercised=_not_exercised(run),
        nodes=tuple(
            NodePreset(name=node.name, target=node.target, python=node.python, lines=_lines(node, run, verdict))
            for node in run.nodes
        ),
        fingerprint=fingerprint(run, fabric),
        ranks_per_node=max((rank.local_rank + 1 for rank in run.plan.ranks), default=1),
        latencies=latencies_of(run, _source(run, verdict)),
    )


def _source(run: Run, verdict: Verdict) -> str:
    """The candidate whose variables the lines are: the chosen one, else base."""
    names = {one.name for one in run.plan.candidates if one.role == "candidate"}
    base = next((one.name for one in run.plan.candidates if one.role == "base"), "")
    return verdict.choice if verdict.choice in names else base


def _lines(node: NodeContext, run: Run, verdict: Verdict) -> tuple[Line, ...]:
    """Placed lines in base's order, then measured ones; a measured line takes the place of a placed one of its name."""
    base = next((one for one in run.plan.candidates if one.role == "base"), None)
    chosen = next((one for one in run.plan.candidates if one.name == verdict.choice and one.role == "candidate"), None)
    lines: dict[str, Line] = {}
    if base is not None and (chosen is None or chosen.on_base):
        for name, value in _variables(base, node.name).items():
            evidence = _placed_evidence(value, base, node.name, run)
            lines[name] = Line(name=name, value=value, kind="placed", evidence=evidence)
    if chosen is not None:
        judged = next((one for one in verdict.candidates if one.name == chosen.name), None)
        for name, value in _variables(chosen, node.name).items():
            evidence = _measured_evidence(run, judged, instead_of=lines.get(name))
            lines[name] = Line(name=name, value=value, kind="measured", evidence=evidence)
    return tuple(lines.values())


def _variables(one: Candidate, node: str) -> Mapping[str, str]:
    return one.variables | one.node_variables.get(node, {})


def _placed_evidence(value: str, base: Candidate, node: str, run: Run) -> str:
    """Why base has it, and the proof of each link whose port or HCA the value names."""
    named = set(re.findall(r"[A-Za-z0-9_.@-]+", value))
    why = [one_line(base.why, 400)] if base.why else ["part of base: what makes this fabric work"]
    for mine, other in ends_of(run, node):
        if named & {mine.netdev, mine.hca, mine.ip}:
            why.append(f"{mine.netdev} meets {other.node}/{other.netdev}{_proof_text(run, mine.netdev, node)}")
    return "; ".join(dict.fromkeys(why))


def _proof_text(run: Run, netdev: str, node: str) -> str:
    if isinstance(run.links, Unknown):
        return ""
    for link in run.links:
        if (node, netdev) in link.ends:
            proof = link.proof
            heard = proof.frames_a_to_b or proof.frames_b_to_a
            counts = f", {proof.frames_a_to_b} and {proof.frames_b_to_a} {_heard_as(proof)}" if heard else ""
            return f" ({link.kind}, proven by {proof.method} at {proof.at}{counts})"
    return ""


def _heard_as(proof: LinkProof) -> str:
    """What was counted."""
    return "messages" if proof.method == "rdma-ping" else "frames"


def _measured_evidence(run: Run, judged: CandidateVerdict | None, *, instead_of: Line | None) -> str:
    if judged is None:
        return f"chosen by run {run.id}"
    sizes = [cell.size for cell in judged.cells]
    span = f" Measured from {size_text(min(sizes))} to {size_text(max(sizes))}." if sizes else ""
    instead = f" In place of base's {one_line(instead_of.value)!r}." if instead_of is not None else ""
    return f"{judged.reason}{span}{instead} Run {run.id}."


def _exercised(run: Run) -> str:
    """On what the lines were measured, in one sentence."""
    done = sum(launch.status == "ok" for launch in run.launches)
    names = ", ".join(node.name for node in run.nodes)
    torch = next((node.torch for node in run.nodes if isinstance(node.torch, str)), "of unknown version")
    parts = [
        f"{run.plan.backend} under torch {torch}",
        f"{len(run.plan.ranks)} ranks on {names}",
        f"{done} launches (fresh starts of all ranks)",
    ]
    proof = merged_proof(run.launches)
    if proof is not None and isinstance(proof.network, str):
        parts.append(f"network {one_line(proof.network)}")
    return ", ".join(parts) + "."


def _not_exercised(run: Run) -> tuple[str, ...]:
    """What these measurements say nothing about."""
    server = "The served model itself: its collectives were timed alone, without its kernels and its skew."
    if run.plan.backend == "gloo":
        return (
            "No NCCL variable could be exercised: the ranks ran on gloo, which reads none of them.",
            "No GPU and no RDMA took part.",
            server,
        )
    return (*_nccl_gaps(merged_proof(run.launches)), server)


def _nccl_gaps(proof: Proof | None) -> tuple[str, ...]:
    if proof is None:
        return ("No launch proved what NCCL really used (network, HCAs, algorithm).",)
    gaps = []
    if not isinstance(proof.network, str):
        gaps.append("Which network NCCL used was not seen in its log.")
    elif proof.network.lower() == "socket":
        gaps.append("RDMA: NCCL ran over sockets.")
    if proof.gpu_direct is not True:
        gaps.append("GPU Direct RDMA: it was not seen in use.")
    return tuple(gaps)
