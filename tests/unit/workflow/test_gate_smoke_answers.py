"""What a smoke level concludes from its launches: path, bits, time; and whom it names."""

from __future__ import annotations

import pytest

from fabricdoc.checks import load_catalogue
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Cell, Launch, NodeState
from fabricdoc.workflow import gate_bandwidth
from fabricdoc.workflow.gate_launches import limits, plan_between, smoke_shapes, smoke_views
from fabricdoc.workflow.gate_smoke import RDMA
from fabricdoc.workflow.gate_smoke_answers import (
    EXACT,
    LATENCY,
    LAUNCH,
    PATH,
    Tried,
    best_cells,
    check,
    finding,
    slow_only,
    smoke_answers,
    with_bandwidth,
)
from tests.fabrics.spark import spark_one_cable
from tests.unit.workflow.gate_made import IB, TWINS, cell, latency, launch, preset, proof

pytestmark = pytest.mark.unit

TWO = ("ib_two.rank0.log", "ib_two.rank1.log")
NONE = ("no_ib.rank0.log", "no_ib.rank1.log")
GLOO = {"spark-a": {"GLOO_SOCKET_IFNAME": "enp1s0f0np0"}, "spark-b": {"GLOO_SOCKET_IFNAME": "enp1s0f1np1"}}
NODES = "a=spark-a,spark-b"


def tried(
    *launches: Launch, of: Preset | None = None, measuring: bool = False
) -> list[tuple[GateCheck, Finding | None]]:
    of = of or preset()
    names = [node.name for node in of.nodes]
    plan = plan_between(of, spark_one_cable(), names, smoke_shapes(of), smoke_views(of), 30)
    return smoke_answers(Tried(of, plan, launches, NODES, measuring))


def named(answers: list[tuple[GateCheck, Finding | None]], id: str) -> list[tuple[GateCheck, Finding | None]]:
    return [one for one in answers if one[0].id == id]


def good(*cells: Cell) -> Launch:
    return launch(*(cells or (cell(8192, 33.0),)), proven=proof(*TWO))


def outcomes(answers: list[tuple[GateCheck, Finding | None]]) -> dict[str, set[str]]:
    return {id: {one.outcome for one, _ in named(answers, id)} for id in dict.fromkeys(one.id for one, _ in answers)}


def test_a_healthy_launch_holds_everywhere_and_finds_nothing() -> None:
    answers = tried(good(), of=preset(latencies=(latency(8192),)))
    assert outcomes(answers) == {PATH: {"ok"}, EXACT: {"ok"}, LATENCY: {"ok"}}
    assert [cause for _, cause in answers if cause] == []
    paths = [(one.node, one.expected, one.found) for one, _ in named(answers, PATH)]
    told = "IB on rocep1s0f0, roceP2p1s0f0"
    assert paths == [("spark-a", told, told), ("spark-b", told, told)]


def test_sockets_where_rdma_was_wanted_are_named_on_each_node() -> None:
    """NCCL's real log of a node without IB; the launch itself ended well, its record says failed."""
    reason = "NCCL fell back to sockets without an error: network IB was wanted"
    answers = tried(launch(cell(8192, 300.0), status="failed", proven=proof(*NONE), reason=reason))
    assert outcomes(answers)[PATH] == {"differs"}
    causes = [cause for _, cause in named(answers, PATH) if cause]
    assert [one.subject for one in causes] == ["spark-a", "spark-b"]
    assert causes[0].cause == f"on spark-a NCCL ran over Socket, the preset wants IB on {TWINS[1:].replace(',', ', ')}"
    assert f"fabricdoc scan --nodes {NODES}" in causes[0].fix


def test_an_hca_of_the_list_that_nccl_passed_over_is_named_with_its_node() -> None:
    longer = {**IB, "NCCL_IB_HCA": f"{TWINS},rocep1s0f1"}
    answers = tried(good(), of=preset({"spark-a": IB, "spark-b": longer}))
    (_, none), (one, cause) = named(answers, PATH)
    assert none is None and cause is not None
    assert (one.outcome, cause.subject) == ("differs", "spark-b/rocep1s0f1")
    assert "passed over rocep1s0f1" in cause.cause


@pytest.mark.parametrize("listed", ["^mlx5_3", "rocep1s0f0", "", "=rocep1s0f0:1,roceP2p1s0f0:1"])
def test_a_list_that_names_no_exact_devices_asks_for_none(listed: str) -> None:
    values = {**IB, "NCCL_IB_HCA": listed}
    assert outcomes(tried(good(), of=preset({"spark-a": values, "spark-b": values})))[PATH] == {"ok"}


