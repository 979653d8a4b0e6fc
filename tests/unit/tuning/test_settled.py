"""Failures, wrong results and proof of no effect settle a candidate before any number does."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.paths import ChannelPath
from fabricdoc.model.run import Candidate, Cell, Choice, Launch, Proof
from fabricdoc.tuning import settled as subject

pytestmark = pytest.mark.unit

RING = (Choice(op="AllReduce", size=8, algorithm="RING", protocol="LL", channels=2),
        Choice(op="AllReduce", size=1 << 20, algorithm="RING", protocol="SIMPLE", channels=8))  # fmt: skip


def _launch(number: int = 1, status: str = "ok", **fields: Any) -> Launch:
    return Launch(
        number=number, round="search", block=0, position=0, candidate="one", status=status, seconds=1.0,
        started="2026-11-29T10:00:00Z", **fields,
    )  # fmt: skip


def _proof(grade: str = "seen", **fields: Any) -> Proof:
    facts = {"version": "2.28.9", "network": "Socket", "gpu_direct": False, "choices": RING,
             "interfaces": ("eth0", "eth1"), "rank_interfaces": (("eth0", "eth1"),)}  # fmt: skip
    return Proof(grade=grade, **(facts | fields))


def _settle(
    targets: tuple[str, ...], mine: Proof | None, theirs: Proof | None, **fields: Any
) -> subject.Settled | None:
    one = Candidate(name="one", targets=targets, **fields)
    return subject.settle(one, [_launch(proof=mine)], [_launch(proof=theirs)])


def _changed(**fields: Any) -> tuple[Choice, ...]:
    return (RING[0].model_copy(update=fields), RING[1])


def test_a_failure_names_phase_rank_and_the_last_log_line() -> None:
    bad = _launch(2, "failed", phase="connect", rank=1, reason="remote error",
                  log_tail=("NCCL INFO fine", "NCCL WARN socketStartConnect: \x1b[1mrefused", "  "))  # fmt: skip
    got = subject.failed([_launch(1), bad, _launch(3, "interrupted")])
    assert got is not None
    assert (got.verdict, got.reason) == (
        "failed",
        "1 of 2 launches failed: in phase connect on rank 1: remote error;"
        " last log line: NCCL WARN socketStartConnect: [1mrefused",
    )


def test_a_timeout_says_so_with_what_is_known() -> None:
    assert subject.failure_text(_launch(1, "timeout", phase="init")) == "timed out in phase init"
    assert subject.failure_text(_launch(1, "failed")) == "no reason was given"
    assert subject.failure_text(_launch(1, "failed", log_tail=("a",))) == "last log line: a"


def test_a_reason_that_is_the_last_log_line_is_told_once() -> None:
    launch = _launch(1, "failed", rank=0, reason="refused: 127.0.0.1", log_tail=("x", "  refused:\t127.0.0.1"))
    assert subject.failure_text(launch) == "on rank 0: refused: 127.0.0.1"


def test_interrupted_launches_are_no_failure() -> None:
    assert subject.failed([_launch(1, "interrupted"), _launch(2)]) is None
    assert subject.failed([]) is None


def test_a_wrong_cell_makes_a_candidate_incorrect_though_its_launch_says_ok() -> None:
    cell = Cell(view="graph", op="all_reduce", size=20480, dtype="bfloat16", calls=1, median_us=1.0, p95_us=1.0,
                p99_us=1.0, max_us=1.0, correct=False)  # fmt: skip
    got = subject.settle(Candidate(name="one"), [_launch(4, cells=(cell,))], [])
    assert got == subject.Settled(
        "incorrect", "wrong result of all_reduce 20 KiB (graph) in launch 4: never use it"
    )  # fmt: skip


def test_a_launch_that_ended_incorrect_counts_without_cells() -> None:
    got = subject.incorrect([_launch(5, "incorrect", reason="rank 1: 3 of 10 values differ")])
    assert got is not None
    assert got.reason == "wrong results in launch 5: rank 1: 3 of 10 values differ: never use it"


def test_a_failure_is_told_before_a_wrong_result() -> None:
    got = subject.settle(Candidate(name="one"), [_launch(1, "incorrect"), _launch(2, "failed")], [])
    assert got is not None and got.verdict == "failed"


@pytest.mark.parametrize(
    ("targets", "changes"),
    [
        (("algorithm",), {"choices": _changed(algorithm="TREE")}),
        (("protocol",), {"choices": _changed(protocol="SIMPLE")}),
        (("channels",), {"choices": _changed(channels=1)}),
        (("network",), {"network": "IB"}),
        (("rails",), {"rank_interfaces": (("eth0",),)}),
    ],
)
def test_a_target_is_ineffective_only_when_the_log_shows_it_unchanged(targets, changes) -> None:
    unchanged = _settle(targets, _proof(), _proof())
    assert unchanged is not None
    assert unchanged.verdict == "ineffective"
    assert "as with base" in unchanged.reason
    assert _settle(targets, _proof(**changes), _proof()) is None


@pytest.mark.parametrize("target", ["algorithm", "protocol", "channels", "network", "rails"])
@pytest.mark.parametrize("grade", ["echoed", "none"])
def test_without_proof_seen_on_both_sides_nothing_is_ineffective(target: str, grade: str) -> None:
    assert _settle((target,), _proof(grade), _proof()) is None
    assert _settle((target,), _proof(), _proof(grade)) is None
    assert _settle((target,), None, _proof()) is None
    assert _settle((target,), _proof(), None) is None


@pytest.mark.parametrize(
    ("target", "changes"),
    [
        ("algorithm", {"choices": ()}),
        ("network", {"network": {"unknown": "no line"}}),
        ("rails", {"rank_interfaces": ()}),
    ],
)
def test_what_the_log_does_not_show_is_not_ineffective(target: str, changes: dict[str, Any]) -> None:
    assert _settle((target,), _proof(**changes), _proof(**changes)) is None


def test_logs_that_share_no_shape_can_not_show_no_change() -> None:
    other = (RING[0].model_copy(update={"size": 16}),)
    assert _settle(("algorithm",), _proof(choices=other), _proof()) is None


def test_of_several_targets_one_change_is_enough() -> None:
    mine = _proof(choices=_changed(protocol="SIMPLE"))
    assert _settle(("algorithm", "protocol"), mine, _proof()) is None
    assert _settle(("none",), _proof(), _proof()) is None


def _channels(
    *memories: str, sends: str = "gpu-direct", over: tuple[str, ...] = ("mlx5_0",)
) -> tuple[ChannelPath, ...]:
    """Two ranks, as many channels as memories named, each in both directions."""
    both = (("receive", None), ("send", sends))
    return tuple(
        ChannelPath(rank=rank, channel=at, peer=1 - rank, direction=direction, connection="collective", network="IB",
                    over=over, memory=fixed or memory)
        for rank in (0, 1) for at, memory in enumerate(memories) for direction, fixed in both
    )  # fmt: skip


def test_gpu_direct_is_ineffective_where_the_nics_read_and_write_the_same_memory() -> None:
    base = _proof(channels=_channels("gpu-direct", "gpu-direct"))
    same = _settle(("gpu_direct",), _proof(channels=_channels("gpu-direct")), base)
    assert same is not None, "fewer channels are no change of memory"
    assert same.verdict == "ineffective"
    assert same.reason == "the log shows no change: where the NICs read and write is as with base (gpu-direct)"


@pytest.mark.parametrize(
    "channels",
    [
        _channels("host-staged", sends="host-staged"),
        _channels("gpu-direct", sends="host-staged"),
        _channels("gpu-direct", "host-staged"),
        _channels("gpu-direct-dmabuf", sends="gpu-direct-dmabuf"),
        (),
        _channels("gpu-direct", over=()),
    ],
    ids=["off", "read-off", "one-channel", "dmabuf", "not-shown", "within-a-node"],
)
def test_gpu_direct_that_changed_or_is_not_shown_is_not_ineffective(channels: tuple[ChannelPath, ...]) -> None:
    base = _proof(channels=_channels("gpu-direct", "gpu-direct"))
    assert _settle(("gpu_direct",), _proof(channels=channels), base) is None
    assert _settle(("gpu_direct",), base, _proof(channels=channels)) is None


def test_the_order_of_interfaces_is_no_change() -> None:
    got = _settle(("rails",), _proof(rank_interfaces=(("eth1", "eth0"),)), _proof())
    assert got is not None and got.verdict == "ineffective"


def test_with_crossed_cables_one_rail_is_told_from_both_and_from_the_other() -> None:
    names = ("eth0", "eth1")
    first = _proof(interfaces=names, rank_interfaces=(("eth0",), ("eth1",)))
    other = _proof(interfaces=names, rank_interfaces=(("eth1",), ("eth0",)))
    both = _proof(interfaces=names, rank_interfaces=(names, names))
    assert _settle(("rails",), both, first) is None
    assert _settle(("rails",), other, first) is None
    again = _settle(("rails",), first, first)
    assert again is not None and again.verdict == "ineffective"


def test_a_rank_whose_interfaces_are_unknown_shows_no_lack_of_change() -> None:
    half = _proof(interfaces=("eth0",), rank_interfaces=(("eth0",), ()))
    assert _settle(("rails",), half, half) is None


def test_a_silent_fall_back_to_sockets_is_a_failure() -> None:
    got = _settle(("algorithm",), _proof(network="Socket"), _proof(network="IB"))
    assert got is not None
    assert (got.verdict, "base used IB" in got.reason) == ("failed", True)
    assert _settle(("network",), _proof(network="Socket"), _proof(network="IB")) is None
    wanted = _settle(("none",), _proof(network="Socket"), _proof(network="IB"), variables={"NCCL_NET": "Socket"})
    assert wanted is None
    assert _settle(("none",), _proof(network="Socket"), _proof(network="Socket")) is None


def test_choices_of_several_launches_are_one_proof() -> None:
    merged = subject.merged_proof([_launch(proof=_proof(choices=RING[:1])), _launch(proof=_proof(choices=RING[1:])),
                                   _launch(proof=_proof("echoed", choices=())), _launch()])  # fmt: skip
    assert merged is not None
    assert merged.choices == RING
    assert subject.merged_proof([_launch(), _launch(proof=_proof("echoed"))]) is None


def test_the_grade_is_the_best_one() -> None:
    assert subject.grade_of([_launch(proof=_proof("echoed")), _launch(proof=_proof("seen")), _launch()]) == "seen"
    assert subject.grade_of([_launch(proof=_proof("echoed")), _launch(proof=_proof("none"))]) == "echoed"
    assert subject.grade_of([_launch()]) == "none"
