from __future__ import annotations

import os
import select
import time
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import NodeError, UsageError
from fabricdoc.transport import Channels, NodeSpec, open_channels

pytestmark = pytest.mark.unit

ALPHA, BETA = NodeSpec("alpha", "local"), NodeSpec("beta", "local")


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def receive(channels: Channels) -> tuple[str, dict[str, Any]]:
    got = channels.receive(10)
    assert got is not None
    return got


@pytest.mark.long
def test_conversations_are_merged_and_named(payload: bytes) -> None:
    before = children()
    with open_channels([ALPHA, BETA], "echo", payload=payload) as channels:
        assert channels.names == ("alpha", "beta")
        channels.broadcast({"do": "echo", "value": 1})
        assert sorted([receive(channels)[0], receive(channels)[0]]) == ["alpha", "beta"]
        for number in range(5):
            channels.send("beta", {"do": "echo", "value": number})
        assert [receive(channels) for _ in range(5)] == [("beta", {"event": "echo", "value": n}) for n in range(5)]
        begun = time.monotonic()
        assert channels.receive(0.3) is None
        assert 0.3 <= time.monotonic() - begun < 3
    assert children() == before


@pytest.mark.long
def test_a_node_that_ends_says_farewell_once_after_its_last_message(payload: bytes) -> None:
    with open_channels([ALPHA, BETA], "echo", payload=payload) as channels:
        channels.send("alpha", {"do": "complain", "text": "ouch\n"})
        channels.send("alpha", {"do": "echo", "value": 1})
        channels.send("alpha", {"do": "die", "status": 5})
        assert [receive(channels)[1]["event"] for _ in range(2)] == ["complained", "echo"]
        name, farewell = receive(channels)
        assert farewell.pop("fix")
        assert (name, farewell) == (
            "alpha",
            {
                "event": "closed",
                "status": 5,
                "stderr": "ouch",
                "id": "probe-failed",
                "message": "alpha: the echo probe ended with status 5 (ouch)",
            },
        )
        assert channels.receive(0.3) is None
        with pytest.raises(NodeError, match="gone") as caught:
            channels.send("alpha", {"do": "echo", "value": 1})
        assert caught.value.id == "node-closed"
        channels.broadcast({"do": "echo", "value": 2})
        assert receive(channels) == ("beta", {"event": "echo", "value": 2})
        channels.send("beta", {"do": "die", "status": 0})
        assert receive(channels)[1]["event"] == "closed"
        with pytest.raises(NodeError, match="all nodes have ended"):
            channels.receive(10)


def test_receiving_without_waiting_still_reads_what_is_there(payload: bytes) -> None:
    with open_channels([ALPHA], "echo", payload=payload) as channels:
        channels.send("alpha", {"do": "echo", "value": 1})
        end = time.monotonic() + 10
        while (got := channels.receive(0)) is None:
            assert time.monotonic() < end
            select.select([], [], [], 0.01)
        assert got == ("alpha", {"event": "echo", "value": 1})


@pytest.mark.long
def test_garbage_closes_only_its_node(payload: bytes) -> None:
    with open_channels([ALPHA, BETA], "echo", payload=payload) as channels:
        channels.send("alpha", {"do": "raw", "text": "PREFIX{nope\n"})
        name, farewell = receive(channels)
        assert (name, farewell["event"], farewell["id"], farewell["status"]) == ("alpha", "closed", "garbage", -9)
        channels.send("beta", {"do": "echo", "value": 1})
        assert receive(channels) == ("beta", {"event": "echo", "value": 1})


