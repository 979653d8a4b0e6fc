"""The CPU lab without root's rights, and where the kernel refuses it: real refusals, made in a child process."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lab

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534

PRELUDE = """
import ctypes, json, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
def must(result):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def own_mounts():
    must(libc.unshare(0x20000))
    must(libc.mount(b"none", b"/", None, ctypes.c_ulong(0x44000), None))
def become_nobody():
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
def refused():
    from fabricdoc.errors import ToolError
    from fabricdoc.lab import open_lab
    try:
        with open_lab():
            print(json.dumps({"opened": True}))
    except ToolError as error:
        print(json.dumps({"id": error.id, "fix": error.fix, "message": error.message}))
"""
USE = """
import socket, subprocess
from fabricdoc.lab import LabSpec, open_lab
def enter(pid):
    flags = 0x10000000 * (os.readlink(f"/proc/{pid}/ns/user") != os.readlink("/proc/self/ns/user"))
    must(libc.setns(os.pidfd_open(pid), flags | 0x44020000))
def inside(node, code, *words):
    command = [sys.executable, "-c", "import socket, sys; " + code, *words]
    return subprocess.Popen(command, preexec_fn=lambda: enter(node.pid), stdout=subprocess.PIPE, text=True)
SERVE = (
    "s = socket.create_server((sys.argv[1], 0)); s.settimeout(10); print(s.getsockname()[1], flush=True); "
    "print(s.accept()[1][0])"
)
CALL = "socket.create_connection((sys.argv[1], int(sys.argv[2])), 10); print(socket.gethostname())"
LOOK = "import os; print(*sorted(os.listdir('/sys/class/net')))"
with open_lab(LabSpec(rate_mbit=100)) as lab:
    alpha, beta = lab.nodes
    serving = inside(beta, SERVE, beta.addresses[0])
    number = serving.stdout.readline().strip()
    said = inside(alpha, CALL, beta.addresses[0], number).communicate(timeout=15)[0]
    print(json.dumps({
        "uid": os.getuid(),
        "pids": [lab.holder, alpha.pid, beta.pid],
        "caller": said.strip(),
        "peer": serving.communicate(timeout=15)[0].strip(),
        "sysfs": inside(alpha, LOOK).communicate(timeout=15)[0].split(),
        "notes": alpha.notes,
        "own_user_namespace": os.readlink(f"/proc/{alpha.pid}/ns/user") != os.readlink("/proc/self/ns/user"),
    }), flush=True)
    signal.pause()
"""


def _become_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def _environment() -> dict[str, str]:
    """An environment in which another Python of the same version finds what this one does."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTHON"))}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(ROOT), *_packages()]), "PYTHONDONTWRITEBYTECODE": "1"}


def _packages() -> list[str]:
    return [entry for entry in sys.path if entry.endswith("-packages")]


@pytest.fixture(scope="module")
def python() -> str:
    """A Python of this version that nobody may run, with our packages (this one often lies in root's home)."""
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody; as this user the whole suite runs unprivileged already")
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        command = [candidate, "-c", "import pyroute2, fabricdoc.lab"]
        try:
            subprocess.run(
                command, preexec_fn=_become_nobody, env=_environment(), cwd="/", check=True, capture_output=True
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return candidate
    pytest.skip(f"no {version} here that nobody may run with this project's packages")


def _start(python: str, code: str, *, nobody: bool, argv: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [python, "-c", PRELUDE + code, *argv],
        preexec_fn=_become_nobody if nobody else None,
        env=_environment(),
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _answer(process: subprocess.Popen[str]) -> dict[str, object]:
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    answer: dict[str, object] = json.loads(out)
    return answer


def test_nobody_gets_a_whole_lab_and_kill_9_leaves_nothing(python: str) -> None:
    process = _start(python, USE, nobody=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        seen = json.loads(line)
        pids = seen.pop("pids")
        assert seen == {
            "uid": NOBODY,
            "caller": "alpha",
            "peer": "10.77.1.1",
            "sysfs": ["enp1s0f0np0", "enp1s0f1np1", "lo"],
            "notes": [],
            "own_user_namespace": True,
        }
        handles = [os.pidfd_open(pid) for pid in pids]
    finally:
        process.kill()
        process.communicate()
    for handle in handles:
        assert select.select([handle], [], [], 10)[0]
        os.close(handle)


def test_without_the_right_to_namespaces_nobody_is_given_the_sudo_line(python: str, tmp_path: Path) -> None:
    code = f"""
own_mounts()
must(libc.mount(b"/", {str(tmp_path).encode()!r}, None, ctypes.c_ulong(0x5000), None))
os.chroot({str(tmp_path)!r})  # the kernel refuses user namespaces to a process in a chroot
os.chdir("/")
become_nobody()
refused()
"""
    answer = _answer(_start(python, code, nobody=False, argv=("demo", "it's")))
    assert answer["id"] == "no-namespaces"
    assert "Operation not permitted" in str(answer["message"])
    fix = str(answer["fix"])
    assert fix.startswith(f"run it as root: `sudo env PYTHONPATH={ROOT}")
    assert f" {python} -c " in fix
    assert fix.endswith("""demo 'it'"'"'s'`""")


def test_root_without_the_right_to_namespaces_is_told_about_the_container(python: str, tmp_path: Path) -> None:
    code = f"""
own_mounts()
must(libc.mount(b"/", {str(tmp_path).encode()!r}, None, ctypes.c_ulong(0x5000), None))
os.chroot({str(tmp_path)!r})
os.chdir("/")
must(libc.prctl(24, 21, 0, 0, 0))  # PR_CAPBSET_DROP, CAP_SYS_ADMIN: as root in a container
refused()
"""
    answer = _answer(_start(python, code, nobody=False))
    assert answer["id"] == "no-namespaces"
    assert "docker run --privileged" in str(answer["fix"])


def test_root_without_cap_sys_admin_falls_back_to_a_user_namespace(python: str) -> None:
    code = """
must(libc.prctl(24, 21, 0, 0, 0))
refused()
"""
    assert _answer(_start(python, code, nobody=False)) == {"opened": True}


def test_a_refused_sysfs_is_a_note_not_a_failure(python: str) -> None:
    code = """
own_mounts()
must(libc.mount(b"none", b"/sys/class", b"tmpfs", ctypes.c_ulong(0), None))  # as container runtimes mask it
become_nobody()
from fabricdoc.lab import open_lab
with open_lab() as lab:
    print(json.dumps({"notes": [node.notes for node in lab.nodes]}))
"""
    notes = _answer(_start(python, code, nobody=False))["notes"]
    assert isinstance(notes, list)
    assert len(notes) == 2
    for (note,) in notes:
        assert note.startswith("/sys shows this machine's own devices: ")
