"""What the deeper levels launch: the preset's own variables and sizes, on its own rails, within the data's limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.plan import environment_of
from fabricdoc.errors import InconclusiveError
from fabricdoc.fabric import rails_of
from fabricdoc.model.documents import Unknown
from fabricdoc.workflow.gate_launches import (
    between,
    candidate_of,
    limits,
    measured,
    meeting_address,
    names_in,
    plan_between,
    preset_rails,
    smoke_shapes,
    smoke_views,
    values_of,
)
from tests.fabrics.spark import spark_one_cable, spark_ring
from tests.unit.workflow.gate_made import IB, latency, preset

pytestmark = pytest.mark.unit

PAIR = ("spark-a", "spark-b")


def test_each_node_gets_its_own_lines_and_nothing_else() -> None:
    other = {**IB, "NCCL_IB_HCA": "=rocep1s0f1"}
    one = preset({"spark-a": IB, "spark-b": other})
    plan = plan_between(one, spark_one_cable(), PAIR, smoke_shapes(one), ("eager",), 30)
    candidate = candidate_of(one, PAIR)
    assert environment_of(plan, candidate, "spark-a") == IB
    assert environment_of(plan, candidate, "spark-b") == other
    assert candidate.on_base is False, "nothing is laid over anything: no base of the bench's own"


def test_what_would_take_the_log_away_is_left_out_and_the_rest_is_not() -> None:
    noisy = {**IB, "NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": "/tmp/x", "NCCL_PROTO": "LL"}
    assert values_of(preset({"spark-a": noisy}), "spark-a") == {**IB, "NCCL_PROTO": "LL"}


def test_what_is_read_when_torch_loads_needs_agents_of_its_own() -> None:
    assert candidate_of(preset(), PAIR).fresh_agent is False
    preloaded = {**IB, "LD_PRELOAD": "/opt/libnccl.so.2"}
    assert candidate_of(preset({"spark-a": preloaded, "spark-b": IB}), PAIR).fresh_agent is True


def test_the_sizes_are_those_that_were_measured_nearest() -> None:
    small, large = limits()["smoke"]["sizes"]
    one = preset(latencies=tuple(latency(size) for size in (8, 20480, 64 << 20, 1 << 20)))
    assert [shape.size for shape in smoke_shapes(one)] == [8, 1 << 20]  # 8 is nearer to 8192 than 20480 is
    assert [shape.size for shape in smoke_shapes(preset())] == [small, large]
    assert len(smoke_shapes(preset(latencies=(latency(64),)))) == 1


def test_form_and_dtype_are_the_measured_ones() -> None:
    odd = latency(8192).model_copy(update={"in_place": False, "dtype": "float16"})
    (shape,) = smoke_shapes(preset(latencies=(odd,)))
    assert (shape.in_place, shape.dtype) == (False, "float16")


def test_views_are_those_that_can_be_compared() -> None:
    assert smoke_views(preset()) == ("eager",)
    assert smoke_views(preset(latencies=(latency(8), latency(8, view="graph")))) == ("graph", "eager")
    assert smoke_views(preset(latencies=(latency(1 << 20, view="throughput"),))) == ("eager",)


@pytest.mark.parametrize(
    "fields", [{"size": 0}, {"size": 1 << 50}, {"high_us": 0.0}, {"high_us": float("inf")}, {"high_us": float("nan")}]
)
def test_a_hostile_latency_is_none(fields: dict[str, float]) -> None:
    bad = latency(8192).model_copy(update=fields)
    assert measured(preset(latencies=(bad,)), "all_reduce") == ()
    assert [shape.size for shape in smoke_shapes(preset(latencies=(bad,)))] == limits()["smoke"]["sizes"]


def test_as_many_ranks_per_node_as_were_measured() -> None:
    eight = preset().model_copy(update={"ranks_per_node": 8})
    plan = plan_between(eight, spark_one_cable(), PAIR[::-1], smoke_shapes(eight), ("eager",), 7.5)
    assert [(rank.rank, rank.node, rank.local_rank) for rank in plan.ranks][7:9] == [
        (7, "spark-b", 7),
        (8, "spark-a", 0),
    ]
    assert (plan.launch_deadline_s, plan.views, len(plan.ranks)) == (7.5, ("eager",), 16)
    assert plan.unified_memory == PAIR, "a GB10 shares its host's memory: the larger floor"


def test_only_rails_that_the_selectors_name_on_every_node() -> None:
    fabric = spark_one_cable()
    assert len(rails_of(fabric)) == 2
    assert len(preset_rails(preset(), fabric, PAIR)) == 2
    single = {**IB, "NCCL_IB_HCA": "=rocep1s0f0"}
    (rail,) = preset_rails(preset({"spark-a": single, "spark-b": single}), fabric, PAIR)
    assert {port.hca for port in rail.ports} == {"rocep1s0f0"}
    apart = preset({"spark-a": single, "spark-b": {**IB, "NCCL_IB_HCA": "=roceP2p1s0f0"}})
    assert preset_rails(apart, fabric, PAIR) == ()


def test_two_nodes_of_a_ring_have_rails_that_the_ring_has_not() -> None:
    ring = spark_ring()
    names = [node.name for node in ring.nodes]
    assert rails_of(ring) == () or len(names) == 2
    pair = between(ring, names[:2])
    assert [node.name for node in pair.nodes] == names[:2]
    assert len(rails_of(pair)) >= 1
    listed = {**IB, "NCCL_IB_HCA": "=" + ",".join(hca.name for hca in ring.nodes[0].hcas)}  # type: ignore[union-attr]
    assert preset_rails(preset(dict.fromkeys(names, listed)), ring, names[:2]) == rails_of(pair)
    assert [node.name for node in between(ring, names[1::-1]).nodes] == names[1::-1], "in the order asked for"


def test_unknown_links_stay_unknown() -> None:
    bare = spark_one_cable().model_copy(update={"links": Unknown(unknown="no beacons")})
    assert between(bare, PAIR).links == bare.links


def test_they_meet_on_the_first_rail_else_at_the_fingerprints_address() -> None:
    fabric = spark_one_cable()
    turned = PAIR[::-1]
    assert meeting_address(preset(), fabric, turned) == preset_rails(preset(), fabric, PAIR)[0].port("spark-b").ip
    nothing = fabric.model_copy(update={"links": (), "nodes": ()})
    assert meeting_address(preset(), nothing, PAIR) == "10.9.9.1"
    with pytest.raises(InconclusiveError):
        meeting_address(preset().model_copy(update={"fingerprint": type(preset().fingerprint)()}), nothing, PAIR)


@pytest.mark.parametrize(
    ("value", "names"),
    [("=a:1,b", ["a", "b"]), ("a, b", ["a", "b"]), ("^a", []), ("^=a", []), ("", []), ("=,", []), ("=a:1:0", ["a"])],
)
def test_names_of_a_list(value: str, names: list[str]) -> None:
    assert names_in(value) == names


@given(st.text(max_size=40))
def test_any_text_has_names_without_blanks_at_their_ends(value: str) -> None:
    assert all(name and name == name.strip() and "," not in name for name in names_in(value))
