"""Several ranks' proofs as one, and whether the path taken is the one that was wanted.

A launch is as well proved as its worst rank; where ranks differ, that is said instead of picking one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.run import Choice, Proof
from fabricdoc.nccl.proof import MAX_WARNINGS

T = TypeVar("T")

_GRADES = ("none", "echoed", "seen")
_DIFFER = "ranks differ: "


def _agreed(facts: Sequence[Fact[T]]) -> Fact[T]:
    """The value all ranks that know it agree on; else the first reason, or who says what."""
    known = {rank: fact for rank, fact in enumerate(facts) if not isinstance(fact, Unknown)}
    if not known:
        return next((fact for fact in facts if isinstance(fact, Unknown)), Unknown(unknown="no rank left a log"))
    values = list(dict.fromkeys(known.values()))
    if len(values) == 1:
        return values[0]
    first = {value: next(rank for rank, fact in known.items() if fact == value) for value in values}
    return Unknown(unknown=_DIFFER + ", ".join(f"{value} (rank {rank})" for value, rank in list(first.items())[:8]))


def merge_proofs(per_rank: Sequence[Proof]) -> Proof:
    """One proof for a launch from its ranks' (in rank order; () gives grade "none").

    Interfaces and choices are joined (NCCL logs choices on rank 0 only); of a variable that differs between
    ranks, as selectors do, the values are joined by " | ".
    """
    choices: dict[tuple[str, int], Choice] = {}
    variables: dict[str, dict[str, None]] = {}
    for proof in per_rank:
        choices |= {(choice.op, choice.size): choice for choice in proof.choices}
        for name, value in proof.variables_read.items():
            variables.setdefault(name, {})[value] = None
    return Proof(
        grade=min((proof.grade for proof in per_rank), key=_GRADES.index, default="none"),
        version=_agreed([proof.version for proof in per_rank]),
        network=_agreed([proof.network for proof in per_rank]),
        interfaces=tuple(dict.fromkeys(name for proof in per_rank for name in proof.interfaces)),
        rank_interfaces=tuple(names for proof in per_rank for names in proof.rank_interfaces or (proof.interfaces,)),
        gpu_direct=_agreed([proof.gpu_direct for proof in per_rank]),
        choices=tuple(choices.values()),
        variables_read={name: " | ".join(values) for name, values in variables.items()},
        warnings=tuple(dict.fromkeys(text for proof in per_rank for text in proof.warnings))[:MAX_WARNINGS],
    )


def path_problem(proof: Proof, wanted_network: str | None) -> str | None:
    """Why the launch ran over another network than wanted, in one sentence, or None.

    `wanted_network` is "IB", "Socket", a plugin's name, or None for any. An unknown network is no problem
    here (the grade says it), except when ranks differ.
    """
    if isinstance(proof.network, Unknown):
        return f"network: {proof.network.unknown}" if proof.network.unknown.startswith(_DIFFER) else None
    if wanted_network is None or proof.network.lower() == wanted_network.lower():
        return None
    if proof.network.lower() == "socket":
        return f"NCCL fell back to sockets without an error: network {wanted_network} was wanted"
    return f"NCCL used network {proof.network}, wanted was {wanted_network}"
