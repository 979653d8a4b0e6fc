"""A raw report made a node: strict, bounded, refused with the place that is wrong."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.errors import NodeError
from fabricdoc.fabric.report import MAX_DEPTH, MAX_TEXT, check_bounds, read_report
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import NodeReport
from tests.fabrics import hca, netdev, node
from tests.fabrics.spark import spark_pair

pytestmark = pytest.mark.unit


def raw() -> dict[str, Any]:
    """A whole report as a probe sends it."""
    whole = node("x", netdevs=[netdev("p0", ip="10.0.0.1")], hcas=[hca("rocep1s0f0", "p0")])
    report: dict[str, Any] = json.loads(whole.model_dump_json(include=set(NodeReport.model_fields)))
    return report


def refusal(report: Any) -> str:
    with pytest.raises(NodeError) as refused:
        read_report("beta", "10.0.0.2", report)
    assert refused.value.id == "report-invalid"
    assert refused.value.message.startswith("beta: ")
    return refused.value.message


def test_a_report_becomes_the_named_node() -> None:
    found = read_report("beta", "admin@10.0.0.2", raw())
    assert (found.name, found.target) == ("beta", "admin@10.0.0.2")
    assert not isinstance(found.hcas, Unknown)
    assert found.hcas[0].ports[0].netdev == "p0"


def test_what_follows_from_the_facts_is_filled_in() -> None:
    """A recorded Spark's report gives back its cages, NCCL's GIDs and its paths, and nothing else changes."""
    whole = spark_pair("one", renamed=True).nodes[0]
    report = json.loads(whole.model_dump_json(include=set(NodeReport.model_fields)))
    found = read_report(whole.name, whole.target, report)
    assert found.model_copy(update={"clock_offset_s": whole.clock_offset_s}) == whole
    assert len(found.cages) == len(found.nccl_gids) == 2 and len(found.gpu_paths) == 4


@pytest.mark.parametrize("key", ["cages", "nccl_gids", "gpu_paths"])
def test_a_probe_may_not_say_what_follows(key: str) -> None:
    assert key in refusal(raw() | {key: []})


SPARK = json.dumps(json.loads(spark_pair("one").nodes[0].model_dump_json(include=set(NodeReport.model_fields))))
LEAVES = st.sampled_from(["", "\x00", "p0", "::", "RoCE v2", "0000:01:00.0", -1, 0, 2**62, 1.5, True, None, [], {}])
ODD = LEAVES | st.just({"unknown": "x"}) | st.text(max_size=20)


def spoil(value: Any, draw: Any) -> Any:
    """The same value with one leaf, somewhere, replaced by an odd one."""
    if isinstance(value, dict) and value and "unknown" not in value:
        key = draw(st.sampled_from(sorted(value)))
        return value | {key: spoil(value[key], draw)}
    if isinstance(value, list) and value:
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], spoil(value[at], draw), *value[at + 1 :]]
    return draw(ODD)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_an_odd_leaf_is_refused_or_followed_but_never_a_crash(data: st.DataObject) -> None:
    report = json.loads(SPARK)
    for _ in range(data.draw(st.integers(1, 4))):
        report = spoil(report, data.draw)
    try:
        found = read_report("beta", "b", report)
    except NodeError:
        return
    assert {cage_hca for cage in found.cages for cage_hca in cage.hcas} <= {hca["name"] for hca in report["hcas"]}


def test_every_fact_may_be_unknown() -> None:
    report = raw()
    for name in ("hcas", "netdevs", "routes", "gpus"):
        report[name] = {"unknown": "time limit"}
    report["host"] = {name: {"unknown": "time limit"} for name in report["host"]} | {"environment": {}}
    found = read_report("beta", "b", report)
    assert found.hcas == found.host.kernel == Unknown(unknown="time limit")


@pytest.mark.parametrize("key", ["name", "target", "extra"])
def test_a_key_the_model_does_not_know_is_refused(key: str) -> None:
    assert key in refusal(raw() | {key: "evil"})


def test_a_missing_section_is_named() -> None:
    report = raw()
    del report["host"]
    assert "'host'" in refusal(report)


def test_types_are_strict() -> None:
    report = raw()
    report["netdevs"][0]["mtu"] = "9000"
    assert "netdevs" in refusal(report)


@pytest.mark.parametrize("report", [None, [], "text", 7, {}, {"hcas": 1}])
def test_anything_else_is_refused(report: Any) -> None:
    refusal(report)


@pytest.mark.parametrize(
    "changed", [{"ip": "10.0.0"}, {"prefix": 33}, {"prefix": -1}, {"family": "ipv6"}, {"ip": "\x1b[2J"}]
)
def test_an_address_that_is_none_is_refused(changed: dict[str, Any]) -> None:
    report = raw()
    report["netdevs"][0]["addresses"][0].update(changed)
    assert "\x1b" not in refusal(report)


def test_text_has_a_bound() -> None:
    report = raw()
    report["host"]["hostname"] = "x" * (MAX_TEXT + 1)
    assert f"a text of {MAX_TEXT + 1} characters" in refusal(report)
    report["host"]["hostname"] = "x" * MAX_TEXT
    assert read_report("beta", "b", report).host.hostname == "x" * MAX_TEXT


def test_keys_count_as_text() -> None:
    report = raw()
    report["host"]["environment"] = {"NCCL_" + "x" * MAX_TEXT: "1"}
    assert "characters" in refusal(report)


def test_numbers_have_a_bound() -> None:
    report = raw()
    report["host"]["memory_total"] = 2**64
    assert "64 bits" in refusal(report)
    report["host"]["memory_total"] = float("nan")
    assert "JSON" in refusal(report) or "range" in refusal(report)


@pytest.mark.long
def test_nesting_has_a_bound() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH):
        deep = [deep]
    with pytest.raises(ValueError, match="nested deeper"):
        check_bounds(deep)
    for _ in range(100_000):
        deep = [deep]
    refusal(raw() | {"hcas": deep})


def test_the_number_of_values_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabricdoc.fabric.report.MAX_VALUES", 100)
    assert "more than 100 values" in refusal(raw() | {"routes": [0] * 101})


def test_a_refusal_quotes_little_and_safely() -> None:
    message = refusal(raw() | {"\x1b[31m" + "k" * 4000: 1})
    assert len(message) < 500
    assert "\x1b" not in message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.long
@settings(max_examples=60)
@given(st.sampled_from(sorted(raw())), JSON)
def test_any_section_is_read_or_refused_never_worse(section: str, value: Any) -> None:
    report = copy.deepcopy(raw()) | {section: value}
    try:
        read_report("beta", "b", report)
    except NodeError as error:
        assert error.id == "report-invalid"
