from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.transport import poll
from fabricdoc.transport.channel import Channel, Process
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.poll import end_all, step_until
from fabricdoc.transport.targets import Command

pytestmark = pytest.mark.unit

Start = Callable[..., Channel]


@pytest.fixture
def start(payload: bytes) -> Iterator[Start]:
    begun: list[Channel] = []

    def make(**fields: object) -> Channel:
        channel = Channel(NodeSpec("n", "local", **fields), "echo", payload)  # type: ignore[arg-type]
        begun.append(channel)
        channel.start()
        return channel

    yield make
    end_all(begun, 0.0)


def next_message(channel: Channel) -> dict[str, object]:
    assert step_until([channel], lambda: bool(channel.messages), 10), channel.output()
    return channel.messages.popleft()


def wait_end(channel: Channel) -> Channel:
    assert step_until([channel], lambda: channel.ended, 10)
    return channel


def process_of(channel: Channel) -> Process:
    assert channel._process is not None
    return channel._process


def test_it_says_what_was_sent_and_ends_with_its_input(start: Start) -> None:
    channel = start()
    channel.send({"do": "echo", "value": [1, "é"]})
    assert next_message(channel) == {"event": "echo", "value": [1, "é"]}
    assert channel.started
    assert channel.remote is not None and channel.remote[0] == process_of(channel).pid
    channel.end_input()
    assert wait_end(channel).status == 0
    with pytest.raises(NodeError) as caught:
        channel.send({"do": "echo", "value": 1})
    assert caught.value.id == "node-closed"


def test_prints_and_complaints_are_kept_apart_from_messages(start: Start) -> None:
    channel = start()
    channel.send({"do": "print"})
    channel.send({"do": "complain", "text": "careful\n"})
    assert [next_message(channel)["event"], next_message(channel)["event"]] == ["printed", "complained"]
    channel.end_input()
    assert wait_end(channel).output() == "a stray print\ncareful"


def test_a_message_far_larger_than_a_pipe_passes_both_ways(start: Start) -> None:
    channel = start()
    text = "y" * 3_000_000
    channel.send({"do": "echo", "value": text})
    assert next_message(channel)["value"] == text


