"""The lab's own economy: a healthy scan is made once, and made anew after something was done to a guest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

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


def test_a_healthy_scan_is_shared_while_only_cables_change(two: RoceLab, scans: list[int]) -> None:
    two.healthy()
    two.panel.wire(*STRAIGHT)
    two.cables()
    two.restore()
    two.cables()
    assert len(scans) == 1


def test_guests_forget_what_wrong_cables_taught_them(two: RoceLab, scans: list[int]) -> None:
    two.restore()
    assert [one.asked for one in two.guests] == [[], []]  # type: ignore[attr-defined]
    two.panel.wire(*STRAIGHT)
    two.restore()
    assert [one.asked for one in two.guests] == [["ip neigh flush all"]] * 2  # type: ignore[attr-defined]
    assert scans == []


def test_whatever_is_done_to_a_guest_takes_a_new_scan_then_and_afterwards(two: RoceLab, scans: list[int]) -> None:
    two.healthy()
    two.beta.changed = True
    two.cables()
    assert len(scans) == 2
    with pytest.raises(AssertionError, match="not healthy"):
        two.healthy()
    two.restore()
    two.healthy()
    two.healthy()
    assert len(scans) == 3


def test_a_pulled_cable_is_something_done(two: RoceLab, scans: list[int]) -> None:
    two.healthy()
    two.pull("alpha", "enp1s0f0np0")
    two.cables()
    two.restore()
    two.cables()
    assert len(scans) == 3


def test_another_wiring_is_told_from_the_same_one(tmp_path: Any) -> None:
    panel = Panel(tmp_path / "panel", {})
    try:
        assert panel.wire(*CROSSED)
        assert not panel.wire(*CROSSED)
        assert panel.wire(*STRAIGHT)
    finally:
        panel.close()
