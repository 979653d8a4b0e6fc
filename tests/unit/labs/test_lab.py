"""The lab's own economy: what is healthy is looked at once, before any fault; restored are both guests at once."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.labs import lab
from tests.labs.lab import CROSSED, STRAIGHT, RoceLab
from tests.labs.panel import Panel

pytestmark = pytest.mark.unit


class Fake:
    """A guest that counts what is asked of it."""

    def __init__(self) -> None:
        self.spec, self.changed = object(), False
        self.asked: list[str] = []

    def ask(self, script: str) -> str:
        self.asked.append(script)
        return ""

    def restore(self) -> None:
        self.changed = False


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each scan made."""
    made: list[int] = []

    def scan(*_: Any, **_more: Any) -> Fabric:
        made.append(1)
        return Fabric()

    monkeypatch.setattr(lab, "scan", scan)
    monkeypatch.setattr(lab, "map_cables", lambda _nodes, fabric, evidence: fabric)
    return made


@pytest.fixture
def two() -> RoceLab:
    wired: list[Any] = [CROSSED]

    def wire(*entries: Any) -> bool:
        wired.append(entries)
        return bool(wired[-1] != wired[-2])

    panel: Any = SimpleNamespace(wire=wire)
    vms: Any = {name: SimpleNamespace(set_link=lambda _port, _up: None) for name in ("alpha", "beta")}
    guests: Any = {"alpha": Fake(), "beta": Fake()}
    return RoceLab(panel, vms, guests)


def test_what_is_healthy_is_looked_at_once(two: RoceLab, scans: list[int]) -> None:
    healthy = two.healthy()
    two.beta.changed = True
    two.panel.wire(*STRAIGHT)
    assert two.healthy() is healthy
    two.restore()
    assert two.healthy() is two.linked() is healthy
    assert len(scans) == 1


def test_cables_are_mapped_over_a_scan_of_their_own_or_one_made_before(two: RoceLab, scans: list[int]) -> None:
    healthy = two.healthy()
    two.panel.wire(*STRAIGHT)
    assert two.cables(healthy) is healthy
    assert two.cables() is not healthy
    assert len(scans) == 2


def test_guests_forget_what_wrong_cables_taught_them(two: RoceLab, scans: list[int]) -> None:
    two.restore()
    assert [one.asked for one in two.guests] == [[], []]  # type: ignore[attr-defined]
    two.panel.wire(*STRAIGHT)
    two.restore()
    assert [one.asked for one in two.guests] == [["ip neigh flush all"]] * 2  # type: ignore[attr-defined]
    assert scans == []


def test_a_faulty_lab_is_not_taken_for_a_healthy_one(two: RoceLab, scans: list[int]) -> None:
    two.beta.changed = True
    for look in (two.healthy, two.linked):
        with pytest.raises(AssertionError, match="not healthy"):
            look()
    two.restore()
    two.pull("alpha", "enp1s0f0np0")
    with pytest.raises(AssertionError, match="not healthy"):
        two.healthy()
    two.restore()
    two.linked()
    assert len(scans) == 1


def test_both_guests_are_restored_at_once(two: RoceLab) -> None:
    """Each waits for the other within its own restore, which one after the other would never end."""
    meeting = threading.Barrier(2, timeout=10)
    for guest in two.guests:
        guest.changed = True
        guest.restore = meeting.wait  # type: ignore[method-assign]
    two.restore()


def test_rdma_is_asked_of_links_or_of_subnets(two: RoceLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "proven_by_rdma", lambda _nodes, fabric, _progress: fabric)
    proven = Fabric(links=())
    assert two.by_rdma(proven).links == ()
    assert isinstance(two.by_subnet(proven).links, Unknown)


def test_another_wiring_is_told_from_the_same_one(tmp_path: Any) -> None:
    panel = Panel(tmp_path / "panel", {})
    try:
        assert panel.wire(*CROSSED)
        assert not panel.wire(*CROSSED)
        assert panel.wire(*STRAIGHT)
    finally:
        panel.close()