def test_fused_devices_count_one_by_one() -> None:
    listed = {**IB, "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0,rocep1s0f1,roceP2p1s0f1"}
    fused = launch(cell(8192, 30.0), proven=proof("ib_four_fused.log"))
    answers = tried(fused, of=preset({"spark-a": listed, "spark-b": IB}))
    assert named(answers, PATH)[0][0].outcome == "ok"


def test_a_log_that_shows_no_path_can_not_be_told() -> None:
    """A preset that sends the log away: unknown, never a made-up path; and the cause says what takes it away."""
    for proven in (None, proof("warnings.log")):
        answers = tried(launch(cell(8192, 30.0), proven=proven))
        assert outcomes(answers)[PATH] == {"unknown"}
        assert "NCCL_DEBUG" in named(answers, PATH)[0][1].fix[0]  # type: ignore[union-attr]


def test_a_socket_preset_is_happy_with_sockets() -> None:
    values = {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "=va0"}
    sockets = launch(cell(8192, 300.0), proven=proof("socket_ll.log", "socket_ll.log"))
    assert outcomes(tried(sockets, of=preset({"spark-a": values, "spark-b": values})))[PATH] == {"ok"}


def gloo(**bytes_: dict[str, tuple[int, int]]) -> Launch:
    states = tuple(NodeState(node=node.replace("_", "-"), port_bytes=ports) for node, ports in bytes_.items())
    return launch(cell(1 << 20, 900.0), states=states)


def test_without_a_log_the_bytes_of_the_ports_are_the_path() -> None:
    most = 40 << 20
    both = gloo(spark_a={"enp1s0f0np0": (most, most)}, spark_b={"enp1s0f1np1": (most, most)})
    assert outcomes(tried(both, of=preset(GLOO, backend="gloo")))[PATH] == {"ok"}


def test_bytes_that_went_by_another_port_name_both() -> None:
    most = 40 << 20
    moved = gloo(spark_a={"enp1s0f0np0": (900, 0), "eth0": (most, most)}, spark_b={"enp1s0f1np1": (most, most)})
    (one, cause), (other, none) = named(tried(moved, of=preset(GLOO, backend="gloo")), PATH)
    assert (one.outcome, other.outcome, none) == ("differs", "ok", None)
    assert cause is not None and cause.subject == "spark-a/enp1s0f0np0"
    assert "but over eth0" in cause.cause


def test_a_port_without_counters_can_not_be_told() -> None:
    answers = tried(gloo(spark_a={}), of=preset(GLOO, backend="gloo"))
    assert outcomes(answers)[PATH] == {"unknown"}


def test_wrong_sums_name_what_the_preset_forces() -> None:
    forced = {**IB, "NCCL_PROTO": "LL128"}
    wrong = "results were not bit-exact: all_reduce 8192 B bfloat16 (eager) on rank 1 (7 elements)"
    bad = launch(cell(8192, 30.0, correct=False), status="incorrect", proven=proof(*TWO), reason=wrong)
    answers = tried(bad, of=preset({"spark-a": forced, "spark-b": forced}))
    ((one, cause),) = named(answers, EXACT)
    assert (one.outcome, one.found) == ("differs", "all_reduce 8192 B bfloat16 (eager) on rank 1 (7 elements)")
    assert cause is not None and "NCCL_PROTO=LL128" in cause.fix[0]
    assert LATENCY not in outcomes(answers), "the time of a wrong result says nothing"


@pytest.mark.parametrize(
    ("more", "node"),
    [
        ({"rank": 1, "phase": "connect", "reason": "ncclSystemError", "log_tail": ("a", "b")}, "spark-b"),
        ({"phase": "start", "reason": "spark-b: ssh ended"}, "spark-b"),
        ({"reason": ""}, "spark-a"),
    ],
)
def test_a_launch_that_failed_leaves_one_answer_that_names_the_node(more: dict[str, object], node: str) -> None:
    answers = tried(launch(status="timeout" if "rank" in more else "failed", **more))
    ((one, cause),) = answers
    assert (one.id, one.node, one.outcome) == (LAUNCH, node, "differs")
    assert cause is not None and cause.subject == node
    assert [line.text for line in cause.evidence] == list(more.get("log_tail", ()))  # type: ignore[call-overload]


def test_the_limit_is_the_highest_launch_widened_by_the_datas_tolerance() -> None:
    of = preset(latencies=(latency(8192, 30.0, 40.0),))
    limit = 40.0 * (1.0 + limits()["latency"]["tolerance"]["nccl"])
    for median, outcome in ((limit - 0.1, "ok"), (limit + 0.1, "differs"), (1.0, "ok")):
        ((one, cause),) = named(tried(good(cell(8192, median)), of=of), LATENCY)
        assert (one.outcome, cause is None) == (outcome, outcome == "ok")
        assert f"at most {limit:.1f} µs (30.0 to 40.0 measured, 6 launches)" == one.expected