def test_a_node_that_reads_nothing_does_not_block_the_sender(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabricdoc.transport.channel.OUTGOING_LIMIT", 1_000_000)
    channel = start()
    channel.send({"do": "hang"})
    assert step_until([channel], lambda: channel.started and not channel._outgoing, 10)
    begun = time.monotonic()
    with pytest.raises(NodeError) as caught:
        for _ in range(10):
            channel.send({"text": "z" * 300_000})
    assert caught.value.id == "node-stuck"
    assert time.monotonic() - begun < 5


@pytest.mark.long
@pytest.mark.parametrize("text", ["PREFIX{nope\n", "PREFIX[1]\n", 'PREFIX{"a":NaN}\n'])
def test_garbage_ends_the_node_and_keeps_what_came_before(start: Start, text: str) -> None:
    channel = start()
    channel.send({"do": "echo", "value": 1})
    channel.send({"do": "raw", "text": text})
    wait_end(channel)
    assert list(channel.messages) == [{"event": "echo", "value": 1}]
    assert channel.explain().id == "garbage"
    assert channel.status == -signal.SIGKILL


def test_a_second_started_is_the_probes_own_message(start: Start) -> None:
    channel = start()
    channel.send({"do": "raw", "text": 'PREFIX{"event":"started","pid":1,"start":1}\n'})
    assert next_message(channel)["event"] == "started"
    assert channel.remote is not None and channel.remote[0] == process_of(channel).pid


def test_how_it_died_is_told(start: Start) -> None:
    channel = start()
    channel.send({"do": "complain", "text": "Traceback\nValueError: no\n"})
    channel.send({"do": "die", "status": 3})
    assert wait_end(channel).status == 3
    assert channel.explain().message == "n: the echo probe ended with status 3 (ValueError: no)"


def test_a_python_that_is_not_there_is_a_failed_node_not_an_exception(start: Start) -> None:
    channel = start(python="/no/such/python")
    assert channel.ended
    assert channel.explain().id == "python-missing"


def test_killing_takes_the_children_of_the_probe_along(start: Start) -> None:
    channel = start()
    channel.send({"do": "child"})
    child = next_message(channel)["pid"]
    assert isinstance(child, int)
    handle = os.pidfd_open(child)
    try:
        channel.kill()
        wait_end(channel)
        assert select_one(handle)
    finally:
        os.close(handle)


@pytest.mark.long
def test_a_child_that_holds_the_pipes_does_not_hide_the_end(start: Start) -> None:
    channel = start()
    channel.send({"do": "child"})
    child = next_message(channel)["pid"]
    assert isinstance(child, int)
    handle = os.pidfd_open(child)
    begun = time.monotonic()
    channel.send({"do": "die", "status": 4})
    assert wait_end(channel).status == 4
    assert time.monotonic() - begun < 5
    try:
        assert select_one(handle)
    finally:
        os.close(handle)


def select_one(handle: int) -> bool:
    import select

    return bool(select.select([handle], [], [], 5)[0])


def test_a_process_is_killed_only_while_it_is_ours() -> None:
    process = Process(Command("local", (sys.executable, "-c", "pass"), dict(os.environ)))
    with subprocess.Popen(["true"]):
        pass
    end = time.monotonic() + 10
    while not process.has_exited() and time.monotonic() < end:
        select_none()
    assert process.reap() == 0
    process.kill()
    assert process.has_exited()
    assert not any(process.is_open(fd) for fd in (process.stdin, process.stdout, process.stderr))


def select_none() -> None:
    import select

    select.select([], [], [], 0.02)


SILENT = "import os, sys; [os.close(fd) for fd in (1, 2)]; os.read(0, 1)"


def test_the_end_of_a_process_without_pipes_is_waited_for_by_itself() -> None:
    """It has closed its files, and lives: nothing but its end is left to wait for."""
    process = Process(Command("local", (sys.executable, "-c", SILENT), dict(os.environ)))
    ending = process.ending()
    assert ending is not None and process.ending() == ending
    poller = select.poll()
    poller.register(ending, select.POLLIN)
    assert poller.poll(0) == []
    process.close(process.stdin)
    assert poller.poll(60_000) == [(ending, select.POLLIN)]
    assert process.has_exited()
    assert process.reap() == 0
    assert process.ending() is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(ending)


def test_a_channel_whose_pipes_are_closed_waits_for_its_process(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poll, "SLICE_S", 600.0)
    channel = start()
    assert step_until([channel], lambda: channel.started, 60)
    process = process_of(channel)
    for fd in (process.stdout, process.stderr):
        process.close(fd)
    (wanted,) = channel.interests()
    assert wanted == (process.ending(), select.POLLIN)
    begun = time.monotonic()
    end_all([channel], 300.0)
    assert channel.ended and not channel.killed
    assert time.monotonic() - begun < 60.0


def test_only_nodes_behind_a_client_have_something_to_end_elsewhere(start: Start) -> None:
    channel = start()
    channel.send({"do": "echo", "value": 1})
    next_message(channel)
    assert channel.ender() is None
    process_of(channel).kind = "ssh"
    command = channel.ender()
    assert command is not None
    assert str(process_of(channel).pid) in command.argv


@pytest.mark.parametrize(
    ("pid", "known"), [(1, True), (4711, True), (0, False), (-1, False), ("1", False), (None, False)]
)
def test_a_probe_may_be_the_first_process_of_its_container(payload: bytes, pid: object, known: bool) -> None:
    channel = Channel(NodeSpec("n", "local"), "echo", payload)
    channel._take([{"event": "started", "pid": pid, "start": 5}])
    assert channel.started is known
    assert not channel.messages
