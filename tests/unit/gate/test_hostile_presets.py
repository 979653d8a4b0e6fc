"""A preset is a file that somebody sent: whatever stands in it, the gate answers, in clean and bounded words."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fabricdoc.errors import FabricdocError
from fabricdoc.export.starting_prints import prints_of
from fabricdoc.gate import Looked, Terms, conclude, judge_quick
from fabricdoc.model.documents import Unknown
from fabricdoc.model.gate import Gate
from fabricdoc.model.preset import Preset
from fabricdoc.report import status_line, textfile
from tests.fabrics.spark import spark_crossed
from tests.unit.workflow.gate_made import preset

pytestmark = pytest.mark.unit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Path_ = tuple[str | int, ...]
HOSTILE = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "-",
            "--nodes=x",
            "a,b",
            "=",
            "^",
            "/",
            "a/b",
            "$(id)",
            "x" * 5000,
            "\x1b[31m",
            "\n",
            "\u202e",
            "é",
            "∞",
        ]
    ),
    st.sampled_from([0, -1, 1 << 62, -(1 << 62), None, True, 1e308, [], ["x"], {}, {"unknown": "\n" * 50}]),
    st.text(max_size=20),
)


@cache
def healthy() -> dict[str, Any]:
    """The recorded pair's preset, as its file holds it."""
    fabric = spark_crossed()
    ports: dict[str, list[str]] = {}
    for node in fabric.nodes:
        assert not isinstance(node.hcas, Unknown)
        ports[node.name] = [str(hca.ports[0].netdev) for hca in node.hcas]
    made = preset().model_copy(update={"fingerprint": prints_of(fabric, ports)})
    found: dict[str, Any] = made.model_dump(mode="json", by_alias=True)
    return found


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, at))
    yield path


def put(document: Any, path: Path_, value: Any) -> None:
    *ahead, last = path
    for step in ahead:
        document = document[step]
    document[last] = value


def gated(of: Preset) -> Gate:
    fabric = spark_crossed()
    variables = {node.name: {line.name: line.value for line in node.lines} for node in of.nodes}
    checks, findings = judge_quick(Looked(fabric=fabric, preset=of, now=NOW, variables=variables, head="spark-a"))
    return conclude(Terms(preset=of.name or "unnamed"), [node.name for node in fabric.nodes], checks, findings)


def test_as_it_is_it_is_a_go() -> None:
    assert gated(Preset.model_validate(healthy())).answer == "go"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), HOSTILE), min_size=1, max_size=3))
def test_any_value_in_any_place_is_refused_or_judged(changes: list[tuple[int, Any]]) -> None:
    document = copy.deepcopy(healthy())
    for at, value in changes:
        places = [path for path in leaves(document) if path]
        put(document, places[at % len(places)], copy.deepcopy(value))
    try:
        gate = gated(Preset.model_validate(document))
    except (ValidationError, FabricdocError):
        return
    line = status_line(gate)
    assert line.isprintable()
    assert len(line) < 4096
    assert textfile(gate, 1.0).endswith("\n")
    assert all(one.fix and one.who for one in gate.checks if one.outcome in ("differs", "failed"))
    Gate.model_validate_json(gate.model_dump_json())
