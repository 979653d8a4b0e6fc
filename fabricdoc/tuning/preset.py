"""From a verdict to the preset: the lines each node needs, each with its evidence, and what was not exercised.

Placed lines (base's) are never dropped; measured lines are the chosen candidate's own, exactly as confirmed. Writing a
file and quoting for a consumer are other jobs.
"""

from __future__ import annotations

from collections.abc import Collection

from fabricdoc.model.fabric import Fabric
from fabricdoc.model.preset import NodePreset, Preset
from fabricdoc.model.run import NodeContext, Proof, Run
from fabricdoc.model.verdict import Verdict
from fabricdoc.tuning.fingerprint import fingerprint
from fabricdoc.tuning.latencies import latencies_of
from fabricdoc.tuning.lines import left_out, lines_of
from fabricdoc.tuning.policy import expiry, left_unset
from fabricdoc.tuning.settled import merged_proof
from fabricdoc.tuning.wording import one_line


def build_preset(run: Run, verdict: Verdict, fabric: Fabric | None, *, valid_days: int | None = None) -> Preset:
    """The preset of a run under a verdict; `fabric` is the scan that came with the run (None: ports stay unknown).

    `valid_days` after the last launch it is to be measured again (None: as the policy says, 0: never).
    """
    lines = {node.name: lines_of(node, run, verdict) for node in run.nodes}
    named = {line.name for some in lines.values() for line in some}
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
        left_unset=(*left_unset(run, sorted(named)), *left_out(run, verdict)),
        expires=expiry(run, valid_days),
        nodes=tuple(
            NodePreset(
                name=node.name,
                target=node.target,
                python=node.python,
                lines=lines[node.name],
                inherited=inherited(node, {line.name for line in lines[node.name]})
                if run.plan.backend == "nccl"
                else {},
            )
            for node in run.nodes
        ),
        fingerprint=fingerprint(run, fabric),
        ranks_per_node=max((rank.local_rank + 1 for rank in run.plan.ranks), default=1),
        latencies=latencies_of(run, _source(run, verdict)),
    )


def inherited(node: NodeContext, own: Collection[str]) -> dict[str, str]:
    """NCCL's variables that the ranks found in their environment and the preset does not set itself."""
    known = node.environment or {}
    return {
        name: value
        for name, value in sorted(known.items())
        if name.startswith("NCCL_") and name.isidentifier() and name.isascii() and name not in own
    }


def _source(run: Run, verdict: Verdict) -> str:
    """The candidate whose variables the lines are: the chosen one, else base."""
    names = {one.name for one in run.plan.candidates if one.role == "candidate"}
    base = next((one.name for one in run.plan.candidates if one.role == "base"), "")
    return verdict.choice if verdict.choice in names else base


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
