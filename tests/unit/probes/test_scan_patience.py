"""How long each driver is waited for: a few seconds in an ordinary scan, in proportion more above 30 s."""

from __future__ import annotations

from typing import Any

import pytest

from probes import counters, hcas, scan, verbs

pytestmark = pytest.mark.unit


def limits(monkeypatch: pytest.MonkeyPatch, deadline_s: float) -> list[float]:
    """The limits of the four questions of a scan with this deadline, in the order they are asked."""
    asked: list[float] = []

    class Recorded(scan.Question):
        def __init__(self, work: Any, limit_s: float, *, needed: bool = True) -> None:
            asked.append(limit_s)
            super().__init__(work, limit_s, needed=False)

    with monkeypatch.context() as patched:
        patched.setattr(scan, "Question", Recorded)
        scan.scan(deadline_s)
    return asked


def test_an_ordinary_scan_keeps_to_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = limits(monkeypatch, 7.0)
    assert {counters.LIMIT_S, verbs.LIMIT_S, hcas.LIMIT_S} <= set(found)


def test_a_short_scan_does_not_shorten_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits(monkeypatch, 1.0) == limits(monkeypatch, 30.0)


def test_a_longer_scan_waits_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = limits(monkeypatch, 126.0)
    assert {counters.LIMIT_S * 4.2, verbs.LIMIT_S * 4.2, hcas.LIMIT_S * 4.2} <= set(found)
