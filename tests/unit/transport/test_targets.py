from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.targets import ENTER, command_for, ender_for, python_of, reached_by

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
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename="spark-1"))
    monkeypatch.setattr("fabricdoc.transport.targets._user", lambda: "me")
    assert reached_by(NodeSpec("n", "spark-1")) == "local"
    assert reached_by(NodeSpec("n", "me@spark-1")) == "local"
    assert reached_by(NodeSpec("n", "you@spark-1")) == "ssh"
    assert reached_by(NodeSpec("n", "spark-1", user="you")) == "ssh"
    assert reached_by(NodeSpec("n", "spark-1:22")) == "ssh"
    assert reached_by(NodeSpec("n", "spark-2")) == "ssh"
    assert reached_by(NodeSpec("spark-1", "localhost")) == "ssh"


def box_words(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The words for `box` after the program itself, which is one `-c` text."""
    assert argv[1:3] == ("-I", "-c")
    assert "base64" in argv[3]
    return argv[4:]


def test_the_agent_runs_in_the_container_or_in_one_of_the_image() -> None:
    image = NodeSpec("n", "local", image="engine:1", env={"B": "2", "A": "1"})
    command = command_for(image, program, module="agent", label="ab12")
    assert (command.kind, command.argv[0], command.env["A"]) == ("box", sys.executable, "1")
    assert box_words(command.argv) == ("of", "engine:1", "ab12", "A,B", "-c", "x")
    both = NodeSpec("n", "local", image="engine:1", container="serving")
    assert box_words(command_for(both, program, module="agent", label="ab12").argv)[:2] == ("in", "serving")


def test_other_probes_stay_on_the_node_itself() -> None:
    node = NodeSpec("n", "host", image="engine:1", container="serving")
    assert command_for(node, program, module="scan").argv[-1] == "python3 -c x"


def test_a_container_of_another_node_is_entered_there() -> None:
    command = command_for(NodeSpec("n", "host", container="serving"), program, module="agent", label="ab12")
    assert (command.kind, command.over_ssh, command.argv[0]) == ("box", True, "ssh")
    assert command.argv[-1].endswith(" in serving ab12 '' -c x")


def test_what_ends_an_agent_is_its_process_or_its_whole_container() -> None:
    image = NodeSpec("n", "local", image="engine:1")
    assert box_words(ender_for(image, program, module="agent", label="ab12").argv) == ("end", "engine:1", "ab12", "")
    inside = NodeSpec("n", "local", container="serving")
    assert box_words(ender_for(inside, program, module="agent", label="ab12").argv)[:2] == ("in", "serving")
    assert ender_for(image, program, module="scan", label="ab12").argv == (sys.executable, "-c", "x")
