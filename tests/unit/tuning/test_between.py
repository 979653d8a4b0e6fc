"""Sizes that nobody measured: told on a line within one protocol, never across a switch, never from far away."""

from __future__ import annotations

import pytest

from fabricdoc.model.run import Choice, Proof
from fabricdoc.model.verdict import CandidateVerdict, Verdict
from fabricdoc.tuning import judge
from fabricdoc.tuning.between import FAR, Call, gaps_of, switched, told
from fabricdoc.tuning.blocks import CellKey
from tests.unit.tuning.conftest import DECODE, TRUE_US

pytestmark = pytest.mark.unit
LIKE = CellKey("graph", "all_reduce", 0)
SIZES = (1024, 16384, 65536)


def _of(verdict: Verdict, name: str) -> CandidateVerdict:
    return next(one for one in verdict.candidates if one.name == name)


def test_a_candidate_whose_protocol_changes_between_two_sizes_is_not_told_between_them(synthetic, profile) -> None:
    true = {key: took for key, took in TRUE_US.items() if key != DECODE} | {
        ("eager", "all_reduce", 16384): 70.0, ("eager", "all_reduce", 32768): 95.0,
    }  # fmt: skip
    low = Choice(op="all_reduce", size=16384, algorithm="RING", protocol="LL", channels=1)
    high = low.model_copy(update={"size": 32768, "protocol": "SIMPLE"})
    same = high.model_copy(update={"protocol": "LL"})
    proofs = {"base": _proof(low, same), "one": _proof(low, high)}
    made = synthetic(effects={"one": {None: 1.3}, "two": {None: 1.3}}, noise=0.01, true_us=true, proofs=proofs)
    verdict = judge(made.run(), profile, "decode")
    one = _of(verdict, "one")
    assert one.verdict == "inconclusive"
    assert one.reason == (
        "All_reduce 20 KiB can't be told: NCCL takes ring/ll at 16 KiB and ring/simple at 32 KiB,"
        " and no size between was measured."
    )
    assert _of(verdict, "two").verdict == "better"  # its log shows nothing, so nothing is known to change
    hidden = synthetic(effects={"one": {None: 1.3}}, noise=0.01, true_us=true, proofs={"base": _proof(low, high)}).run()
    obstructed = judge(hidden, profile, "decode")
    assert not obstructed.conclusive
    assert "all_reduce 20 KiB (NCCL takes ring/ll at 16 KiB and ring/simple at 32 KiB" in obstructed.reason
    assert obstructed.advice[-1].endswith("--ops all_reduce --sizes 20480")


def _proof(*choices: Choice) -> Proof:
    return Proof(grade="seen", version="2.28.9", network="Socket", gpu_direct=False, choices=choices)


def test_a_size_between_two_of_one_protocol_lies_on_the_line_in_logarithms() -> None:
    one = {("all_reduce", 1024): "ring/ll", ("all_reduce", 16384): "ring/ll"}
    answer = told("all_reduce", 4096, 3, LIKE, SIZES, one)
    assert answer.call is not None
    assert (answer.gap, answer.beyond, answer.call.count, answer.call.size) == ("", "", 3, 4096)
    assert [(key.size, part) for key, part in answer.call.parts] == [
        (1024, pytest.approx(0.5)),
        (16384, pytest.approx(0.5)),
    ]


def test_a_size_across_a_switch_is_a_gap_and_a_measured_size_never_is() -> None:
    chosen = {("all_reduce", 1024): "ring/ll", ("all_reduce", 16384): "tree/ll"}
    across = told("all_reduce", 4096, 3, LIKE, SIZES, chosen)
    assert (across.call, across.beyond) == (None, "")
    assert across.gap.startswith("all_reduce 4 KiB (NCCL takes ring/ll at 1 KiB and tree/ll at 16 KiB")
    assert told("all_reduce", 16384, 3, LIKE, SIZES, chosen).gap == ""
    assert told("all_reduce", 32768, 3, LIKE, SIZES, chosen).gap == ""  # 64 KiB is not in the log
    assert told("all_gather", 4096, 3, LIKE, SIZES, chosen).gap == ""  # nor any all_gather


def test_far_outside_nothing_is_guessed() -> None:
    assert told("all_reduce", 65536 * FAR, 1, LIKE, SIZES, {}).beyond != ""
    assert told("all_reduce", 65536 * FAR + 8, 1, LIKE, SIZES, {}).gap == (
        "all_reduce 510 KiB (measured up to 64 KiB)"
    )  # fmt: skip
    assert told("all_reduce", 8, 1, LIKE, SIZES, {}).call == Call(1, ((LIKE._replace(size=1024), 1.0),), size=8)
    assert told("all_reduce", 8, 1, LIKE, (1 << 20,), {}).gap == "all_reduce 8 B (measured from 1 MiB on)"


def test_only_calls_between_two_sizes_can_cross_a_switch() -> None:
    chosen = {("all_reduce", 1024): "ring/ll", ("all_reduce", 16384): "ring/simple"}
    between = told("all_reduce", 4096, 1, LIKE, SIZES, {}).call
    exact = told("all_reduce", 1024, 1, LIKE, SIZES, {}).call
    assert between is not None
    assert exact is not None
    assert len(gaps_of([between, between, exact], chosen)) == 1
    assert gaps_of([exact], chosen) == ()
    assert switched("all_reduce", 1024, 16384, {}) == ""
