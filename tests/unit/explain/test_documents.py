"""Our own fabric documents as facts at their lines; what is damaged gives what it holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.explain import explain_files
from fabricdoc.explain.documents import is_document, kind_of, read_document
from fabricdoc.explain.seen import Material
from fabricdoc.model.fabric import Fabric
from tests.excerpts import log, modify_qp, told
from tests.fabrics.spark import spark_crossed, spark_straight, spark_switch, spark_twins_one_subnet

pytestmark = pytest.mark.unit

DOCUMENT = spark_straight().model_dump_json(by_alias=True, indent=1)


def facts(text: str) -> Material:
    material = Material("fabric.json")
    read_document(material, text)
    return material


def test_a_document_gives_ports_gids_and_addresses_of_each_node() -> None:
    found = facts(DOCUMENT)
    assert {"port", "gid", "netdev", "address"} <= {fact.path[0] for fact in found.facts}
    assert {fact.spot.node for fact in found.facts} == {node.name for node in spark_straight().nodes}


def test_every_fact_stands_on_its_line() -> None:
    lines = DOCUMENT.splitlines()
    for fact in facts(DOCUMENT).facts:
        assert fact.spot.text in lines[fact.spot.line - 1]
        assert json.dumps(str(fact.value).split("/")[0] if fact.path[0] == "address" else fact.value) in fact.spot.text


def test_a_document_in_one_line_is_quoted_around_the_value() -> None:
    text = spark_straight().model_dump_json(by_alias=True)
    for fact in facts(text).facts:
        assert fact.spot.line == 1
        assert len(fact.spot.text) <= 300
        assert fact.spot.text in text


@pytest.mark.parametrize("made", [spark_straight, spark_crossed, spark_switch])
def test_a_healthy_document_is_nothing_wrong(made: Callable[[], Fabric]) -> None:
    assert told({"fabric.json": made().model_dump_json(by_alias=True, indent=1)}).verdict == "none"


def test_a_document_keeps_its_nodes_apart() -> None:
    document = told({"fabric.json": spark_twins_one_subnet().model_dump_json(by_alias=True, indent=1)})
    assert document.verdict == "nics-share-subnet"
    assert document.findings[0].subject.startswith("spark-")


def test_rules_hold_a_log_against_a_document() -> None:
    port = next(
        port for node in spark_straight().nodes for hca in node.hcas for port in hca.ports if port.state == "ACTIVE"
    )
    assert port.gids
    text = log(
        "a",
        "NCCL_IB_GID_INDEX set by environment to 77.",
        modify_qp(61, "No data available", "x", "::", "::", index=77),
    )
    document = told({"a.log": text, "fabric.json": DOCUMENT})
    assert document.verdict == "wrong-gid-index"
    assert "fabric.json" in {piece.file for piece in document.findings[0].evidence}


@pytest.mark.parametrize("text", ["", "[]", "{", "{}", "[1]", '{"nodes": 3}', '{"schema": "fabricdoc/run/1"}'])
def test_what_is_no_fabric_is_none(text: str) -> None:
    assert not is_document(text)


@given(st.integers(0, 6000), st.text(max_size=10))
@settings(max_examples=6, deadline=None, derandomize=True)
def test_a_damaged_document_is_no_error(cut: int, junk: str) -> None:
    told({"fabric.json": DOCUMENT[:cut] + junk + DOCUMENT[cut:8000], "cut.json": DOCUMENT[:cut]})


FAILED = "alpha:1:2 [0] misc/socket.cc:5 NCCL WARN socketPollConnect: connect to 127.0.0.1<4000> Connection refused"


@pytest.mark.parametrize("kind", ["run", "gate", "verdict", "findings", "preset"])
def test_what_a_document_of_ours_quotes_is_no_log(kind: str, tmp_path: Path) -> None:
    document = {"schema": f"fabricdoc/{kind}/1", "log": [FAILED, "NCCL_SOCKET_IFNAME=lo"]}
    (tmp_path / "saved.json").write_text(json.dumps(document, indent=1))
    answer = explain_files([str(tmp_path)])
    assert answer.verdict == "unknown"
    assert f"({kind})" in answer.files[0].note
    assert not answer.files[0].node


def test_the_same_lines_in_somebody_elses_json_are_a_log(tmp_path: Path) -> None:
    (tmp_path / "saved.json").write_text(json.dumps({"schema": "other/run/1", "log": [FAILED]}, indent=1))
    assert kind_of('{"schema": "other/run/1"}') == ""
    assert explain_files([str(tmp_path)]).files[0].kinds


@pytest.mark.parametrize("text", ['{"schema":"fabricdoc/run/2"', '\n {\n "schema" : "fabricdoc/run/1",'])
def test_a_kind_is_told_by_the_beginning(text: str) -> None:
    assert kind_of(text) == "run"


def test_a_line_that_only_names_a_schema_is_no_document() -> None:
    assert kind_of('we read "schema": "fabricdoc/run/1" here') == ""
