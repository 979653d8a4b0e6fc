"""However a gate ends, nothing of it lives on, here or on its nodes; and whatever stands in its way, it answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricdoc.lab import LabSpec, open_lab
from fabricdoc.store import list_gates
from tests.lab.cabling import F0, LINK, done
from tests.lab.conftest import Inside
from tests.lab.gate_lab import ROOT, GateLab
from tests.lab.marked import Command, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]

SET_STATE = LINK + "ip.link('set', index=at, state=sys.argv[2])"
ON_A_DISK = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
kind, disk, *words = sys.argv[1:]
steps = (
    lambda: libc.unshare(0x20000),
    lambda: libc.mount(None, b"/", None, 0x44000, None),
    lambda: libc.mount(b"tmpfs", os.fsencode(disk), b"tmpfs", 1 if kind == "read-only" else 0, b"size=32k"),
)
for step in steps:
    if step() != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
if kind == "full":
    handle = os.open(os.path.join(disk, "filled"), os.O_CREAT | os.O_WRONLY)
    try:
        while os.write(handle, bytes(4096)): pass
    except OSError: pass
os.execv(sys.executable, [sys.executable, "-m", "fabricdoc", *words])
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateLab]:
    with open_lab(LabSpec()) as lab:
        yield GateLab(lab, tmp_path_factory.mktemp("ends"))


def words(pair: GateLab, *more: str, store: str = "") -> list[str]:
    own = ["--preset", str(pair.file), "--presets", str(pair.folder), "--store", store or str(pair.store)]
    return ["gate", *own, "--deadline", "60", *more]


def has_probes(command: Command) -> bool:
    """Whether a python of it runs on a node: in another network namespace than ours."""
    return bool(command.namespaces())


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ended_in_the_middle_it_leaves_nothing_on_its_nodes(pair: GateLab, sig: signal.Signals) -> None:
    """While probes run on both nodes: they end with the conversation; what was not answered is not in the history."""
    command = Command(words(pair))
    try:
        wait_until(lambda: has_probes(command), 60, "a probe runs on a node")
        command.process.send_signal(sig)
        out, err = command.process.communicate(timeout=60)
        wait_until(lambda: not command.pids(), 30, f"processes {command.pids()} end")
    finally:
        command.process.kill()
        command.process.communicate()
    assert out == ""
    assert "Traceback" not in err
    assert command.process.returncode == (-sig if sig == signal.SIGKILL else 130)
    assert list_gates(pair.store) == ()


def test_a_node_that_hangs_is_given_up_and_nothing_of_it_is_left(pair: GateLab) -> None:
    with pair.broken("beta", hang=True):
        begun = time.monotonic()
        command = Command([*words(pair), "--deadline", "4", "--line"])
        out, _err = command.process.communicate(timeout=100)
        took = time.monotonic() - begun
    assert command.process.returncode == 4, out
    assert "node@beta" in out
    assert took < 60.0
    wait_until(lambda: not command.pids(), 30, f"processes {command.pids()} end")


def test_a_reader_that_goes_away_changes_no_status(pair: GateLab, inside: Inside) -> None:
    """`fabricdoc gate | head -1` under pipefail, with a stdout that is closed, and on a full one."""
    alpha = pair.node("alpha").pid
    line = [sys.executable, "-m", "fabricdoc", *words(pair)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    shell = 'set -o pipefail; "$@" 2>/dev/null | head -1; echo ${PIPESTATUS[0]}; "$@" 2>/dev/null >&-; echo $?'
    done(inside(alpha, SET_STATE, F0, "down"))
    try:
        ended = subprocess.run(
            ["bash", "-c", shell, "bash", *line], env=env, capture_output=True, text=True, timeout=120, check=False
        )
    finally:
        done(inside(alpha, SET_STATE, F0, "up"))
    head, status, closed = ended.stdout.splitlines()
    assert head.startswith("no-go for preset pair: ")
    assert (status, closed) == ("1", "1")
    with Path("/dev/full").open("w") as full:
        lost = subprocess.run(line, env=env, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert lost.returncode == 4, "a go that nobody could read is none"
    assert "can't write the output" in lost.stderr


def test_without_home_terminal_or_name_of_a_store_it_answers(pair: GateLab, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_STATE_HOME", "TERM", "LANG")}
    gone = tmp_path / "gone"
    line = [sys.executable, "-m", "fabricdoc", *words(pair, "--line")]
    ended = subprocess.run(
        line, env={**env, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(gone), "XDG_CACHE_HOME": str(gone)},
        start_new_session=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout.split()[2]) == (0, "go"), ended.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts small disks, which needs root")
@pytest.mark.parametrize(("kind", "why"), [("full", "no space left"), ("read-only", "")])
def test_a_store_that_can_not_be_written_is_told_and_refuses_nothing(
    pair: GateLab, tmp_path: Path, kind: str, why: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ON_A_DISK, kind, str(tmp_path), *words(pair, store=str(tmp_path / "s" / "runs.sqlite"))],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    text = " ".join(ended.stdout.split())
    assert text.startswith("go for preset pair: ")
    assert "history" in text and "noted" in text and why in text
    assert max(map(len, ended.stdout.splitlines())) <= 80
