from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fabricdoc.transport.channel import Channel, Process
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.poll import SLICE_S, end_all, end_remote, step, step_until
from fabricdoc.transport.targets import Command

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


@pytest.mark.long
def test_waiting_has_an_end() -> None:
    begun = time.monotonic()
    assert not step_until([], lambda: False, 0.3)
    assert 0.3 <= time.monotonic() - begun < 3
    assert step_until([], lambda: True, 0)


def test_a_willing_probe_is_given_its_grace(payload: bytes) -> None:
    channel = started(payload)
    end_all([channel], 10)
    assert (channel.status, channel.killed) == (0, False)


@pytest.mark.long
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


def test_what_is_left_elsewhere_is_ended_a_few_nodes_at_a_time(
    payload: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every node gets its ender, and never more of them run at once than nodes are asked at once."""
    monkeypatch.setattr("fabricdoc.transport.poll.AT_ONCE", 2)
    before, most = len(children()), 0
    real = Process

    def counting(command: Command) -> Process:
        nonlocal most
        process = real(command)
        most = max(most, len(children()) - before)
        return process

    monkeypatch.setattr("fabricdoc.transport.poll.Process", counting)
    channels = [Channel(NodeSpec(f"n{number}", "host"), "echo", payload) for number in range(5)]
    for number, channel in enumerate(channels):
        command = Command("ssh", ("touch", str(tmp_path / str(number))), dict(os.environ))
        monkeypatch.setattr(channel, "ender", lambda command=command: command)
    end_remote(channels)
    assert most == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2", "3", "4"]


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_node_that_waits_for_its_turn_holds_no_copy_of_the_probe(payload: bytes) -> None:
    channel = Channel(NodeSpec("n", "local"), "echo", payload)
    assert not channel._outgoing
    channel.start()
    channel.send({"do": "die", "status": 0})
    assert step_until([channel], lambda: channel.ended, 10)
    assert (channel.status, len(channel._outgoing)) == (0, 0)
