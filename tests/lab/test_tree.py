"""A tree as ClusterShell's topology.conf draws it: real sshd, real gateways, and nodes that only those reach."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricdoc.transport import Config, ask, build_zip, load_config, parse_nodes, probe_sources
from tests.lab.conftest import Watched
from tests.sshd import SshFolder, loopback_over_ssh, why_not

pytest.importorskip("ClusterShell.Topology", reason="needs ClusterShell, which the dev environment installs")
pytestmark = [pytest.mark.lab, pytest.mark.skipif(bool(why_not()), reason=why_not())]

ROOT = Path(__file__).resolve().parents[2]
SCAN = {"do": "scan", "deadline_s": 40, "cuda": False, "hash": False}
# a gateway's own ssh: its own configuration, in which this machine's names for the nodes mean nothing
GATEWAYS_SSH = '#!/bin/sh\nexec /usr/bin/ssh -F {folder}/gateway_config "$@"\n'
HANG = """
from pathlib import Path
from fabricdoc.transport import ask, load_config, parse_nodes
nodes = parse_nodes(["n[01-04]"], load_config())
ask(nodes, "echo", {"do": "hang"}, deadline_s=100, payload=Path("payload").read_bytes())
"""
RUNNING = {"relays": 1, "clients": 4, "probes": 4}


class Tree:
    """Gateways gw1 to gw3, of which gw1 refuses; behind them n01 to n20. All of them are this machine."""

    def __init__(self, made: SshFolder) -> None:
        self.folder, self.made = made.folder, made
        own = made.config.read_text()
        port = next(line.split()[1] for line in own.splitlines() if line.strip().startswith("Port "))
        shared = own[own.index("Host *") :]
        made.config.write_text(
            f"Host gw1\n  HostName 127.0.0.1\n  Port 1\nHost gw*\n  HostName 127.0.0.1\n  Port {port}\n{shared}"
        )
        (self.folder / "gateway_config").write_text(
            f"Host n20\n  HostKeyAlias stranger\nHost n*\n  HostName 127.0.0.1\n  Port {port}\n{shared}"
        )
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "ssh").write_text(GATEWAYS_SSH.format(folder=self.folder))
        (folder / "ssh").chmod(0o755)
        for word in ("gate", "leaf"):  # by which their processes are known
            (folder / word).symlink_to(Path(sys.executable).resolve())
        name = os.uname().nodename.partition(".")[0]
        (self.folder / "topology.conf").write_text(f"[routes]\n{name}: gw[1-3]\ngw[1-3]: n[01-20]\n")
        (self.folder / "fabric.toml").write_text(
            f'[ssh]\nconfig = "{made.config}"\n[clustershell]\ntree = true\ntopology = "topology.conf"\n'
            f'[[node]]\nname = "gw[1-3]"\npython = "{folder}/gate"\nenv = {{PATH = "{folder}:/usr/bin:/bin"}}\n'
            f'[[node]]\nname = "n[01-18]"\npython = "{folder}/leaf"\n'
            '[[node]]\nname = "n19"\npython = "/no/python"\n'
            f'[[node]]\nname = "n20"\npython = "{folder}/leaf"\n'
        )

    def left(self) -> dict[str, set[int]]:
        """What runs on gateways and nodes, by what it is; empty kinds are left out."""
        marks = {"relays": "bin/gate", "probes": "bin/leaf", "clients": "gateway_config"}
        found = {kind: having(f"{self.folder}/{mark}") for kind, mark in marks.items()}
        return {kind: pids for kind, pids in found.items() if pids}

    def wait_empty(self) -> None:
        """What a probe had just begun may end after it; a gateway's sshd is told of an end by its client."""
        end = time.monotonic() + 60
        while left := self.left():
            assert time.monotonic() < end, left
            select.select([], [], [], 0.05)

    @property
    def config(self) -> Config:
        return load_config(self.folder / "fabric.toml")


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    with tempfile.TemporaryDirectory(prefix="fd-", dir="/tmp") as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", f"{name}/run")
        with loopback_over_ssh(Path(name), "gw*") as made:
            yield Tree(made)


def having(mark: str) -> set[int]:
    """The processes whose program, or whose ssh configuration, this is."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "cmdline").read_bytes().split(b"\0")[:3]:
                found.add(int(folder.name))
        except OSError:
            continue
    return found


def counted(kinds: dict[str, set[int]]) -> dict[str, int]:
    return {kind: len(pids) for kind, pids in kinds.items()}


def test_nodes_that_only_gateways_reach_are_asked_through_them(tree: Tree) -> None:
    nodes = parse_nodes(["n[01-20]"], tree.config)
    answers = {answer.node.name: answer for answer in ask(nodes, "scan", SCAN, deadline_s=90)}
    assert list(answers) == [f"n{number:02d}" for number in range(1, 21)]
    fine = [answer for answer in answers.values() if answer.error is None]
    assert len(fine) == 18 and all(answer.message and answer.message["event"] == "result" for answer in fine)
    # gw1 refuses, so the others took its nodes over, and what is wrong with one node is told as they see it
    assert tree.made.standing() == 2
    missing, stranger = answers["n19"].error, answers["n20"].error
    assert missing is not None and stranger is not None
    assert (missing.id, stranger.id) == ("python-missing", "ssh-host-unknown")
    assert stranger.message.startswith(("n20: through gw2: its ssh host key", "n20: through gw3: its ssh host key"))
    assert stranger.fix.startswith(("on gw2: connect once by hand", "on gw3: connect once by hand"))
    # nothing stands open behind the gateways: no ssh of theirs, no relay, no probe
    tree.wait_empty()
    log = (tree.folder / "log").read_text()
    assert log.count("Accepted publickey") >= 2 + 18


def test_no_gateway_that_answers_is_told_of_every_node(tree: Tree) -> None:
    path = tree.folder / "topology.conf"
    path.write_text(path.read_text().replace("gw[1-3]", "gw1"))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "fabricdoc", "scan", "--nodes", "n01,n02", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, cwd=tree.folder, env=env)
    said = json.loads(done.stdout)
    assert done.returncode == 4, done.stderr
    text = json.dumps(said) + done.stderr
    for name in ("n01", "n02"):
        assert f"{name}: no gateway leads to it: gw1: nothing listens for ssh there" in text


def test_killed_it_leaves_nothing_on_gateways_and_nodes(tree: Tree, watch: Callable[[list[int]], Watched]) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    echo = (ROOT / "tests/unit/transport/echo_probe.py").read_text()  # asked so, it waits for a signal
    main = probe_sources()["probes/__main__.py"].replace("MODULES = (", 'MODULES = ("echo", ')
    sources = {**probe_sources(), "probes/echo.py": echo, "probes/__main__.py": main}
    (tree.folder / "payload").write_bytes(build_zip(sources))
    asking = subprocess.Popen([sys.executable, "-c", HANG], cwd=tree.folder, env=env)
    try:
        end = time.monotonic() + 80
        while counted(left := tree.left()) != RUNNING:
            assert time.monotonic() < end and asking.poll() is None, left
            select.select([], [], [], 0.05)
        watched = watch(sorted(set().union(*left.values())))
    finally:
        asking.kill()
        asking.wait(10)
    watched.wait_gone(60)
    tree.wait_empty()
