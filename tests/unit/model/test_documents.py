"""What every document promises: frozen, exact keys, a schema line, facts that are values or reasons."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fabricdoc import __version__
from fabricdoc.model.documents import Document, Unknown
from fabricdoc.model.fabric import Fabric, Netdev
from fabricdoc.model.findings import ErrorDocument, Evidence, Finding, Findings
from fabricdoc.model.gate import Gate
from fabricdoc.model.preset import Preset
from fabricdoc.model.profile import Profile
from fabricdoc.model.run import Cell, Run
from fabricdoc.model.verdict import Verdict
from tests.fabrics import crossed_pair, netdev

pytestmark = pytest.mark.unit

KINDS = [Fabric, ErrorDocument, Findings, Gate, Preset, Profile, Run, Verdict]


def test_kinds_are_unique_and_all_known_here() -> None:
    kinds = [document.kind for document in KINDS]
    assert len(set(kinds)) == len(kinds)
    assert {*KINDS} <= set(Document.__subclasses__())


def test_every_document_begins_with_schema_version_and_time() -> None:
    text = json.loads(Fabric().model_dump_json())
    assert list(text)[:3] == ["schema", "fabricdoc", "created"]
    assert text["schema"] == "fabricdoc/fabric/1"
    assert text["fabricdoc"] == __version__
    assert text["created"].endswith("Z")


def test_a_document_reads_back_equal() -> None:
    fabric = crossed_pair()
    assert Fabric.model_validate_json(fabric.model_dump_json()) == fabric


def test_another_kind_or_edition_is_refused() -> None:
    for schema in ("fabricdoc/run/1", "fabricdoc/fabric/2", "x"):
        with pytest.raises(ValidationError, match="wanted 'fabricdoc/fabric/1'"):
            Fabric.model_validate({"schema": schema})


def test_documents_are_frozen() -> None:
    fabric = Fabric()
    with pytest.raises(ValidationError):
        fabric.nodes = ()  # type: ignore[misc]


def test_unknown_keys_are_refused_by_place() -> None:
    with pytest.raises(ValidationError, match="nodess"):
        Fabric.model_validate({"nodess": []})


def test_a_fact_is_a_value_or_a_reason_and_nothing_else() -> None:
    fields = netdev("p0").model_dump()
    assert Netdev.model_validate({**fields, "mtu": {"unknown": "not read"}}).mtu == Unknown(unknown="not read")
    for bad in (None, {"unknown": "x", "value": 1}, {"unknwon": "x"}, "many"):
        with pytest.raises(ValidationError):
            Netdev.model_validate({**fields, "mtu": bad})


@given(st.text(max_size=60))
def test_a_reason_survives_json(reason: str) -> None:
    fact = Unknown(unknown=reason)
    assert Unknown.model_validate_json(fact.model_dump_json()) == fact


def test_findings_know_three_severities_and_default_to_certain() -> None:
    finding = Finding(id="x", severity="info", subject="s", evidence=(Evidence(file="alpha", text="t"),))
    assert (finding.confidence, finding.evidence[0].line) == ("certain", None)
    with pytest.raises(ValidationError):
        Finding.model_validate({"id": "x", "severity": "fatal", "subject": "s"})


@pytest.mark.parametrize("wrong", [{"view": "both"}, {"op": "gather"}, {"correct": "perhaps"}, {"calls": "many"}])
def test_a_cell_takes_only_known_views_and_ops(wrong: dict[str, str]) -> None:
    times = dict.fromkeys(("median_us", "p95_us", "p99_us", "max_us"), 1.0)
    cell = {"view": "eager", "op": "all_reduce", "size": 8, "dtype": "bfloat16", "calls": 1, "correct": True, **times}
    assert Cell.model_validate(cell).size == 8
    with pytest.raises(ValidationError):
        Cell.model_validate({**cell, **wrong})
