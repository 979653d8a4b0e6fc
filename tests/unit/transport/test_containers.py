"""The exact words for docker and podman, here and through ssh."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from fabricdoc.transport import ask
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.targets import command_for
from tests.unit.transport.clients import Clients

pytestmark = pytest.mark.unit


def program(python: str) -> list[str]:
    return [python, "-c", "x"]


@pytest.mark.parametrize("runtime", ["docker", "podman"])
def test_a_container_of_this_machine(runtime: str) -> None:
    command = command_for(NodeSpec("n", f"{runtime}:vllm", env={"B": "x y", "A": "1"}), program)
    assert command.argv == (runtime, "exec", "-i", "--env=A", "--env=B", "vllm", "python3", "-c", "x")
    assert (command.kind, command.over_ssh) == (runtime, False)
    assert (command.env["A"], command.env["B"]) == ("1", "x y")


def test_a_container_of_another_machine_goes_through_its_ssh() -> None:
    node = NodeSpec("n", "podman:me@h:2222/vllm", env={"A": "x y"}, ssh_config="/cfg")
    command = command_for(node, program)
    assert command.argv[:3] == ("ssh", "-F", "/cfg")
    assert command.argv[-7:-1] == ("-p", "2222", "-l", "me", "--", "h")
    assert command.argv[-1] == "env 'A=x y' podman exec -i '--env=A' vllm python3 -c x"
    assert (command.kind, command.over_ssh) == ("podman", True)


def test_the_user_of_the_record_is_that_of_ssh() -> None:
    assert "me" in command_for(NodeSpec("n", "docker:h/vllm", user="me"), program).argv


def test_a_machine_that_is_this_one_needs_no_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename="spark-1"))
    assert command_for(NodeSpec("n", "docker:spark-1/vllm"), program).argv[0] == "docker"
    assert command_for(NodeSpec("n", "docker:local/vllm"), program).argv[0] == "docker"
    assert command_for(NodeSpec("n", "docker:spark-2/vllm"), program).argv[0] == "ssh"


@pytest.mark.parametrize(
    ("stderr", "status", "id_"),
    [
        ("ssh: connect to host h port 22: Connection refused", 255, "ssh-refused"),
        ("Error response from daemon: No such container: vllm", 1, "container-missing"),
        ("bash: line 1: docker: command not found", 127, "docker-missing"),
    ],
)
def test_ssh_and_the_runtime_behind_it_are_told_apart(clients: Clients, stderr: str, status: int, id_: str) -> None:
    clients.refuse("ssh", stderr, status)
    (answer,) = ask([NodeSpec("n", "docker:h/vllm")], "scan", {}, deadline_s=20)
    assert answer.error is not None
    assert answer.error.id == id_