def test_the_faster_of_two_launches_counts() -> None:
    of = preset(latencies=(latency(8192, 30.0, 40.0),))
    slow, fast = good(cell(8192, 400.0)), good(cell(8192, 35.0))
    assert outcomes(tried(slow, fast, of=of))[LATENCY] == {"ok"}
    ((_, cause),) = named(tried(slow, slow, of=of), LATENCY)
    assert cause is not None and "in both launches, 11.4 times what was measured" in cause.cause
    assert best_cells((slow, fast))["eager", 8192, "bfloat16", True].median_us == 35.0


def test_the_level_that_tells_the_slow_part_is_advised_by_the_one_that_does_not() -> None:
    of = preset(latencies=(latency(8192),))
    again = "measure again, if this is what the fabric is now:"
    (one,) = [cause for _, cause in tried(good(cell(8192, 400.0)), of=of) if cause]
    assert one.fix[1:] == ("fabricdoc gate --level full --preset r1", f"or {again}", f"fabricdoc bench --nodes {NODES}")
    (other,) = [cause for _, cause in tried(good(cell(8192, 400.0)), of=of, measuring=True) if cause]
    assert other.fix == (again, f"fabricdoc bench --nodes {NODES}")
    assert " us" not in other.cause and "400.0 µs" in other.cause


def test_what_the_bandwidth_showed_is_mended_first() -> None:
    (slow,) = [cause for _, cause in tried(good(cell(8192, 400.0)), of=preset(latencies=(latency(8192),))) if cause]
    rail = finding(gate_bandwidth.RAIL, "spark-a/p0", "13 Gbit/s over p0", ["ethtool p0"])
    late = finding(gate_bandwidth.ALL, "spark-a", "no time was left", ["wait"], severity="warning")
    assert with_bandwidth(slow, [late, rail]).fix == ("first what the bandwidth shows, spark-a/p0:", "ethtool p0")
    assert with_bandwidth(slow, [late]) == slow
    assert with_bandwidth(rail, [rail]) == rail


@pytest.mark.parametrize(
    ("outcome", "id", "goes_on"),
    [
        ("ok", PATH, True),
        ("differs", LATENCY, True),
        ("unknown", LATENCY, False),
        ("differs", PATH, False),
        ("unknown", PATH, False),
        ("differs", EXACT, False),
        ("differs", LAUNCH, False),
    ],
)
def test_only_what_took_longer_is_looked_into_deeper(outcome: str, id: str, goes_on: bool) -> None:
    good_one = check(EXACT, "", "results", "bit-exact", "bit-exact", "ok")
    assert slow_only([good_one, check(id, "", "x", "y", "z", outcome)]) is goes_on


def test_a_slow_launch_tells_what_its_nodes_showed() -> None:
    state = NodeState(node="spark-b", throttled=("hw_slowdown",), port_errors={"out_of_sequence": 9})
    slow = launch(cell(8192, 400.0), proven=proof(*TWO), states=(state,))
    ((_, cause),) = named(tried(slow, of=preset(latencies=(latency(8192),))), LATENCY)
    assert cause is not None
    assert [(line.file, line.text) for line in cause.evidence] == [
        ("spark-b", "the GPU was held back: hw_slowdown"),
        ("spark-b", "out_of_sequence grew by 9"),
    ]


def test_a_preset_that_measured_nothing_is_held_against_nothing_and_says_so() -> None:
    ((one, cause),) = named(tried(good()), LATENCY)
    assert (one.outcome, one.expected, one.found, cause) == ("ok", "not measured by the preset", "33.0 µs", None)


def test_every_id_stands_in_the_one_list() -> None:
    ids = {LAUNCH, PATH, EXACT, LATENCY, RDMA, gate_bandwidth.RAIL, gate_bandwidth.ALL, gate_bandwidth.NODE}
    assert ids <= set(load_catalogue())


@pytest.mark.parametrize(
    ("status", "reason", "fix"),
    [
        ("failed", "torch.OutOfMemoryError: CUDA out of memory", "on spark-b: nvidia-smi"),
        ("failed", "ncclRemoteError: remote process exited", "fabricdoc cables --nodes "),
        ("timeout", "rank 1 was overdue; last log line: CUDA error", "fabricdoc cables --nodes "),
    ],
)
def test_where_a_gpu_ended_the_launch_nobody_is_sent_to_the_cables(status: str, reason: str, fix: str) -> None:
    ((_, cause),) = tried(launch(status=status, rank=1, phase="init", reason=reason))
    assert cause is not None
    assert cause.fix[-1].startswith(fix)
