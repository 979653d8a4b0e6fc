"""Every way in which a node can't be reached by ssh, from a real client's and a real sshd's mouth, in one scan each.

The nodes that can be reached are read all the same, the command ends with status 4, and each other node has a line that
names it and says what to do. Nothing leaves this machine: the wrong addresses are in a namespace of the test's own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.transport import NodeSpec, ask
from tests import sshd
from tests.sshd import SshFolder, loopback_over_ssh, why_not

pytestmark = [pytest.mark.lab, pytest.mark.skipif(bool(why_not()), reason=why_not())]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made() -> Iterator[SshFolder]:
    """A sshd on loopback, its key known under the names good, changed (another one's) and revoked."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fd-", dir="/tmp")))
        server = stack.enter_context(loopback_over_ssh(folder, "n*", keep_s=100))
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "other")], check=True)
        keys = {name: (folder / f"{name}.pub").read_text() for name in ("host", "other")}
        with (folder / "known").open("a") as known:
            known.write(f"changed {keys['other']}@revoked revoked {keys['host']}")
        shutil.copy(folder / "user", folder / "open")
        (folder / "open").chmod(0o644)
        yield server


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def answering(act: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port of loopback; `act` is done to each of at most 8 connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        held: list[socket.socket] = []

        def serve() -> None:
            for _ in range(8):
                try:
                    held.append(server.accept()[0])
                    act(held[-1])
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield int(server.getsockname()[1])
        for each in held:
            each.close()


def speak_http(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 400)
    peer.shutdown(socket.SHUT_RDWR)


def scanned(made: SshFolder, hosts: str, tables: str) -> tuple[int, dict[str, Any]]:
    """Exit status and document of a scan by the command itself, with more `Host` blocks and these nodes."""
    config = made.folder / "more_config"
    # ssh tries every key that any block names
    key = f"  IdentityFile {made.folder}/user\n"
    shared = made.config.read_text().replace(key, "")
    config.write_text(f"{hosts}{shared}Host * !stranger !openkey\n{key}")
    (made.folder / "fabric.toml").write_text(f'[ssh]\nconfig = "{config}"\n{tables}')
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(made.run)}
    words = [sys.executable, "-m", "fabricdoc", "scan", "--json"]
    done = subprocess.run(words, cwd=made.folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def table(name: str, python: str = sys.executable) -> str:
    return f'[[node]]\nname = "{name}"\npython = "{python}"\n'


# name, what ssh's configuration says of it, the id, words of the line, words of the fix
CASES = (
    ("refused", "Port {closed}", "ssh-refused", "Connection refused", "start sshd on it"),
    ("stranger", "Port {port}\n  IdentityFile {folder}/other", "ssh-permission", "Permission denied", "ssh-copy-id"),
    ("nobody", "Port {port}\n  User nosuchuser", "ssh-permission", "nosuchuser@127.0.0.1", "set up a key for nobody"),
    ("openkey", "Port {port}\n  IdentityFile {folder}/open", "ssh-permission", "too open", "chmod 600"),
    ("unknown", "Port {port}\n  HostKeyAlias unknown", "ssh-host-unknown", "host key is known", "ssh unknown"),
    ("asking", "Port {port}\n  HostKeyAlias asking\n  {ask}", "ssh-host-unknown", "verification failed", "ssh asking"),
    ("changed", "Port {port}\n  HostKeyAlias changed", "ssh-host-key", "CHANGED", "ssh-keygen -R changed"),
    ("revoked", "Port {port}\n  HostKeyAlias revoked", "ssh-host-key", "revoked", "do not trust|ask who marked it"),
    ("typo", "HostName no-such-host.invalid", "node-unreachable", "Could not resolve", "typo=[user@]ADDRESS"),
    ("silent", "Port {silent}", "node-unreachable", "timed out", "not overloaded"),
    ("hangs-up", "Port {hangs_up}", "ssh-hung-up", "before ssh begins|at the login", "ssh -v hangs-up true"),
    ("web", "Port {web}", "ssh-hung-up", "before ssh begins|at the login", "ssh -v web true"),
    ("old", "Port {port}\n  KexAlgorithms diffie-hellman-group1-sha1", "ssh-algorithms", "Their offer:", "ssh -G old"),
    ("behind", "ProxyJump refused", "ssh-jump", "a jump host", "says which step broke: ssh behind true"),
    ("far", "Port {closed}\n  ProxyJump n1", "ssh-jump", "a jump host", "ssh far true"),
    ("dead-proxy", "ProxyCommand false", "ssh-jump", "ProxyCommand broke", "ssh -G dead-proxy"),
)


def host_blocks(made: SshFolder, **ports: int) -> str:
    words = {"folder": made.folder, "ask": "StrictHostKeyChecking ask", **ports}
    return "".join(f"Host {case[0]}\n  HostName 127.0.0.1\n  {case[1].format(**words)}\n" for case in CASES).replace(
        "  HostName 127.0.0.1\n  HostName", "  HostName"
    )


def test_each_failure_is_a_line_of_its_own_and_the_others_are_read(made: SshFolder) -> None:
    port = next(
        int(line.split()[1]) for line in made.config.read_text().splitlines() if line.strip().startswith("Port")
    )
    with (
        answering(lambda _peer: None) as silent,
        answering(socket.socket.close) as hangs_up,
        answering(speak_http) as web,
    ):
        hosts = host_blocks(made, port=port, closed=closed_port(), silent=silent, hangs_up=hangs_up, web=web)
        tables = "".join(table(case[0]) for case in CASES)
        tables += table("n1") + table("n2") + table("no-python", "/no/python3") + table("n-ends", "/bin/true")
        status, fabric = scanned(made, hosts, tables)
    assert status == 4
    assert [node["name"] for node in fabric["nodes"]] == ["n1", "n2"]
    failed = {one["name"]: one for one in fabric["failed"]}
    for name, _config, id_, words, fix in CASES:
        one = failed.pop(name)
        assert (one["id"], one["message"].startswith(f"{name}: ")) == (id_, True), one
        assert any(word in one["message"] for word in words.split("|")), one
        assert any(word in f"{one['message']} {one['fix']}" for word in fix.split("|")), one
    assert {name: one["id"] for name, one in failed.items()} == {
        "no-python": "python-missing",
        "n-ends": "start-failed",
    }


def test_a_shared_connection_that_hangs_costs_its_node_the_deadline_alone(
    made: SshFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a machine loses its power within the minute that its connection is kept."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(made.run))
    nodes = [NodeSpec(name, name, python=sys.executable, ssh_config=str(made.config)) for name in ("nn1", "nn2")]
    request = {"do": "scan", "deadline_s": 5, "cuda": False, "hash": False}
    before = set((made.run / "fabricdoc").glob("*"))
    assert [answer.error for answer in ask(nodes[:1], "scan", request, deadline_s=30)] == [None]
    (path,) = set((made.run / "fabricdoc").glob("*")) - before
    words = ["ssh", "-F", str(made.config), "-o", f"ControlPath={path}", "-O", "check", "nn1"]
    said = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True).stderr
    pid = int(re.findall(r"pid=(\d+)", said)[0])
    os.kill(pid, signal.SIGSTOP)
    try:
        (hung,) = ask(nodes[:1], "scan", request, deadline_s=2)
        (fine,) = ask(nodes[1:], "scan", request, deadline_s=30)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert hung.error is not None
    assert (hung.error.id, "nn1: nothing of ours started there" in hung.error.message) == ("node-timeout", True)
    assert hung.seconds < 4
    assert fine.error is None


class FewLogins(SshFolder):
    """A sshd that drops logins beyond three at once, and all beyond twelve."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        config = folder / "sshd_config"
        config.write_text(config.read_text().replace("MaxStartups 300", "MaxStartups 3:50:12"))


def test_a_jump_host_that_drops_logins_beyond_its_limit_loses_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """MaxStartups as sshd has it, but for its numbers; without a second try most of these nodes fail."""
    with tempfile.TemporaryDirectory(prefix="fd-", dir="/tmp") as name:
        folder = Path(name)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "run"))
        monkeypatch.setattr(sshd, "SshFolder", FewLogins)
        with loopback_over_ssh(folder, "n* jump") as made:
            config = made.folder / "jump_config"
            config.write_text("Host n*\n  ProxyJump jump\n" + made.config.read_text())
            nodes = [NodeSpec(f"n{n}", f"n{n}", python=sys.executable, ssh_config=str(config)) for n in range(8)]
            request = {"do": "scan", "deadline_s": 20, "cuda": False, "hash": False}
            answers = ask(nodes, "scan", request, deadline_s=50)
            dropped = (folder / "log").read_text().count("beginning MaxStartups throttling")
    assert [answer.error for answer in answers] == [None] * 8
    assert dropped, "nothing was dropped: this shows nothing"


SCRIPT = """
import json, sys
from pyroute2 import IPRoute
from fabricdoc.transport import NodeSpec, ask
with IPRoute() as net:
    net.link("add", ifname="v0", kind="veth", peer="v1")
    index = {name: net.link_lookup(ifname=name)[0] for name in ("lo", "v0", "v1")}
    for number in index.values():
        net.link("set", index=number, state="up")
    net.addr("add", index=index["v0"], address="10.9.0.1", prefixlen=24)
    net.neigh("add", dst="10.9.0.3", lladdr="02:00:00:00:00:03", ifindex=index["v0"], state=128)
    net.route("add", dst="10.9.1.0/24", type="unreachable")
    net.route("add", dst="10.9.2.0/24", type="prohibit")
nodes = [NodeSpec(name, name, ssh_config=sys.argv[1]) for name in sys.argv[2].split()] + [NodeSpec("here", "local")]
answers = ask(nodes, "scan", {"do": "scan", "deadline_s": 5, "cuda": False, "hash": False}, deadline_s=15)
print(json.dumps([
    [a.node.name, a.error.id if a.error else "", a.error.message if a.error else "", a.error.fix if a.error else "",
     a.seconds] for a in answers
]))
"""
ROUTES = (
    ("off", "10.9.0.2", "no way to it", "No route to host", 5),  # nobody answers ARP there
    ("silent", "10.9.0.3", "does not answer ssh in time", "timed out", 7),  # packets go out and vanish
    ("unrouted", "10.9.1.1", "no way to it", "No route to host", 2),
    ("barred", "10.9.2.1", "does not let a connection to it out", "Permission denied", 2),
    ("nowhere", "10.8.0.1", "no way to it", "Network is unreachable", 2),
)


def test_addresses_without_a_way_or_an_answer_are_told_apart_within_the_deadline(tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    config.write_text("".join(f"Host {name}\n  HostName {address}\n" for name, address, *_ in ROUTES))
    names = " ".join(route[0] for route in ROUTES)
    words = ["unshare", "--net", sys.executable, "-c", SCRIPT, str(config), names]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    *failed, here = json.loads(done.stdout)
    assert here[:2] == ["here", ""]
    for (name, _address, message, words_, seconds), row in zip(ROUTES, failed, strict=True):
        assert row[:2] == [name, "node-unreachable"], row
        assert message in row[2] and words_ in row[2] and row[3], row
        assert row[4] < seconds + 2, row
