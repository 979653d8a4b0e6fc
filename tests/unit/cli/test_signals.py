"""Stopping signals: one KeyboardInterrupt, then quiet while clearing up; ignored ones stay ignored."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from fabricdoc.cli import signals
from fabricdoc.cli.signals import STOPPING, stopping

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in STOPPING}
    for number in STOPPING:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, old in before.items():
        signal.signal(number, old)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", STOPPING)
def test_each_of_them_interrupts(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), stopping(for_good=False):
        send(number)
        pytest.fail("went on")


def test_more_of_them_do_not_disturb_clearing_up() -> None:
    cleared = []
    with pytest.raises(KeyboardInterrupt), stopping(for_good=False):
        try:
            send(signal.SIGINT)
        finally:
            for number in STOPPING:
                send(number)
            cleared.append(True)
    assert cleared == [True]


def test_one_counts_again_when_clearing_up_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "CLEARING_S", -1.0)
    again = []
    with pytest.raises(KeyboardInterrupt), stopping(for_good=False):
        try:
            send(signal.SIGINT)
        except KeyboardInterrupt:
            try:
                send(signal.SIGINT)
            except KeyboardInterrupt:
                again.append(True)
            raise
    assert again == [True]


def test_what_a_caller_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with stopping(for_good=False):
        send(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_the_old_handlers_come_back() -> None:
    with stopping(for_good=False):
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert all(signal.getsignal(number) is signal.SIG_DFL for number in STOPPING)


def test_for_good_stays_deaf() -> None:
    with stopping(for_good=True):
        pass
    for number in STOPPING:
        send(number)
