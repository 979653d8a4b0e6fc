"""Answers of nodes put into one fabric: who answered, who failed and why, and what is found."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.fabric import scan
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import NodeReport
from fabricdoc.transport import NodeSpec
from tests.fabrics import netdev, node

pytestmark = pytest.mark.unit

Answers = dict[str, dict[str, Any] | NodeError | None]


def spec(name: str) -> SimpleNamespace:
    return SimpleNamespace(name=name, target=f"{name}.example")


def report(name: str, mtu: int = 9000, ip: str = "10.77.0.1") -> dict[str, Any]:
    whole = node(name, netdevs=[netdev("p0", mac=f"02:00:00:00:00:{len(name):02x}", ip=ip, mtu=mtu)])
    return {"event": "result", "report": whole.model_dump(mode="json", include=set(NodeReport.model_fields))}


def scanned(monkeypatch: pytest.MonkeyPatch, answers: Answers, asked: list[Any] | None = None, **options: float) -> Any:
    """Scan with a transport that answers as told."""

    def ask(nodes: Sequence[Any], module: str, request: dict[str, Any], *, deadline_s: float) -> SimpleNamespace:
        if asked is not None:
            asked.append((module, request, deadline_s))
        said = tuple(
            SimpleNamespace(
                node=one,
                message=None if isinstance(answers[one.name], NodeError) else answers[one.name],
                error=answers[one.name] if isinstance(answers[one.name], NodeError) else None,
                seconds=0.4,
                asked_at=1_000_000.0,
            )
            for one in nodes
        )
        return SimpleNamespace(answers=lambda: said)

    monkeypatch.setattr("fabricdoc.fabric.asking.Asking", ask)
    return scan([spec(name) for name in answers], **options)  # type: ignore[misc]


def test_nodes_keep_their_order_names_and_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = scanned(monkeypatch, {"zeta": report("zeta"), "al": report("al", ip="10.77.0.2")})
    assert [(one.name, one.target) for one in fabric.nodes] == [("zeta", "zeta.example"), ("al", "al.example")]
    assert fabric.failed == ()
    assert fabric.links == Unknown(unknown="not asked")


def test_the_probe_gets_less_time_than_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    scanned(monkeypatch, {"a": report("a")}, asked, deadline_s=20)
    ((module, request, deadline_s),) = asked
    assert (module, request["do"], request["deadline_s"], deadline_s) == ("scan", "scan", 14.0, 20)


def test_a_node_that_fails_is_listed_and_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    error = NodeError("b: no answer within 10 s", fix="is it on?", id="node-timeout")
    fabric = scanned(monkeypatch, {"a": report("a"), "b": error})
    assert [one.name for one in fabric.nodes] == ["a"]
    (failed,) = fabric.failed
    assert failed.model_dump() == {
        "name": "b",
        "target": "b.example",
        "id": "node-timeout",
        "message": "b: no answer within 10 s",
        "fix": "is it on?",
    }


@pytest.mark.parametrize(
    ("message", "id", "words"),
    [
        ({"event": "error", "message": "the scan probe only knows scan"}, "probe-failed", "only knows scan"),
        ({"event": "closed", "status": 1}, "probe-failed", "it said: nothing"),
        ({}, "probe-failed", "gave no report"),
        (None, "probe-failed", "gave no report"),
        ({"event": "result"}, "report-invalid", "not valid"),
        ({"event": "result", "report": {"hcas": []}}, "report-invalid", "not valid"),
    ],
)
def test_an_answer_that_is_no_report_fails_the_node(
    monkeypatch: pytest.MonkeyPatch, message: dict[str, Any] | None, id: str, words: str
) -> None:
    fabric = scanned(monkeypatch, {"a": message})
    assert fabric.nodes == ()
    assert fabric.failed[0].id == id
    assert words in fabric.failed[0].message


def test_findings_come_from_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = scanned(monkeypatch, {"alpha": report("alpha"), "be": report("be", mtu=1500, ip="10.77.0.2")})
    assert [finding.id for finding in fabric.findings if finding.severity != "info"] == ["mtu-mismatch"]


def at(clock: float | None, watched_s: float = 0.0) -> dict[str, Any]:
    """A report whose clock read this, in a scan that watched for so long."""
    said = report("a")
    said["report"]["host"]["clock"] = {"unknown": "time limit"} if clock is None else clock
    said["report"]["watched_s"] = watched_s
    return said


def test_a_clocks_offset_is_from_the_middle_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Answers = {"a": at(1_000_002.7), "bb": at(1_000_000.2), "c": at(None)}
    ahead, right, unread = scanned(monkeypatch, answers).nodes
    assert (ahead.clock_offset_s, right.clock_offset_s) == (2.5, 0.0)
    assert unread.clock_offset_s == Unknown(unknown="time limit")


def test_the_time_counters_were_watched_is_no_part_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    (node,) = scanned(monkeypatch, {"a": at(1_000_000.05, watched_s=0.3)}).nodes
    assert node.clock_offset_s == 0.0


@pytest.mark.long
def test_this_machines_own_clock_is_right() -> None:
    (node,) = scan([NodeSpec("a", "local")]).nodes
    assert isinstance(node.clock_offset_s, Unknown) or abs(node.clock_offset_s) < 1.0
