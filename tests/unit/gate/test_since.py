"""Error counters from gate to gate."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.gate import boot_of, standing_counters, with_growth
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Counters, Fabric

pytestmark = pytest.mark.unit

SUBJECT = "rocep1s0f0/1"


def counted(fabric: Fabric, change: Any, **values: int) -> Fabric:
    counters = (Counters(subject=SUBJECT, source="port", values=values, names=30),)
    return change.host(change.node(fabric, "alpha", counters=counters), "alpha", boot_id="boot-1")


def test_error_counters_stand_by_name(fabric: Fabric, change: Any) -> None:
    node = counted(fabric, change, symbol_error=7, port_xmit_data=10**9).nodes[0]
    assert standing_counters(node) == {f"{SUBJECT} port symbol_error": 7}
    assert boot_of(node) == "boot-1"
    blind = change.node(fabric, "alpha", counters=Unknown(unknown="no sysfs")).nodes[0]
    assert standing_counters(blind) == {}
    assert boot_of(fabric.nodes[1]) == ""


def growth(
    fabric: Fabric, change: Any, now: int, before: dict[str, int], boot: str = "boot-1", seconds: float = 60.0
) -> Any:
    seen = counted(fabric, change, link_downed=now)
    grown = with_growth(seen, {"alpha": before}, {"alpha": boot}, seconds).nodes[0]
    assert isinstance(grown.counters, tuple)
    return grown.watched_s, grown.counters[0].deltas


def test_what_grew_since_the_last_gate_is_a_delta(fabric: Fabric, change: Any) -> None:
    name = f"{SUBJECT} port link_downed"
    assert growth(fabric, change, 5, {name: 3}) == (60.0, {"link_downed": 2})
    assert growth(fabric, change, 5, {}) == (60.0, {"link_downed": 5})
    assert growth(fabric, change, 5, {name: 5}) == (60.0, {})


def test_a_counter_that_went_back_says_nothing(fabric: Fabric, change: Any) -> None:
    assert growth(fabric, change, 1, {f"{SUBJECT} port link_downed": 9}) == (60.0, {})


def test_another_boot_and_no_time_begin_anew(fabric: Fabric, change: Any) -> None:
    assert growth(fabric, change, 5, {}, boot="boot-0") == (0.0, {})
    assert growth(fabric, change, 5, {}, boot="") == (0.0, {})
    assert growth(fabric, change, 5, {}, seconds=0.0) == (0.0, {})
    assert growth(fabric, change, 5, {}, seconds=-3.0) == (0.0, {})


def test_nodes_that_were_not_gated_before_stay_as_they_are(fabric: Fabric, change: Any) -> None:
    seen = counted(fabric, change, link_downed=5)
    assert with_growth(seen, {"beta": {}}, {"beta": "boot-1"}, 60.0) == seen


def test_the_checks_judge_the_growth(fabric: Fabric, change: Any) -> None:
    seen = counted(fabric, change, link_downed=5)
    before = {one.id for one in check_fabric(seen)}
    after = {one.id for one in check_fabric(with_growth(seen, {"alpha": {}}, {"alpha": "boot-1"}, 60.0))}
    assert after - before == {"link-flap"}