@pytest.mark.long
def test_close_ends_everything_and_can_be_called_again(payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabricdoc.transport.channels.CLOSE_S", 0.5)
    before = children()
    channels = open_channels([ALPHA, BETA], "echo", payload=payload)
    channels.send("alpha", {"do": "stop"})
    begun = time.monotonic()
    channels.close()
    channels.close()
    assert time.monotonic() - begun < 3
    assert children() == before
    with pytest.raises(NodeError):
        channels.send("beta", {"do": "echo", "value": 1})


@pytest.mark.long
def test_messages_still_queued_are_written_before_stdin_closes(payload: bytes, tmp_path: Path) -> None:
    note = tmp_path / "note"
    node = NodeSpec("alpha", "local", env={"NOTE": str(note)})
    with open_channels([node], "echo", payload=payload) as channels:
        for _ in range(20):
            channels.send("alpha", {"do": "print", "text": "x" * 20_000})
        channels.send("alpha", {"do": "note"})
    assert note.read_text() == "noted"


def test_every_node_that_does_not_start_is_named_and_none_is_left(payload: bytes) -> None:
    before = children()
    nodes = [ALPHA, NodeSpec("bad", "local", python="/no/python"), NodeSpec("worse", "local", python="/bin/false")]
    with pytest.raises(NodeError) as caught:
        open_channels(nodes, "echo", payload=payload)
    assert caught.value.id == "python-missing"
    assert "bad: /no/python" in caught.value.message
    assert "worse: /bin/false ended with status 1 and ran nothing of ours" in caught.value.message
    assert "alpha" not in caught.value.message
    assert children() == before


@pytest.mark.long
def test_a_start_that_takes_too_long_is_late(payload: bytes, tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    before = children()
    begun = time.monotonic()
    with pytest.raises(NodeError, match=r"nothing of ours started there within 0\.5 s") as caught:
        open_channels([NodeSpec("slow", "local", python=str(slow))], "echo", start_deadline_s=0.5, payload=payload)
    assert caught.value.id == "node-timeout"
    assert time.monotonic() - begun < 5
    assert children() == before


@pytest.mark.long
def test_more_nodes_than_start_at_once_all_start(payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabricdoc.transport.channels.AT_ONCE", 1)
    nodes = [NodeSpec(f"n{number}", "local") for number in range(3)]
    with open_channels(nodes, "echo", payload=payload) as channels:
        channels.broadcast({"do": "echo", "value": 1})
        assert sorted(receive(channels)[0] for _ in nodes) == ["n0", "n1", "n2"]


def test_names_used_twice_are_refused(payload: bytes) -> None:
    with pytest.raises(UsageError, match="two nodes"):
        open_channels([ALPHA, ALPHA], "echo", payload=payload)


@pytest.mark.long
def test_the_end_of_the_block_by_an_exception_closes_too(payload: bytes) -> None:
    before = children()
    with pytest.raises(KeyboardInterrupt), open_channels([ALPHA], "echo", payload=payload):
        raise KeyboardInterrupt
    assert children() == before


@pytest.mark.long
def test_one_message_of_every_node_is_gathered_and_others_are_passed_over(payload: bytes) -> None:
    with open_channels([ALPHA, BETA], "echo", payload=payload) as channels:
        channels.send("beta", {"do": "complain", "text": "first\n"})
        channels.broadcast({"do": "echo", "value": 7})
        gathered = channels.gather("echo", 10, "the echo")
    assert gathered == {name: {"event": "echo", "value": 7} for name in ("alpha", "beta")}


@pytest.mark.long
def test_the_silent_nodes_of_a_gathering_are_named(payload: bytes) -> None:
    with open_channels([ALPHA, BETA], "echo", payload=payload) as channels:
        channels.send("alpha", {"do": "echo", "value": 7})
        with pytest.raises(NodeError) as caught:
            channels.gather("echo", 1, "the echo")
    assert caught.value.id == "node-timeout"
    assert caught.value.message == "the echo on beta did not answer in 1 s"
    assert "fabricdoc scan" in caught.value.fix


def test_a_node_that_ends_ends_the_gathering_with_its_own_error(payload: bytes) -> None:
    with open_channels([ALPHA, BETA], "echo", payload=payload) as channels:
        channels.send("alpha", {"do": "echo", "value": 7})
        channels.send("beta", {"do": "die", "status": 5})
        with pytest.raises(NodeError) as caught:
            channels.gather("echo", 10, "the echo")
    assert caught.value.id == "probe-failed"
    assert caught.value.message.startswith("beta: the echo probe ended with status 5")


@pytest.mark.long
def test_a_node_that_ends_after_its_answer_does_not_end_the_gathering(payload: bytes) -> None:
    """Its process is gone while a slower node still works: only the one that has not answered is waited for."""
    with open_channels([ALPHA, BETA], "echo", payload=payload) as channels:
        channels.send("alpha", {"do": "echo", "value": 7})
        channels.send("alpha", {"do": "die", "status": 0})
        with pytest.raises(NodeError) as caught:
            channels.gather("echo", 1, "the echo")
    assert (caught.value.id, caught.value.message) == ("node-timeout", "the echo on beta did not answer in 1 s")
