"""Rates of single directions: against the fastest and against the wire, and which port is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric import rails_of
from fabricdoc.model.documents import Unknown
from fabricdoc.workflow.gate_bandwidth import (
    ALL,
    NODE,
    RAIL,
    Flow,
    Judged,
    Leg,
    check_of,
    flow_of,
    ill_node,
    judged,
    slow_legs,
    wire_gbps,
)
from fabricdoc.workflow.gate_launches import limits
from tests.fabrics.altering import changed
from tests.fabrics.spark import spark_one_cable, spark_x2
from tests.unit.workflow.gate_made import cell, launch

pytestmark = pytest.mark.unit

PART = limits()["bandwidth"]["of_best"]["nccl"]
OF_WIRE = limits()["bandwidth"]["of_wire"]["nccl"]
X4 = 32.0 * 4 * 128 / 130


def leg(sender: str = "a", receiver: str = "b", rail: int | None = 0, wire: float | None = None) -> Leg:
    ports = (f"p{rail}", f"q{rail}") if rail is not None else ("", "")
    return Leg(sender, receiver, rail, ports, wire)


def flows(*rates: float | None, wire: float | None = None) -> list[Flow]:
    return [Flow(leg(rail=at, wire=wire), rate, "" if rate else "it hung") for at, rate in enumerate(rates)]


def good(every: list[Judged]) -> list[bool]:
    return [one.good for one in every]


def test_the_rate_is_bytes_over_the_slower_ranks_time() -> None:
    """16 MiB in 1342.18 us are 100 Gbit/s."""
    one = launch(cell(16 << 20, 1342.17728, view="throughput", op="broadcast"))
    assert flow_of(leg(), one) == Flow(leg(), 100.0)


@pytest.mark.parametrize(
    "one",
    [
        launch(status="timeout", reason="rank 1 was overdue"),
        launch(cell(16 << 20, 1000.0, view="throughput", op="broadcast"), status="failed", reason="rank 1 was overdue"),
    ],
)
def test_a_launch_that_failed_has_no_rate_and_says_why(one) -> None:
    assert flow_of(leg(), one) == Flow(leg(), None, "rank 1 was overdue")


def test_other_ops_and_views_are_no_rate() -> None:
    others = launch(cell(8, 1.0, view="throughput"), cell(8, 1.0, op="broadcast"))
    assert flow_of(leg(), others).gbps is None


def test_equal_rails_are_good_and_one_at_half_is_not() -> None:
    assert good(judged(flows(92.6, 97.3), "nccl")) == [True, True]
    assert good(judged(flows(97.0, 97.0 * PART * 0.99), "nccl")) == [True, False]


def test_green_but_slow_everywhere_is_seen_against_the_wire() -> None:
    """13 Gbit/s on every rail with a good Gen5 x4 link: nothing differs, and nothing is right (spark facts 2.1)."""
    assert good(judged(flows(13.0, 13.2), "nccl")) == [True, True]
    ill = judged(flows(13.0, 13.2, wire=X4), "nccl")
    assert good(ill) == [False, False]
    assert ill[0].why == f"{OF_WIRE:g} of the wire, {X4:.0f} Gbit/s"
    assert good(judged(flows(92.6, 97.3, wire=X4), "nccl")) == [True, True]


def test_a_lab_has_no_wire_to_hold_against() -> None:
    assert good(judged(flows(1.0, 1.1, wire=10_000.0), "gloo")) == [True, True]


def test_all_rails_carry_no_less_than_one() -> None:
    both = [*flows(97.0, 96.0), Flow(leg(rail=None), 50.0), Flow(leg(rail=None), 161.0)]
    every = judged(both, "nccl")
    assert good(every) == [True, True, False, True]
    assert every[2].least == pytest.approx(PART * 161.0)
    assert every[0].least == pytest.approx(PART * 97.0), "a single rail is not held against all of them"


def test_nothing_anywhere_is_good_nowhere() -> None:
    assert good(judged(flows(None, None), "nccl")) == [False, False]
    assert judged([], "nccl") == []


@given(st.lists(st.one_of(st.none(), st.floats(0.001, 1e6)), min_size=1, max_size=8))
def test_the_fastest_is_always_good_and_what_failed_never(rates: list[float | None]) -> None:
    every = judged(flows(*rates), "nccl")
    known = [rate for rate in rates if rate is not None]
    for rate, one in zip(rates, every, strict=True):
        assert one.good == (rate is not None and rate >= PART * max(known))


def test_a_wire_is_its_weaker_end() -> None:
    fabric = spark_one_cable()
    rail, twin = rails_of(fabric)
    assert wire_gbps(fabric, rail) == pytest.approx(X4), "200G at the port, Gen5 x4 below"
    narrow = spark_x2()
    assert sorted(wire_gbps(narrow, one) or 0 for one in rails_of(narrow)) == pytest.approx([X4 / 2] * 2 + [X4] * 2)
    slow = changed(fabric, "spark-b", "netdev", twin.port("spark-b").netdev, speed_mbps=50_000)
    assert wire_gbps(slow, twin) == 50.0
    blind = fabric.model_copy(
        update={"nodes": tuple(one.model_copy(update={"pcie": Unknown(unknown="no")}) for one in fabric.nodes)}
    )
    assert wire_gbps(blind, rail) == 200.0


def test_a_rail_of_unknown_ports_has_no_wire() -> None:
    fabric = spark_one_cable()
    rail = rails_of(fabric)[0]
    nothing = fabric.model_copy(update={"nodes": ()})
    assert wire_gbps(nothing, rail) is None


def test_a_check_says_what_was_needed_and_what_was_seen() -> None:
    slow, fine = judged(flows(10.0, 100.0), "nccl")
    one = check_of(slow)
    assert (one.id, one.node, one.note) == (RAIL, "a", "p0 to b/q0")
    assert one.expected == f"at least {PART * 100:.1f} Gbit/s ({PART:g} of the fastest, 100.0 Gbit/s)"
    assert (one.found, one.outcome, check_of(fine).outcome) == ("10.0 Gbit/s", "differs", "ok")
    (whole,) = judged([Flow(leg(rail=None), None, "it hung")], "nccl")
    assert (check_of(whole).id, check_of(whole).note, check_of(whole).found) == (ALL, "all rails to b", "it hung")


def test_a_long_reason_is_short_in_the_check_and_whole_in_the_evidence() -> None:
    reason = "rank 0 was in phase measure " + "(broadcast 4194304 B bfloat16, throughput) " * 5 + "at the deadline"
    (one,) = judged([Flow(leg(), None, reason)], "nccl")
    assert len(check_of(one).found) <= 60 and check_of(one).found.endswith("...")
    assert reason in slow_legs([one], "a,b").evidence[0].text


def test_the_slow_direction_names_sender_port_and_both_ends_commands() -> None:
    slow, _ = judged(flows(10.0, 100.0), "nccl")
    found = slow_legs([slow], "a,b")
    assert (found.id, found.subject) == (RAIL, "a/p0")
    assert found.cause.startswith("from a to b 10.0 Gbit/s over p0: at least 60.0 are needed")
    assert found.fix == (
        "on a: tc -s qdisc show dev p0",
        "on b: ethtool q0",
        "see speed, width and counters of these ports:",
        "fabricdoc scan --nodes a,b",
    )


def test_both_directions_are_one_cause() -> None:
    there, back = Flow(leg("a", "b"), 10.0), Flow(Leg("b", "a", 0, ("q0", "p0")), None, "it hung")
    first, second, _ = judged([there, back, *flows(None, 100.0)[1:]], "nccl")
    found = slow_legs([first, second], "a,b")
    assert found.cause == "between a and b 10.0 Gbit/s over p0, nothing over q0: it hung"
    assert found.subject == "a/p0, b/q0"


def test_an_ill_node_is_told_with_whom_it_was_tried() -> None:
    members = judged([Flow(leg("x", "a"), 10.0), Flow(leg("g", "x"), 9.0), *flows(100.0)], "nccl")[:2]
    found = ill_node("x", members, "x,a,g")
    assert (found.id, found.subject) == (NODE, "x")
    assert found.cause.startswith("x is slow with a and with g, who are not slow with others")
    assert [line.file for line in found.evidence] == ["x", "g"]
