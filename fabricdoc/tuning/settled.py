"""What settles a candidate before any number counts: a launch that failed, a wrong result, or proof of no effect.

Proof is what the library's own log said (model.run.Proof); "ineffective" needs proof seen on both sides, never a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fabricdoc.model.documents import Unknown
from fabricdoc.model.reasons import plain_reason
from fabricdoc.model.run import Candidate, Choice, Launch, Proof, Target
from fabricdoc.model.verdict import Judgement
from fabricdoc.tuning.wording import one_line, size_text

Grade = Literal["seen", "echoed", "none"]
REASON = 240
_GRADES: tuple[Grade, ...] = ("none", "echoed", "seen")


@dataclass(frozen=True)
class Settled:
    """A judgement that needs no number, with its reason."""

    verdict: Judgement
    reason: str


def settle(candidate: Candidate, own: Sequence[Launch], base: Sequence[Launch]) -> Settled | None:
    """Failed, incorrect or ineffective, from the candidate's launches and base's; None when numbers decide."""
    return (
        failed(own)
        or incorrect(own)
        or _fell_back_to_sockets(candidate, own, base)
        or _ineffective(candidate, merged_proof(own), merged_proof(base))
    )


def failed(launches: Sequence[Launch]) -> Settled | None:
    """Whether any launch failed or ran into its deadline: how many, and where the first one was."""
    bad = [launch for launch in launches if launch.status in ("failed", "timeout")]
    if not bad:
        return None
    tried = sum(launch.status != "interrupted" for launch in launches)
    return Settled("failed", f"{len(bad)} of {tried} launches failed: {failure_text(bad[0])}")


def failure_text(launch: Launch) -> str:
    """How one launch failed: "timed out in phase connect on rank 1: ...; last log line: ..." (told once if equal)."""
    words = ["timed out"] if launch.status == "timeout" else []
    words += [f"in phase {one_line(launch.phase)}"] if launch.phase else []
    words += [f"on rank {launch.rank}"] if launch.rank is not None else []
    last = one_line(plain_reason(next((line for line in reversed(launch.log_tail) if line.strip()), "")), REASON)
    reason = one_line(plain_reason(launch.reason), REASON)
    told = [" ".join(words), reason, f"last log line: {last}" if last and last != reason else ""]
    return "; ".join(part for part in (": ".join(filter(None, told[:2])), told[2]) if part) or "no reason was given"


def incorrect(launches: Sequence[Launch]) -> Settled | None:
    """Whether any result was wrong: which collective, and in which launch."""
    for launch in launches:
        for cell in launch.cells:
            if not cell.correct:
                where = f"{cell.op} {size_text(cell.size)} ({cell.view})"
                return Settled("incorrect", f"wrong result of {where} in launch {launch.number}: never use it")
        if launch.status == "incorrect":
            reason = f": {one_line(launch.reason)}" if launch.reason else ""
            return Settled("incorrect", f"wrong results in launch {launch.number}{reason}: never use it")
    return None


def grade_of(launches: Sequence[Launch]) -> Grade:
    """The best grade of proof among the launches."""
    grades = [launch.proof.grade for launch in launches if launch.proof is not None]
    return max(grades, key=_GRADES.index, default="none")


def merged_proof(launches: Sequence[Launch]) -> Proof | None:
    """One proof from all launches whose proof was seen: the last one's words, with the choices of all of them."""
    seen = [launch.proof for launch in launches if launch.proof is not None and launch.proof.grade == "seen"]
    if not seen:
        return None
    choices = {(choice.op, choice.size): choice for proof in seen for choice in proof.choices}
    return seen[-1].model_copy(update={"choices": tuple(choices.values())})


def _fell_back_to_sockets(candidate: Candidate, own: Sequence[Launch], base: Sequence[Launch]) -> Settled | None:
    mine, theirs = merged_proof(own), merged_proof(base)
    if mine is None or theirs is None or isinstance(mine.network, Unknown) or isinstance(theirs.network, Unknown):
        return None
    wanted = candidate.variables.get("NCCL_NET", "").lower() == "socket" or "network" in candidate.targets
    if wanted or mine.network.lower() != "socket" or theirs.network.lower() == "socket":
        return None
    reason = f"NCCL fell back to sockets without a word; base used {one_line(theirs.network)}"
    return Settled("failed", reason)


def _ineffective(candidate: Candidate, mine: Proof | None, theirs: Proof | None) -> Settled | None:
    targets = [target for target in candidate.targets if target != "none"]
    if mine is None or theirs is None or not targets:
        return None
    unchanged = [_unchanged(target, mine, theirs) for target in targets]
    if not all(unchanged):
        return None
    return Settled("ineffective", f"the log shows no change: {'; '.join(unchanged)}")


def _unchanged(target: Target, mine: Proof, theirs: Proof) -> str:
    """How the log shows the target equal to base's; empty when it changed or can't be told."""
    if target == "network":
        same = isinstance(mine.network, str) and mine.network == theirs.network
        return f"network is {mine.network} as with base" if same else ""
    if target == "rails":
        return _same_interfaces(mine, theirs)
    if target == "gpu_direct":
        return _same_memory(mine, theirs)
    return _same_choices(target, mine.choices, theirs.choices)


def _same_interfaces(mine: Proof, theirs: Proof) -> str:
    """Whether every rank used the interfaces it used under base; the names of all ranks together would not tell."""
    ours, bases = ([frozenset(names) for names in proof.rank_interfaces] for proof in (mine, theirs))
    if not ours or ours != bases or not all(ours):
        return ""
    return f"interfaces of every rank are as with base ({', '.join(mine.interfaces)})"


def _same_memory(mine: Proof, theirs: Proof) -> str:
    """Whether the NICs read and wrote the same memory, in both directions on every rank, as under base.

    Channels are not held against each other one by one: a candidate may have fewer of them.
    """
    ours, bases = _memory(mine), _memory(theirs)
    if not ours or ours != bases:
        return ""
    kinds = sorted({memory for _, _, _, memory in ours})
    return f"where the NICs read and write is as with base ({', '.join(kinds)})"


def _memory(proof: Proof) -> frozenset[tuple[int, str, str, str]]:
    """(rank, direction, connection, memory) of the channels that leave a node."""
    return frozenset((one.rank, one.direction, one.connection, one.memory) for one in proof.channels if one.over)


def _same_choices(target: Target, mine: Sequence[Choice], theirs: Sequence[Choice]) -> str:
    """Whether algorithm, protocol or channels is the same at every op and size that both logs show."""
    name = {"algorithm": "algorithm", "protocol": "protocol", "channels": "channels"}.get(target, "")
    base = {(choice.op, choice.size): getattr(choice, name) for choice in theirs} if name else {}
    shared = [(choice, base[choice.op, choice.size]) for choice in mine if (choice.op, choice.size) in base]
    if not shared or any(getattr(choice, name) != value for choice, value in shared):
        return ""
    return f"{name} is as with base at all {len(shared)} shapes"
