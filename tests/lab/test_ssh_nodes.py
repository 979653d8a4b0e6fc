"""The nodes of a lab, and many names of one machine, behind a real sshd: cables proven, processes bounded."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fabricdoc.lab import Lab
from fabricdoc.transport import NodeSpec, ask, load_config
from fabricdoc.transport.channel import Channel
from fabricdoc.transport.poll import step
from fabricdoc.workflow import look
from tests.sshd import lab_over_ssh, loopback_over_ssh, why_not

pytestmark = [pytest.mark.lab, pytest.mark.skipif(bool(why_not()), reason=why_not())]

# the room's root names the function like the module
MODULE = sys.modules[ask.__module__]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short name: the sockets of shared connections lie below it."""
    with ExitStack() as stack:
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fd-", dir="/tmp")))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made / "run"))
        yield made


def test_the_cables_of_two_nodes_are_proven_over_ssh(lab: Lab, folder: Path) -> None:
    with lab_over_ssh(folder, lab.nodes) as made:
        specs = [
            NodeSpec(n.name, n.name, python=sys.executable, ports=("enp1s0*",), ssh_config=str(made.config))
            for n in lab.nodes
        ]
        fabric = look(specs, lambda _text: None)
        # their way in is a program of the first client's process group, which ended long ago
        assert made.standing() == 2
    assert isinstance(fabric.links, tuple)
    assert sorted((f"{link.a.node}/{link.a.netdev}", f"{link.b.node}/{link.b.netdev}") for link in fabric.links) == [
        ("alpha/enp1s0f0np0", "beta/enp1s0f1np1"),
        ("alpha/enp1s0f1np1", "beta/enp1s0f0np0"),
    ]


def test_many_nodes_are_asked_a_few_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "AT_ONCE", 3)
    most = 0

    def counting(channels: list[Channel], timeout_s: float) -> None:
        nonlocal most
        most = max(most, sum(not channel.ended for channel in channels))
        step(channels, timeout_s)

    monkeypatch.setattr(MODULE, "step", counting)
    with loopback_over_ssh(folder, "n*") as made:
        (folder / "fabric.toml").write_text(
            f'[ssh]\nconfig = "{made.config}"\n[[node]]\nname = "n[01-08]"\npython = "{sys.executable}"\n'
        )
        nodes = load_config(folder / "fabric.toml").nodes
        answers = ask(nodes, "scan", {"do": "scan", "deadline_s": 20, "cuda": False, "hash": False}, deadline_s=60)
    assert [answer.error for answer in answers] == [None] * 8
    assert [answer.node.name for answer in answers] == [f"n0{number}" for number in range(1, 9)]
    assert most == 3
