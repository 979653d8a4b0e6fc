"""One python a node for the probes that prove its cables: fewer logins, and a node that fails costs only itself."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricdoc.fabric import map_cables, scan
from fabricdoc.fabric.crew import Crew
from fabricdoc.fabric.rdma_talk import Talk
from fabricdoc.fabric.sharing import open_some, sharing
from fabricdoc.lab import Lab, LabSpec, open_lab
from fabricdoc.transport import NodeSpec, channel
from tests.lab.cabling import F0, F1, bare_python, links_of, mapped, specs_of, told
from tests.sshd import lab_over_ssh, why_not

pytestmark = pytest.mark.lab

CROSSED = [(f"alpha/{F0}", f"beta/{F1}", "cable"), (f"alpha/{F1}", f"beta/{F0}", "cable")]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short name: the sockets of shared connections lie below it."""
    with tempfile.TemporaryDirectory(prefix="fd-", dir="/tmp") as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", f"{made}/run")
        yield Path(made)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first word of every command that is started for a node, as it is started."""
    words: list[str] = []
    plain = channel.Process.__init__

    def noted(self: channel.Process, command: channel.Command) -> None:
        words.append(command.argv[0])
        plain(self, command)

    monkeypatch.setattr(channel.Process, "__init__", noted)
    return words


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_scan_with_cables_takes_two_logins_a_node(lab: Lab, folder: Path, started: list[str]) -> None:
    """One for the scan, which has children with deadlines of their own, and one for all that proves the cables."""
    with lab_over_ssh(folder, lab.nodes) as made:
        specs = [
            NodeSpec(one.name, one.name, python=sys.executable, ports=(F0, F1), ssh_config=str(made.config))
            for one in lab.nodes
        ]
        fabric = scan(specs, deadline_s=20)
        assert started == ["ssh"] * 2
        fabric = map_cables(specs, fabric)
    assert started == ["ssh"] * 4
    assert told(fabric) == CROSSED
    assert [[more.method for more in link.more_proofs] for link in links_of(fabric)] == [["ping"], ["ping"]]
    assert fabric.failed == ()


def test_probes_that_need_rights_are_started_by_themselves(
    lab: Lab, folder: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without raw sockets each node is also asked for them, and multicast is spoken by the python that is there."""
    (folder / "sudo").write_text("#!/bin/sh\nexit 1\n")
    (folder / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    fabric = mapped(specs_of(lab, python=bare_python(folder)))
    assert told(fabric) == CROSSED
    assert {link.proof.method for link in links_of(fabric)} == {"multicast"}
    assert len(started) == 2 + 2 + 2, "scan, cables, and the attempt at rights"


def test_nothing_of_it_is_left_running(started: list[str]) -> None:
    with open_lab(LabSpec(nodes=("alpha", "beta", "gamma"), cabling="ring")) as ring:
        fabric = mapped(specs_of(ring))
        assert len(links_of(fabric)) == 3
        pids = {place.name for place in Path("/proc").glob("[0-9]*") if b"\0several\0" in _words(place)}
    assert pids == set()


def _words(place: Path) -> bytes:
    try:
        return (place / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_real_probe_that_has_no_verbs_hands_over_to_the_next() -> None:
    """Each of the three in one python of this machine, in the order of the cables job; two nodes, no HCA needed."""
    here = [NodeSpec(name, "local") for name in ("one", "two")]
    with sharing():
        for _round in range(2):
            turn, failed = open_some(here, "rdma_ping")
            with turn:
                talk = Talk(turn, failed)
                talk.greet()
                talk.end()
            assert (talk.lost, set(talk.able) | set(talk.unable)) == ({}, {"one", "two"})
            turn, failed = open_some(here, "reach")
            with turn:
                crew = Crew(turn, failed, "the reach probe")
                opening = {"do": "open", "key": "00" * 32, "nonce": "00" * 8}
                crew.tell(dict.fromkeys(crew.names, opening))
                assert set(crew.answers("ready", crew.names, 20.0)) == {"one", "two"}
            turn, failed = open_some(here, "beacon")
            with turn:
                crew = Crew(turn, failed, "the beacon probe")
                request = {"do": "listen", "node": "x", "nonce": "00" * 8, "key": "00", "ports": []}
                crew.tell(dict.fromkeys(crew.names, request))
                assert set(crew.answers("ready", crew.names, 20.0)) == {"one", "two"}
            assert failed == {}
