from __future__ import annotations

import time

import pytest

from fabricdoc.transport.channel import Channel
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.poll import SLICE_S, end_all, end_remote, step, step_until

pytestmark = pytest.mark.unit


def started(payload: bytes) -> Channel:
    channel = Channel(NodeSpec("n", "local"), "echo", payload)
    channel.start()
    return channel


def test_a_step_without_anything_to_do_takes_one_slice_at_most() -> None:
    begun = time.monotonic()
    step([], 60)
    assert time.monotonic() - begun < SLICE_S + 1
    step([], -1)


def test_waiting_has_an_end() -> None:
    begun = time.monotonic()
    assert not step_until([], lambda: False, 0.3)
    assert 0.3 <= time.monotonic() - begun < 3
    assert step_until([], lambda: True, 0)


def test_a_willing_probe_is_given_its_grace(payload: bytes) -> None:
    channel = started(payload)
    end_all([channel], 10)
    assert (channel.status, channel.killed) == (0, False)


def test_an_unwilling_probe_is_killed_after_it(payload: bytes) -> None:
    channel = started(payload)
    channel.send({"do": "stop"})
    assert step_until([channel], lambda: channel.started, 10)
    end_all([channel], 0.2)
    assert (channel.status, channel.killed, channel.ended) == (-9, True, True)


def test_an_interrupt_while_waiting_still_kills(payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = started(payload)
    channel.send({"do": "stop"})
    assert step_until([channel], lambda: channel.started, 10)
    calls = []

    def interrupted(channels: object, timeout_s: float) -> None:
        calls.append(timeout_s)
        if len(calls) == 1:
            raise KeyboardInterrupt
        step(channels, timeout_s)  # type: ignore[arg-type]

    monkeypatch.setattr("fabricdoc.transport.poll.step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        end_all([channel], 10)
    assert channel.status == -9


def test_nothing_is_ended_elsewhere_for_a_local_node(payload: bytes) -> None:
    channel = started(payload)
    end_all([channel], 5)
    end_remote([channel])
    assert channel.status == 0
