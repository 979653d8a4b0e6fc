"""Ranks' proofs joined, and the silent fall-back to sockets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.documents import Unknown
from fabricdoc.model.run import Choice, Proof
from fabricdoc.nccl.merge import merge_proofs, path_problem
from fabricdoc.nccl.proof import read_proof

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
NOTHING = Proof(
    grade="none", version=Unknown(unknown="v"), network=Unknown(unknown="n"), gpu_direct=Unknown(unknown="g")
)


def seen(**changes: object) -> Proof:
    base = Proof(grade="seen", version="2.28.9", network="IB", interfaces=("mlx5_0",), gpu_direct=False)
    return base.model_copy(update=changes)


def real(name: str) -> Proof:
    return read_proof((LOGS / name).read_text())


def test_the_ranks_of_a_real_launch_make_one_proof() -> None:
    proof = merge_proofs([real("ib_two.rank0.log"), real("ib_two.rank1.log")])
    assert (proof.grade, proof.version, proof.network, proof.gpu_direct) == ("seen", "2.28.9", "IB", False)
    assert proof.interfaces == ("rocep1s0f0", "roceP2p1s0f0")
    assert proof.choices == real("ib_two.rank0.log").choices != ()
    assert path_problem(proof, "IB") is None


def test_a_real_fall_back_is_a_problem() -> None:
    proof = merge_proofs([real("no_ib.rank0.log"), real("no_ib.rank1.log")])
    reason = path_problem(proof, "IB")
    assert reason is not None and "fell back to sockets" in reason and "IB was wanted" in reason
    assert path_problem(proof, "Socket") is None
    assert path_problem(proof, "socket") is None
    assert path_problem(proof, None) is None
    assert path_problem(real("ib_port_down.log"), "IB") == reason


def test_another_plugin_is_a_problem_too() -> None:
    assert path_problem(seen(network="IBext_v9"), "IB") == "NCCL used network IBext_v9, wanted was IB"


def test_a_network_nobody_knows_is_no_problem_of_the_path() -> None:
    assert path_problem(NOTHING, "IB") is None
    assert path_problem(real("ib_selector_matches_nothing.log"), "IB") is None


def test_ranks_on_different_networks_are_a_problem_whatever_was_wanted() -> None:
    proof = merge_proofs([seen(), seen(network="Socket"), seen(network="Socket")])
    assert proof.network == Unknown(unknown="ranks differ: IB (rank 0), Socket (rank 1)")
    for wanted in ("IB", "Socket", None):
        assert path_problem(proof, wanted) == "network: ranks differ: IB (rank 0), Socket (rank 1)"


def test_a_launch_is_as_well_proved_as_its_worst_rank() -> None:
    assert merge_proofs([seen(), seen(grade="echoed")]).grade == "echoed"
    assert merge_proofs([seen(), NOTHING]).grade == "none"
    assert merge_proofs([seen(), NOTHING]).network == "IB", "what one rank knows is kept"
    assert merge_proofs([seen()]) == seen(rank_interfaces=(("mlx5_0",),))


def test_no_ranks_make_no_proof() -> None:
    proof = merge_proofs([])
    assert (proof.grade, proof.choices, proof.warnings) == ("none", (), ())
    assert proof.network == Unknown(unknown="no rank left a log")


def test_reasons_survive_when_nobody_knows() -> None:
    assert merge_proofs([NOTHING, NOTHING]).version == Unknown(unknown="v")


def test_versions_and_gpu_direct_that_differ_are_said() -> None:
    proof = merge_proofs([seen(), seen(version="2.30.7", gpu_direct=True)])
    assert proof.version == Unknown(unknown="ranks differ: 2.28.9 (rank 0), 2.30.7 (rank 1)")
    assert proof.gpu_direct == Unknown(unknown="ranks differ: False (rank 0), True (rank 1)")


def test_variables_interfaces_and_warnings_are_joined() -> None:
    first = seen(variables_read={"NCCL_NET": "IB", "NCCL_IB_HCA": "=a"}, warnings=("w1", "w2"))
    second = seen(variables_read={"NCCL_NET": "IB", "NCCL_IB_HCA": "=b"}, warnings=("w2", "w3"), interfaces=("b",))
    proof = merge_proofs([first, second])
    assert proof.variables_read == {"NCCL_NET": "IB", "NCCL_IB_HCA": "=a | =b"}
    assert proof.interfaces == ("mlx5_0", "b")
    assert proof.rank_interfaces == (("mlx5_0",), ("b",))
    assert proof.warnings == ("w1", "w2", "w3")


def test_warnings_stay_few() -> None:
    ranks = [seen(warnings=tuple(f"{rank}.{number}" for number in range(20))) for rank in range(8)]
    assert len(merge_proofs(ranks).warnings) == 20


def test_the_last_rank_that_logs_a_choice_wins() -> None:
    ring = Choice(op="all_reduce", size=8, algorithm="RING", protocol="LL", channels=1)
    tree = ring.model_copy(update={"algorithm": "TREE"})
    assert merge_proofs([seen(choices=(ring,)), seen(choices=(tree,)), seen()]).choices == (tree,)


PROOFS = st.builds(
    seen,
    grade=st.sampled_from(["seen", "echoed", "none"]),
    network=st.one_of(st.sampled_from(["IB", "Socket"]), st.builds(Unknown, unknown=st.just("x"))),
    interfaces=st.lists(st.sampled_from("abc"), max_size=3).map(tuple),
)


@given(st.lists(PROOFS, max_size=6))
def test_merging_loses_no_interface_and_makes_up_no_network(ranks: list[Proof]) -> None:
    merged = merge_proofs(ranks)
    assert set(merged.interfaces) == {name for proof in ranks for name in proof.interfaces}
    known = {proof.network for proof in ranks if isinstance(proof.network, str)}
    assert (merged.network in known) is (len(known) == 1)
    assert merge_proofs([merged]) == (merged if ranks else merged.model_copy(update={"rank_interfaces": ((),)}))
