"""The lines of one node's preset, each with the reason or the measurement behind it.

Placed lines are base's and never dropped; measured ones are the chosen set's own, exactly as confirmed. A line whose
value is base's anyway stays placed, and one that every node ignores is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import LinkProof
from fabricdoc.model.preset import Line
from fabricdoc.model.run import Candidate, NodeContext, Run
from fabricdoc.model.verdict import CandidateVerdict, Interval, LineVerdict, Verdict
from fabricdoc.tuning.fingerprint import ends_of
from fabricdoc.tuning.policy import ignored_on, reason_of
from fabricdoc.tuning.wording import one_line, size_text


def chosen_of(run: Run, verdict: Verdict) -> Candidate | None:
    """The candidate that the verdict chose; None where base is kept."""
    return next((one for one in run.plan.candidates if one.name == verdict.choice and one.role == "candidate"), None)


def lines_of(node: NodeContext, run: Run, verdict: Verdict) -> tuple[Line, ...]:
    """Placed lines in base's order, then measured ones; a measured line takes the place of a placed one of its name."""
    base = next((one for one in run.plan.candidates if one.role == "base"), None)
    chosen = chosen_of(run, verdict)
    lines: dict[str, Line] = {}
    if base is not None and (chosen is None or chosen.on_base):
        for name, value in _variables(base, node.name).items():
            evidence = _placed_evidence(name, value, base, node.name, run)
            lines[name] = Line(name=name, value=value, kind="placed", evidence=evidence)
    for name, value in _variables(chosen, node.name).items() if chosen is not None else ():
        if name not in lines or lines[name].value != value:
            lines[name] = _measured(run, verdict, name, value, lines.get(name))
    return tuple(line for line in lines.values() if not ignored_on(run.nodes, line.name))


def left_out(run: Run, verdict: Verdict) -> tuple[str, ...]:
    """Lines of the chosen set that every node ignores, a sentence each."""
    chosen = chosen_of(run, verdict)
    names = () if chosen is None else dict.fromkeys(
        name for node in run.nodes for name in _variables(chosen, node.name)
    )  # fmt: skip
    why = {name: ignored_on(run.nodes, name) for name in names}
    return tuple(f"{name} of {verdict.choice} is left out: {reason}." for name, reason in why.items() if reason)


def _variables(one: Candidate, node: str) -> Mapping[str, str]:
    return one.variables | one.node_variables.get(node, {})


def _placed_evidence(name: str, value: str, base: Candidate, node: str, run: Run) -> str:
    """Why base has it, what the policy says of it, and the proof of each link whose port or HCA the value names."""
    named = set(re.findall(r"[A-Za-z0-9_.@-]+", value))
    why = [one_line(base.why, 400)] if base.why else ["part of base: what makes this fabric work"]
    for mine, other in ends_of(run, node):
        if named & {mine.netdev, mine.hca, mine.ip}:
            why.append(f"{mine.netdev} meets {other.node}/{other.netdev}{_proof_text(run, mine.netdev, node)}")
    why += [reason] if (reason := reason_of(name, value)) else []
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


def _measured(run: Run, verdict: Verdict, name: str, value: str, instead_of: Line | None) -> Line:
    """A measured line: what its set gained, what is lost without it, and in whose place it stands."""
    judged = next((one for one in verdict.candidates if one.name == verdict.choice), None)
    checked = next((one for one in verdict.lines if one.name == name), None)
    told = f"chosen by run {run.id}" if judged is None else _measured_evidence(run, judged, checked, instead_of)
    done = sum(one.candidate == verdict.choice and one.status == "ok" for one in run.launches)
    return Line(
        name=name, value=value, kind="measured", evidence=told, effect=_effect(judged, checked), launches=done
    )  # fmt: skip


def _measured_evidence(run: Run, judged: CandidateVerdict, checked: LineVerdict | None, instead_of: Line | None) -> str:
    sizes = [cell.size for cell in judged.cells]
    span = f" Measured from {size_text(min(sizes))} to {size_text(max(sizes))}." if sizes else ""
    alone = f" This line: {checked.reason}." if checked is not None else ""
    instead = f" In place of base's {one_line(instead_of.value)!r}." if instead_of is not None else ""
    return f"{judged.reason}{alone}{span}{instead} Run {run.id}."


def _effect(judged: CandidateVerdict | None, checked: LineVerdict | None) -> Interval | None:
    """The line's own effect where it was taken away, else its set's, confirmed before searched."""
    if checked is not None and checked.without is not None:
        without = checked.without
        turned = {"ratio": 1.0 / without.ratio, "low": 1.0 / without.high, "high": 1.0 / without.low}
        return without.model_copy(update=turned)
    return None if judged is None else judged.confirmation or judged.score
