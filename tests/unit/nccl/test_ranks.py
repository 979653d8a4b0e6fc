"""The proof of a launch: every rank's paths side by side, and what differs and must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.paths import HcaSeen
from fabricdoc.model.run import Proof
from fabricdoc.nccl import merge_proofs as through_the_door
from fabricdoc.nccl.proof import read_proof
from fabricdoc.nccl.ranks import MOST_MISMATCHES, merge_proofs, mismatches

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
NOT_READ = Unknown(unknown="the log has no version line")


def rank(version: str = "2.28.9", network: str = "IB", hcas: int = 2, number: int = 0, **variables: str) -> Proof:
    ports = [
        HcaSeen(rank=number, name=f"mlx5_{one}", port=1, gbps=200.0, used=True, gpu_direct=False) for one in range(hcas)
    ]
    return Proof(
        grade="seen", version=version or NOT_READ, network=network or NOT_READ, gpu_direct=False,
        variables_read=variables, hcas=tuple(ports),
    )  # fmt: skip


def test_real_ranks_join() -> None:
    proofs = [read_proof((LOGS / f"ib_two.rank{number}.log").read_text(), number) for number in (0, 1)]
    joined = merge_proofs(proofs)
    assert joined == through_the_door(proofs)
    assert joined.mismatches == ()
    assert [(hca.rank, hca.name) for hca in joined.hcas] == [
        (0, "rocep1s0f0"),
        (0, "roceP2p1s0f0"),
        (1, "rocep1s0f0"),
        (1, "roceP2p1s0f0"),
    ]
    assert {path.rank for path in joined.channels} == {0, 1}
    assert len(joined.channels) == sum(len(proof.channels) for proof in proofs)
    assert joined.grade == "seen" and joined.network == "IB"


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ((rank(version="2.27.3"), rank()), "NCCL's version differs: 2.27.3 (rank 0), 2.28.9 (rank 1)"),
        ((rank(), rank(network="Socket")), "the network differs: IB (rank 0), Socket (rank 1)"),
        ((rank(hcas=2), rank(hcas=1)), "the number of HCAs differs: 2 (rank 0), 1 (rank 1)"),
        (
            (rank(NCCL_PROTO="LL"), rank(), rank(NCCL_PROTO="Simple")),
            "NCCL_PROTO differs, which must agree on all ranks: LL (rank 0), Simple (rank 2)",
        ),
    ],
)
def test_what_differs_and_must_not(ranks: tuple[Proof, ...], words: str) -> None:
    assert merge_proofs(ranks).mismatches == (words,)


@pytest.mark.parametrize(
    "ranks",
    [
        (),
        (rank(),),
        (rank(), rank(version="")),
        (rank(), rank(network="")),
        (rank(hcas=2), rank(hcas=0)),
        (rank(NCCL_IB_HCA="=mlx5_0"), rank(NCCL_IB_HCA="=mlx5_1")),
        (rank(NCCL_PROTO="LL"), rank()),
        (rank(NCCL_HOSTID="a"), rank(NCCL_HOSTID="b")),
    ],
)
def test_what_may_differ_or_is_not_known(ranks: tuple[Proof, ...]) -> None:
    assert tuple(mismatches(ranks)) == ()


def test_many_mismatches_are_bounded() -> None:
    names = [name for name in ("NCCL_PROTO", "NCCL_ALGO", "NCCL_BUFFSIZE", "NCCL_NTHREADS") for _ in range(1)]
    left = rank(version="1.0", **dict.fromkeys(names, "1"))
    assert len(merge_proofs((left, rank(**dict.fromkeys(names, "2")))).mismatches) == 1 + len(names) <= MOST_MISMATCHES


def test_ll128_is_on_when_any_rank_shows_it_on() -> None:
    off, on = (
        rank().model_copy(update={"ll128": {"all_reduce": False}}),
        rank().model_copy(update={"ll128": {"all_reduce": True}}),
    )
    assert merge_proofs((off, on)).ll128 == merge_proofs((on, off)).ll128 == {"all_reduce": True}
