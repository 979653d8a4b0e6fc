"""Probes one after another in one python: begun by name, ended with a word, and nothing else listened to."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.probes import __main__ as entry
from fabricdoc.probes import several
from fabricdoc.probes.several import main

pytestmark = pytest.mark.unit


class FakeWire:
    """Messages as given, then the end of input; what is written is kept."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.messages = list(messages)
        self.written: list[dict[str, Any]] = []
        self.waits: list[float] = []

    def read(self, timeout_s: float) -> dict[str, Any] | None:
        self.waits.append(timeout_s)
        return self.messages.pop(0) if self.messages else None

    def write(self, message: dict[str, Any]) -> None:
        self.written.append(message)


def begin(name: Any) -> dict[str, Any]:
    return {"do": "begin", "probe": name}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which probes ran; each takes one message for itself."""
    ran: list[str] = []

    def probe(name: str) -> Any:
        def run(wire: FakeWire) -> int:
            ran.append(f"{name} {(wire.read(1.0) or {}).get('do')}")
            return len(ran)

        return run

    monkeypatch.setattr(several, "PROBES", {name: probe(name) for name in several.PROBES})
    return ran


def test_each_probe_has_its_own_messages_and_says_when_it_has_ended(runs: list[str]) -> None:
    wire = FakeWire(begin("beacon"), {"do": "listen"}, begin("reach"), {"do": "open"})
    assert main(wire) == 0  # type: ignore[arg-type]
    assert runs == ["beacon listen", "reach open"]
    assert wire.written == [
        {"event": "ended", "probe": "beacon", "status": 1},
        {"event": "ended", "probe": "reach", "status": 2},
    ]


@pytest.mark.parametrize(
    "message",
    [begin("settings"), begin("several"), begin(3), begin(None), begin([]), {"do": "end"}, {"do": "report"}, {}],
)
def test_what_begins_no_probe_is_passed_over(runs: list[str], message: dict[str, Any]) -> None:
    wire = FakeWire(message, begin("reach"))
    assert main(wire) == 0  # type: ignore[arg-type]
    assert runs == ["reach None"]


def test_it_ends_with_its_input_and_waits_longer_than_any_conversation() -> None:
    wire = FakeWire()
    assert main(wire) == 0  # type: ignore[arg-type]
    assert wire.waits == [600.0]
    assert wire.written == []


def test_every_one_of_them_is_a_probe_of_its_own_too() -> None:
    assert set(several.PROBES) < set(entry.MODULES)
    assert "several" in entry.MODULES
