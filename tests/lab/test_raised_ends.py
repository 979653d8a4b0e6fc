"""A beacon probe with raised rights ends with its controller, however that ends; over a real sshd.

`sudo` and `docker` are programs of the tests on the node's PATH. The second is a client beside a daemon, as Docker is:
what runs in the container is no child of the client and outlives it; its input ends with the client's.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fabricdoc.lab import Lab
from fabricdoc.transport import NodeSpec, open_some
from tests.lab.cabling import F0, F1, bare_python
from tests.lab.conftest import SOURCE_ROOT
from tests.sshd import lab_over_ssh, why_not

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(120),
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]

REFUSES = "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n"
# -n -- PYTHON ARGUMENTS; the trial is let through; a run says so on the fifo, where one is there
SUDO = """#!/bin/sh
shift 2
case "$*" in *"socket.socket("*) exit 0 ;; esac
[ ! -p {folder}/begun ] || echo run >{folder}/begun
exec "$@"
"""
DOCKER = """#!{python} -I
import os, signal, sys
words, folder = sys.argv[1:], {folder!r}
if words[0] == "image": sys.exit(0)
if words[0] == "rm":
    try: os.kill(int(open(folder + "/" + words[-1]).read()), signal.SIGKILL)
    except OSError: sys.exit(1)
    sys.exit(0)
name = ([word[7:] for word in words if word.startswith("--name=")] or ["trial"])[0]
argv = words[words.index("--") + 2:]
if "socket.socket(" in " ".join(argv): sys.exit(0)
stdin, to_stdin = os.pipe()
alive, life = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    with open(folder + "/" + name, "w") as file: file.write(str(os.getpid()))
    os.dup2(stdin, 0)
    for fd in (stdin, to_stdin, alive): os.close(fd)
    os.set_inheritable(life, True)
    os.execv({python!r}, [{python!r}, *argv])
os.close(life); os.close(stdin)
try:
    while data := os.read(0, 65536): os.write(to_stdin, data)
except OSError:
    pass
os.close(to_stdin)
os.read(alive, 1)
"""
CONTROLLER = """
import sys
from fabricdoc.transport import NodeSpec, open_some
node = NodeSpec("alpha", "alpha", python=sys.executable, image="engine:1", ssh_config=sys.argv[1])
channels, failed = open_some([node], "beacon", raised=True)
print(sorted(map(str, failed.values())) or "runs", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short name: the sockets of shared connections lie below it."""
    with tempfile.TemporaryDirectory(prefix="fd-", dir="/tmp") as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", f"{made}/run")
        yield Path(made)


@contextmanager
def reached(folder: Path, lab: Lab, way: str) -> Iterator[str]:
    """Alpha and beta by ssh, with rights by `way`; the client's configuration. All that runs there has a mark."""
    tools = folder / "bin"
    tools.mkdir()
    texts = {"sudo": SUDO if way == "sudo" else REFUSES, "docker": DOCKER}
    for name, text in texts.items():
        made = text.replace("{folder!r}", repr(str(folder))).replace("{folder}", str(folder))
        (tools / name).write_text(made.replace("{python!r}", repr(sys.executable)).replace("{python}", sys.executable))
        (tools / name).chmod(0o755)
    with lab_over_ssh(folder, lab.nodes) as client:
        with (folder / "sshd_config").open("a") as config:
            config.write(f"SetEnv PATH={tools}:/usr/bin:/bin FABRICDOC_TEST_MARK={folder}\n")
        try:
            yield str(client.config)
        finally:
            for pid in marked(folder):
                os.kill(pid, signal.SIGKILL)


def marked(folder: Path) -> dict[int, list[str]]:
    """The words of all processes that an ssh login of this test started."""
    mark, found = f"FABRICDOC_TEST_MARK={folder}".encode(), {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (place / "environ").read_bytes().split(b"\0"):
                found[int(place.name)] = (place / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
    return found


def all_gone(folder: Path, within_s: float = 15.0) -> bool:
    """Whether no process of such a login is left after at most that time."""
    end = time.monotonic() + within_s
    while marked(folder) and time.monotonic() < end:
        select.select([], [], [], 0.1)
    return not marked(folder)


@pytest.mark.parametrize("way", ["sudo", "docker"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_controller_leaves_no_raised_probe(lab: Lab, folder: Path, way: str, number: signal.Signals) -> None:
    with reached(folder, lab, way) as config:
        env = {**os.environ, "PYTHONPATH": str(SOURCE_ROOT)}
        with subprocess.Popen(
            [sys.executable, "-c", CONTROLLER, config],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        ) as controller:
            assert controller.stdout is not None
            assert controller.stdout.readline() == "runs\n"
            assert beacon_pids(folder)
            controller.send_signal(number)
            controller.wait(10)
        assert all_gone(folder), marked(folder)


@pytest.mark.parametrize("way", ["sudo", "docker"])
def test_a_raised_probe_that_hears_nothing_any_more_is_ended_on_its_node(lab: Lab, folder: Path, way: str) -> None:
    """Stopped, it does not see its input end; in a container it would outlive the runtime's client too."""
    with reached(folder, lab, way) as config:
        node = NodeSpec("alpha", "alpha", python=sys.executable, image="engine:1", ssh_config=config)
        channels, failed = open_some([node], "beacon", raised=True)
        with channels:
            assert failed == {}
            pids = beacon_pids(folder)
            assert pids
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
        assert all_gone(folder, 3.0), marked(folder)


def beacon_pids(folder: Path) -> list[int]:
    """The probe itself, not those that wait for it."""
    found = marked(folder).items()
    return [pid for pid, words in found if "beacon" in words and words[0] == sys.executable and "run" not in words]


def test_kill_9_of_a_cables_command_while_it_is_given_rights_leaves_nothing(lab: Lab, folder: Path) -> None:
    """The user's own command, ended when sudo begins the probe: no raw sockets over this login."""
    bare = bare_python(folder)
    os.mkfifo(folder / "begun")
    with reached(folder, lab, "sudo") as config:
        (folder / "fabric.toml").write_text(
            f'[ssh]\nconfig = "{config}"\n'
            + "".join(
                f'[[node]]\nname = "{n.name}"\ntarget = "{n.name}"\npython = "{bare}"\nports = ["{F0}", "{F1}"]\n'
                for n in lab.nodes
            )
        )
        env = {**os.environ, "PYTHONPATH": str(SOURCE_ROOT)}
        words = [sys.executable, "-m", "fabricdoc", "cables"]
        with subprocess.Popen(
            words, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as command:
            begun = os.open(folder / "begun", os.O_RDONLY | os.O_NONBLOCK)
            assert select.select([begun], [], [], 60)[0]
            command.kill()
            command.wait(10)
        (folder / "begun").unlink()
        assert all_gone(folder), marked(folder)
        os.close(begun)
