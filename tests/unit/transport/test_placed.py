"""Whole conversations through srun, mpirun, kubectl, docker and podman: the same demands on each of them."""

from __future__ import annotations

import os
import select
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabricdoc.transport import NodeSpec, ask, open_channels, output_of
from fabricdoc.transport.slurm import ROOM_S
from tests.unit.transport.clients import Clients

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("allocation")]


@dataclass(frozen=True)
class Way:
    """A target, the client that reaches it, and the last word of the client's own before the program's."""

    target: str
    client: str
    last: str

    def node(self, **more: object) -> NodeSpec:
        return NodeSpec("n", self.target, **{"python": sys.executable, **more})  # type: ignore[arg-type]


WAYS = [
    Way("slurm:node01", "srun", f"--immediate={ROOM_S}"),
    Way("mpirun:node01", "mpirun", "none"),
    Way("k8s:ml/vllm-0:main", "kubectl", "--"),
    Way("docker:vllm", "docker", "vllm"),
    Way("podman:vllm", "podman", "vllm"),
]
ways = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.client)


def wait_gone(pid: int, timeout_s: float = 10) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], timeout_s)[0])
    finally:
        os.close(handle)


@ways
def test_a_conversation_passes_both_ways_with_the_nodes_variables(clients: Clients, payload: bytes, way: Way) -> None:
    clients.put(way.client, way.last)
    value = "a 'quoted' \"value\" with \\ ! $HOME * , and `ls`"
    with open_channels([way.node(env={"LAB_VALUE": value})], "echo", payload=payload) as channels:
        channels.send("n", {"do": "facts"})
        facts = (channels.receive(10) or ("", {}))[1]
        channels.send("n", {"do": "echo", "value": "y" * 1_000_000})
        assert (channels.receive(10) or ("", {}))[1]["value"] == "y" * 1_000_000
    assert facts["env"]["LAB_VALUE"] == value
    assert facts["isolated"]
    assert len(clients.calls(way.client)) == 1


@ways
def test_a_noisy_client_is_not_mistaken_for_the_probe(clients: Clients, payload: bytes, way: Way) -> None:
    noise = """echo '{"event":"echo","value":1}'; echo "Defaulted container" >&2; printf 'no newline'"""
    clients.put(way.client, way.last, noise)
    (answer,) = ask([way.node()], "echo", {"do": "echo", "value": 2}, deadline_s=20, payload=payload)
    assert answer.message == {"event": "echo", "value": 2}
    for words in ('"value":1', "Defaulted container", "no newline"):
        assert words in answer.stderr


@ways
def test_the_probe_ends_with_its_input_when_the_client_is_killed(clients: Clients, payload: bytes, way: Way) -> None:
    clients.put(way.client, way.last)
    with open_channels([way.node()], "echo", payload=payload) as channels:
        channels.send("n", {"do": "facts"})
        pid = (channels.receive(10) or ("", {}))[1]["pid"]
        process = channels._channels["n"]._process
        assert process is not None
        assert process.pid != pid
        process.kill()
        assert (channels.receive(10) or ("", {}))[1]["event"] == "closed"
        assert wait_gone(pid)


@ways
def test_a_stopped_probe_is_ended_at_the_deadline_through_the_client(
    clients: Clients, payload: bytes, way: Way, tmp_path: Path
) -> None:
    clients.put(way.client, way.last)
    node, note = way.node(env={"NOTE": str(tmp_path / "pid")}), tmp_path / "pid"
    begun = time.monotonic()
    late, here = ask([node, NodeSpec("here", "local")], "echo", {"do": "stop-if-noted"}, deadline_s=2, payload=payload)
    assert (late.error and late.error.id, here.message) == ("node-timeout", {"event": "fine"})
    assert time.monotonic() - begun < 10
    assert wait_gone(int(note.read_text()))
    first, second = clients.calls(way.client)
    assert first[: first.index(sys.executable)] == second[: second.index(sys.executable)]


@ways
def test_a_client_that_never_speaks_costs_only_its_deadline(clients: Clients, payload: bytes, way: Way) -> None:
    clients.put(way.client, way.last, "exec sleep 60")
    begun = time.monotonic()
    (answer,) = ask([way.node()], "echo", {"do": "facts"}, deadline_s=1, payload=payload)
    assert answer.error is not None
    assert (answer.error.id, time.monotonic() - begun < 8) == ("node-timeout", True)


@ways
def test_a_client_that_is_not_there_is_named(
    clients: Clients, payload: bytes, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(clients.folder))
    (answer,) = ask([way.node()], "echo", {}, deadline_s=20, payload=payload)
    assert answer.error is not None
    assert (answer.error.id, answer.error.message) == (
        f"{way.client}-missing",
        f"n: there is no {way.client} here",
    )
    assert answer.error.fix


@ways
def test_a_python_that_is_not_in_there_is_missing(clients: Clients, payload: bytes, way: Way) -> None:
    clients.put(way.client, way.last)
    (answer,) = ask([way.node(python="/no/python3")], "echo", {}, deadline_s=20, payload=payload)
    assert answer.error is not None
    assert answer.error.id == "python-missing"


@ways
def test_a_command_of_the_node_runs_through_the_client(clients: Clients, way: Way) -> None:
    clients.put(way.client, way.last)
    said = output_of(way.node(), ("sh", "-c", "echo out; exit 3"), deadline_s=20)
    assert (said.status, said.stdout) == (3, "out\n")
