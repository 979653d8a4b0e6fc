"""Nodes reached by a real ssh client and a real sshd, all on this machine: many on loopback, or the nodes of a lab.

A lab's node runs `sshd -i` inside its namespaces, started by the client's ProxyCommand, so no network leads there and
nothing stays behind. The loopback server ends by itself after its seconds. Needs ssh, sshd, ssh-keygen and root.
"""

from __future__ import annotations

import getpass
import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fabricdoc.lab import LabNode
from fabricdoc.transport.targets import ENTER

SSHD = "/usr/sbin/sshd"
KEEP_S = 110


def why_not() -> str:
    """What is missing here for such nodes, or ''."""
    if os.geteuid() != 0:
        return "sshd for other names than one's own needs root"
    missing = [name for name in ("ssh", SSHD, "ssh-keygen") if shutil.which(name) is None]
    return f"needs {', '.join(missing)}: make deps installs them" if missing else ""


class SshFolder:
    """Keys, the server's configuration and the client's, in one short-named folder of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.config, self.run = folder, folder / "ssh_config", folder / "run"
        self.run.mkdir()
        for name in ("host", "user"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(words, check=True, timeout=20)
        shutil.copy(folder / "user.pub", folder / "authorized")
        (folder / "known").write_text(f"good {(folder / 'host.pub').read_text()}")
        (folder / "sshd_config").write_text(
            f"HostKey {folder}/host\nPidFile none\nAuthorizedKeysFile {folder}/authorized\nUsePAM no\nStrictModes no\n"
            "PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUseDNS no\n"
            "MaxStartups 300\n"
        )

    def write_client(self, hosts: Sequence[str]) -> None:
        """The client's configuration: these `Host` blocks, then what all of them share."""
        self.config.write_text(
            "".join(hosts) + f"Host *\n  HostKeyAlias good\n  User {getpass.getuser()}\n"
            f"  IdentityFile {self.folder}/user\n  IdentitiesOnly yes\n  IdentityAgent none\n"
            f"  UserKnownHostsFile {self.folder}/known\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"
        )

    def hang_up(self) -> None:
        """End the shared connections, as `ssh -O exit` does."""
        self._control("exit")

    def standing(self) -> int:
        """How many shared connections answer."""
        return self._control("check").count(0)

    def _control(self, word: str) -> list[int]:
        done = []
        for path in [path for path in (self.run / "fabricdoc").glob("*") if path.is_socket()]:
            words = ["ssh", "-F", str(self.config), "-o", f"ControlPath={path}", "-O", word, "any"]
            done.append(subprocess.run(words, timeout=5, capture_output=True, check=False).returncode)
        return done


@contextmanager
def lab_over_ssh(folder: Path, nodes: Sequence[LabNode]) -> Iterator[SshFolder]:
    """The lab's nodes as ssh hosts of their own names."""
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    made = SshFolder(folder)
    server = f"timeout --foreground {KEEP_S} {SSHD} -i -q -f {folder}/sshd_config"
    made.write_client(
        [f"Host {node.name}\n  ProxyCommand {sys.executable} -I {ENTER} {node.pid} -- {server}\n" for node in nodes]
    )
    try:
        yield made
    finally:
        made.hang_up()


@contextmanager
def loopback_over_ssh(folder: Path, pattern: str, *, keep_s: int = KEEP_S) -> Iterator[SshFolder]:
    """One sshd on loopback that answers for every host of ssh's `pattern` (`n*`), for at most `keep_s` seconds."""
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    made = SshFolder(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made.write_client([f"Host {pattern}\n  HostName 127.0.0.1\n  Port {port}\n"])
    words = ["timeout", "-k", "2", str(keep_s), SSHD, "-D", "-e", "-f", str(folder / "sshd_config")]
    words += ["-o", f"ListenAddress=127.0.0.1:{port}"]
    log = folder / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        end = time.monotonic() + 10
        while f"port {port}" not in (text := log.read_text()):
            if time.monotonic() > end or server.poll() is not None:
                raise RuntimeError(f"sshd did not start: {text}")
            select.select([], [], [], 0.02)
        yield made
    finally:
        made.hang_up()
        server.terminate()
        server.wait(5)
