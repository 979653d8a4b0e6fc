from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.targets import ENTER, command_for, python_of, reached_by

pytestmark = pytest.mark.unit


def program(python: str) -> list[str]:
    return [python, "-c", "x"]


def test_local_runs_as_it_is_with_our_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/lib")
    command = command_for(NodeSpec("n", "local", env={"A": "1"}), program)
    assert (command.kind, command.argv) == ("local", (sys.executable, "-c", "x"))
    assert (command.env["A"], command.env["PYTHONPATH"], command.env["PATH"]) == ("1", "/lib", os.environ["PATH"])


def test_a_python_that_is_named_is_used_everywhere() -> None:
    for target in ("local", "netns:7", "host"):
        assert python_of(NodeSpec("n", target, python="/opt/p")) == "/opt/p"
    assert python_of(NodeSpec("n", "host")) == "python3"


@pytest.mark.parametrize(("target", "place"), [("netns:7", "7"), ("netns:/run/netns/x", "/run/netns/x")])
def test_a_namespace_goes_through_enter(target: str, place: str) -> None:
    command = command_for(NodeSpec("n", target), program)
    assert command.argv == (sys.executable, "-I", ENTER, place, "--", sys.executable, "-c", "x")
    assert Path(ENTER).is_file()


def test_a_host_goes_through_ssh_and_its_variables_stay_there() -> None:
    command = command_for(NodeSpec("n", "host", env={"ONLY_THERE": "1"}), program)
    assert command.kind == "ssh"
    assert command.argv[0] == "ssh"
    assert command.argv[-1] == "env 'ONLY_THERE=1' python3 -c x"
    assert "ONLY_THERE" not in command.env


def test_a_host_that_is_this_machine_needs_no_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "spark-1")
    monkeypatch.setattr("fabricdoc.transport.targets._user", lambda: "me")
    assert reached_by(NodeSpec("n", "spark-1")) == "local"
    assert reached_by(NodeSpec("n", "me@spark-1")) == "local"
    assert reached_by(NodeSpec("n", "you@spark-1")) == "ssh"
    assert reached_by(NodeSpec("n", "spark-1", user="you")) == "ssh"
    assert reached_by(NodeSpec("n", "spark-1:22")) == "ssh"
    assert reached_by(NodeSpec("n", "spark-2")) == "ssh"
    assert reached_by(NodeSpec("spark-1", "localhost")) == "ssh"


@pytest.mark.parametrize("field", ["image", "container"])
def test_the_agent_is_not_put_beside_the_container_it_was_asked_into(field: str) -> None:
    node = NodeSpec("n", "host", **{field: "x"})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not supported yet by this version"):
        command_for(node, program, module="agent")
    assert command_for(node, program, module="scan").kind == "ssh"
