"""The caller's side of a holder: every way it can misbehave becomes a ToolError with a fix, and it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

import fabricdoc
from fabricdoc.errors import ToolError
from fabricdoc.lab import LabSpec, open_lab, opening
from fabricdoc.lab.opening import HolderProcess, module_path

pytestmark = pytest.mark.unit

READ = "import sys, json, signal, time; spec = json.loads(sys.stdin.readline()); "
GOOD = (
    READ + "print(json.dumps({'holder': 7, 'start': 8, 'nodes': [{'name': n, 'pid': i, 'target': f'netns:{i}', "
    "'ports': ['p'], 'addresses': ['a'], 'notes': []} for i, n in enumerate(spec['nodes'])]}), flush=True); "
)


@pytest.fixture
def holder_runs(monkeypatch: pytest.MonkeyPatch) -> object:
    """`holder_runs(code)`: start that code instead of the real holder."""
    return lambda code: monkeypatch.setattr(opening, "_PROGRAM", code)


def _fails(within_s: float = 5) -> ToolError:
    begin = time.monotonic()
    with pytest.raises(ToolError) as caught, open_lab(LabSpec()):
        pytest.fail("the lab opened")
    assert time.monotonic() - begin < within_s
    assert caught.value.fix
    return caught.value


def test_the_lab_is_what_the_holder_says(holder_runs) -> None:  # type: ignore[no-untyped-def]
    holder_runs(GOOD + "sys.stdin.read()")
    spec = LabSpec(nodes=("x", "y"))
    with open_lab(spec) as lab:
        assert (lab.holder, lab.spec) == (7, spec)
        assert [(node.name, node.pid, node.ports, node.notes) for node in lab.nodes] == [
            ("x", 0, ("p",), ()),
            ("y", 1, ("p",), ()),
        ]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (READ + "sys.exit('first\\nboom')", "boom"),
        ("raise SystemExit(3)", "it said nothing"),
        (READ + "print('no json', flush=True)", "no json"),
        (READ + "print('[]', flush=True)", "[]"),
        (READ + "sys.stdout.write('x' * (1 << 21))", "it said nothing"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "it said nothing"),
    ],
)
def test_a_holder_that_ends_or_babbles_is_a_tool_error(code: str, said: str, holder_runs) -> None:  # type: ignore[no-untyped-def]
    holder_runs(code)
    error = _fails()
    assert error.id == "lab-failed"
    assert said in error.message
    assert "\n" not in error.message


def test_the_holders_own_error_is_passed_on(holder_runs) -> None:  # type: ignore[no-untyped-def]
    holder_runs(READ + "print(json.dumps({'error': {'id': 'no-veth', 'message': 'm', 'fix': 'f'}}))")
    error = _fails()
    assert (error.id, error.message, error.fix) == ("no-veth", "m", "f")


@pytest.mark.long
def test_a_silent_holder_meets_the_deadline_and_is_killed(holder_runs, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(opening, "BRING_UP_S", 0.3)
    monkeypatch.setattr(opening, "END_S", 0.1)
    holder_runs("import signal; signal.pause()")
    assert _fails().id == "lab-deadline"


def test_a_holder_that_ignores_the_end_of_stdin_is_killed(holder_runs, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(opening, "END_S", 0.1)
    holder_runs(GOOD + "signal.pause()")
    with HolderProcess(parent=os.getpid()) as holder:
        holder.bring_up(LabSpec())
        process = holder._process
    assert process.returncode == -signal.SIGKILL


def test_a_second_ctrl_c_while_ending_still_kills(holder_runs, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    holder_runs(GOOD + "signal.pause()")
    real_wait = subprocess.Popen.wait
    waits: list[object] = []

    def interrupted(self: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        waits.append(timeout)
        if len(waits) == 1:
            raise KeyboardInterrupt
        return real_wait(self, timeout)

    holder = HolderProcess(parent=os.getpid())
    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt), holder:
        holder.bring_up(LabSpec())
    assert holder._process.returncode == -signal.SIGKILL


def test_nothing_is_left_open_or_unreaped(holder_runs) -> None:  # type: ignore[no-untyped-def]
    holder_runs(GOOD + "sys.stdin.read()")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with open_lab():
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_python_that_cannot_be_started_is_a_tool_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "can't be started" in _fails().message


def test_the_holder_finds_modules_where_we_do_and_never_in_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(Path(fabricdoc.__file__).parents[1])
    monkeypatch.setattr(sys, "path", ["", "relative", "/abs"])
    assert module_path() == [root, str(Path.cwd() / "relative"), "/abs"]
    monkeypatch.setattr(sys, "path", ["/abs", root])
    assert module_path() == ["/abs", root]
