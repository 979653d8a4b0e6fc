"""The proof of a launch from the proofs of its ranks: joined paths, and what differs between ranks and must not.

`merge` joins network, version, choices and variables; here the HCAs and channels of all ranks are put beside one
another and compared. A rank whose log does not say a thing is never counted as different.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabricdoc.model.documents import Unknown
from fabricdoc.model.run import Proof
from fabricdoc.nccl import merge
from fabricdoc.nccl.variables import must_agree

MOST_MISMATCHES = 20
_SHOWN = 8


def merge_proofs(per_rank: Sequence[Proof]) -> Proof:
    """One proof for a launch from its ranks' (in rank order; () gives grade "none").

    As `merge.merge_proofs`, with the HCAs and channels of every rank, NCCL's table of LL128 and the mismatches.
    """
    ll128: dict[str, bool] = {}
    for proof in per_rank:
        ll128 |= {op: on or ll128.get(op, False) for op, on in proof.ll128.items()}
    more = {
        "hcas": tuple(hca for proof in per_rank for hca in proof.hcas),
        "channels": tuple(channel for proof in per_rank for channel in proof.channels),
        "ll128": ll128,
        "mismatches": tuple(mismatches(per_rank))[:MOST_MISMATCHES],
    }
    return merge.merge_proofs(per_rank).model_copy(update=more)


def mismatches(per_rank: Sequence[Proof]) -> Iterator[str]:
    """Sentences on versions, networks, HCA counts and variables that differ between ranks and must not."""
    versions = {
        rank: str(proof.version) for rank, proof in enumerate(per_rank) if not isinstance(proof.version, Unknown)
    }
    yield from _differ("NCCL's version differs", versions)
    networks = {
        rank: str(proof.network) for rank, proof in enumerate(per_rank) if not isinstance(proof.network, Unknown)
    }
    yield from _differ("the network differs", networks)
    counts = {rank: str(len(proof.hcas)) for rank, proof in enumerate(per_rank) if proof.hcas}
    yield from _differ("the number of HCAs differs", counts)
    for name in dict.fromkeys(name for proof in per_rank for name in proof.variables_read):
        if must_agree(name):
            values = {r: proof.variables_read[name] for r, proof in enumerate(per_rank) if name in proof.variables_read}
            yield from _differ(f"{name} differs, which must agree on all ranks", values)


def _differ(what: str, told: dict[int, str]) -> Iterator[str]:
    """One sentence with the first rank of every value, when there is more than one."""
    first: dict[str, int] = {}
    for rank, value in told.items():
        first.setdefault(value, rank)
    if len(first) > 1:
        yield f"{what}: " + ", ".join(f"{value} (rank {rank})" for value, rank in list(first.items())[:_SHOWN])
