"""The exact words for kubectl."""

from __future__ import annotations

import pytest

from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.targets import command_for

pytestmark = pytest.mark.unit

HEAD = ("kubectl", "exec", "-i", "--pod-running-timeout=5s")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("k8s:vllm-0", (*HEAD, "vllm-0", "--")),
        ("k8s:ml/vllm-0", (*HEAD, "--namespace=ml", "vllm-0", "--")),
        ("k8s:vllm-0:main", (*HEAD, "--container=main", "vllm-0", "--")),
        ("k8s:ml/vllm.a:main", (*HEAD, "--namespace=ml", "--container=main", "vllm.a", "--")),
    ],
)
def test_a_pod_its_namespace_and_its_container(target: str, words: tuple[str, ...]) -> None:
    command = command_for(NodeSpec("n", target), lambda python: [python, "-c", "x"])
    assert command.argv == (*words, "python3", "-c", "x")
    assert (command.kind, command.over_ssh) == ("k8s", False)


def test_variables_are_set_in_the_pod() -> None:
    command = command_for(NodeSpec("n", "k8s:a", env={"B": "x y", "A": "1"}), lambda python: [python])
    assert command.argv == (*HEAD, "a", "--", "env", "A=1", "B=x y", "python3")
