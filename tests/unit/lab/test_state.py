"""State files: whose folder, what is written, what is believed, and what is cleared."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricdoc.errors import ToolError, UsageError
from fabricdoc.lab import LabSpec, LabState, lab_down, lab_list, lab_up
from fabricdoc.lab import state as state_module
from fabricdoc.lab.processes import boot_id, start_time
from fabricdoc.lab.spec import lab_node
from fabricdoc.lab.state import is_live, live_states, read_state, state_folder, state_path, write_state

pytestmark = pytest.mark.unit


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return state_folder()


def _state(name: str = "lab", **changes: object) -> LabState:
    """A state whose holder is this very process: live until changed."""
    spec = LabSpec()
    state = LabState(
        name=name,
        pid=os.getpid(),
        start=start_time(os.getpid()) or 0,
        boot=boot_id(),
        created="2026-11-29T12:00:00Z",
        spec=spec,
        nodes=tuple(lab_node(spec, index, 100 + index) for index in range(2)),
    )
    return dataclasses.replace(state, **changes)  # type: ignore[arg-type]


def test_the_folder_is_this_users_alone(folder: Path, tmp_path: Path) -> None:
    assert folder == tmp_path / "fabricdoc" / "lab"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    assert stat.S_IMODE(state_folder().stat().st_mode) == 0o700


def test_without_a_runtime_folder_the_state_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "new" / "state"))
    assert state_folder() == tmp_path / "new" / "state" / "fabricdoc" / "lab"


@pytest.mark.parametrize("base", ["relative", "/proc/1/nowhere", ""])
def test_a_base_that_is_no_folder_is_passed_over(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", base)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder().is_relative_to(tmp_path)


def test_bases_of_another_user_are_passed_over_for_the_home_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sudo with kept variables: the lab is root's, so its file lies where only root writes."""
    other = os.geteuid() + 1
    home = tmp_path / "root"
    entry = pwd.struct_passwd(("root", "x", other, other, "", str(home), "/bin/sh"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.geteuid", lambda: other)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: entry)
    with pytest.raises(ToolError, match="not a folder of your own"):
        state_folder()
    assert (home / ".local" / "state" / "fabricdoc" / "lab").is_dir()
    assert not (tmp_path / "fabricdoc").exists()


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither XDG variable, nor HOME."""
    for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("homeless")
def test_home_beats_passwd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`nobody` has the home /nonexistent in passwd; the HOME it was given is what counts."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("pwd.getpwuid", lambda uid: pytest.fail("passwd was asked"))
    assert state_folder() == tmp_path / ".local" / "state" / "fabricdoc" / "lab"


@pytest.mark.usefixtures("homeless")
def test_root_passes_over_a_home_that_is_anothers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sudo` that keeps HOME: root's state must not lie where its caller can exchange it."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    if os.geteuid() == 0:
        os.chown(theirs, 65534, 65534)
    monkeypatch.setenv("HOME", str(theirs))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: pwd.struct_passwd(("r", "x", uid, 0, "", str(ours), "/bin/sh")))
    assert state_module._base() == ours / ".local" / "state"


@pytest.mark.usefixtures("homeless")
def test_a_user_without_any_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 3999999999)
    with pytest.raises(ToolError, match="user 3999999999 has no HOME") as caught:
        state_folder()
    assert (caught.value.id, "XDG_STATE_HOME" in caught.value.fix) == ("lab-state", True)


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "fabricdoc").mkdir()
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "fabricdoc" / "lab").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ToolError) as caught:
        state_folder()
    assert caught.value.id == "lab-state"
    assert "rm -r" in caught.value.fix


def test_a_file_in_place_of_the_folder_is_an_error_with_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "fabricdoc").write_text("")
    with pytest.raises(ToolError) as caught:
        state_folder()
    assert caught.value.fix


def test_a_state_comes_back_as_it_was_written(folder: Path) -> None:
    state = _state(spec=LabSpec(nodes=("a", "b"), rate_mbit=100))
    assert write_state(folder, state)
    file = state_path(folder, "lab")
    assert read_state(file) == state
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(folder.iterdir()) == [file], "the draft is gone"


def test_a_name_that_is_taken_is_not_overwritten(folder: Path) -> None:
    assert write_state(folder, _state())
    assert not write_state(folder, _state(created="later"))
    found = read_state(state_path(folder, "lab"))
    assert found is not None
    assert found.created == "2026-11-29T12:00:00Z"
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("changes", [{"start": 1}, {"boot": "another boot"}, {"pid": 2**22 + 1}])
def test_a_lab_that_is_gone_is_cleared(folder: Path, changes: dict[str, object]) -> None:
    write_state(folder, _state("live"))
    write_state(folder, _state("stale", **changes))
    assert [state.name for state in live_states(folder)] == ["live"]
    assert [file.name for file in folder.iterdir()] == ["live.json"]


def test_live_means_pid_start_and_boot() -> None:
    assert is_live(_state())
    assert not is_live(_state(start=_state().start + 1))


def test_a_file_under_another_labs_name_is_not_believed(folder: Path) -> None:
    write_state(folder, _state("one"))
    state_path(folder, "one").rename(state_path(folder, "two"))
    assert lab_list() == ()


_good = json.dumps(dataclasses.asdict(_state()))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=200),
        st.integers(0, len(_good) - 1).map(lambda cut: _good[:cut].encode()),
        st.sampled_from(
            [
                _good.replace('"alpha"', '"../x"').encode(),
                _good.replace('"rails": 2', '"rails": 99').encode(),
                _good.replace('"pid": ', '"pid": "x" , "p": ').encode(),
            ]
        ),
    )
)
def test_a_spoiled_file_is_no_state_and_no_crash(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "lab.json"
    file.write_bytes(content)
    assert read_state(file) is None


def test_a_lock_held_by_another_has_a_deadline(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "LOCK_S", 0.05)
    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(ToolError, match="another command holds"):
        live_states(folder)
    os.close(held)
    assert live_states(folder) == ()


def test_up_refuses_bad_and_taken_names_before_it_starts_anything(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricdoc.lab.standing.HolderProcess", lambda parent: pytest.fail("a holder was started"))
    write_state(folder, _state())
    for name, message in (("../x", "lab name"), ("", "lab name"), ("lab", "is up already")):
        with pytest.raises(UsageError, match=message):
            lab_up(name=name)


def test_down_names_the_labs_that_are_up(folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        lab_down("lab")
    assert caught.value.fix == "labs that are up: none"
    write_state(folder, _state("one"))
    with pytest.raises(UsageError) as caught:
        lab_down("two")
    assert caught.value.fix == "labs that are up: one"
    with pytest.raises(UsageError, match="lab name"):
        lab_down("../one")


@pytest.fixture
def sleeper() -> Callable[[], subprocess.Popen[bytes]]:
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]))
        return started[-1]

    yield start  # type: ignore[misc]
    for process in started:
        process.kill()
        process.wait()


def test_down_ends_the_process_it_knows_and_no_other(
    folder: Path, sleeper: Callable[[], subprocess.Popen[bytes]]
) -> None:
    ours, reused = sleeper(), sleeper()
    write_state(folder, _state("ours", pid=ours.pid, start=start_time(ours.pid)))
    write_state(folder, _state("reused", pid=reused.pid, start=1))
    assert [state.name for state in lab_down()] == ["ours"]
    assert ours.wait(5) != 0
    assert reused.poll() is None
    assert list(folder.iterdir()) == []


def test_a_holder_that_will_not_end_is_an_error_and_keeps_its_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_state(folder, _state())
    for answer in (lambda *a, **k: False, _denied):
        monkeypatch.setattr("fabricdoc.lab.standing.end_process", answer)
        with pytest.raises(ToolError, match=f"pid {os.getpid()}"):
            lab_down()
    assert [state.name for state in lab_list()] == ["lab"]


def _denied(*_: object, **__: object) -> bool:
    raise PermissionError


def _of_another_version(folder: Path, **changes: object) -> Path:
    """A state file with a key this version does not know, whose holder is this very process."""
    said = dataclasses.asdict(_state("newer")) | {"colour": "green"} | changes
    file = state_path(folder, "newer")
    file.write_text(json.dumps(said))
    return file


@pytest.mark.long
def test_the_lab_of_another_version_is_left_standing(folder: Path) -> None:
    file = _of_another_version(folder, nodes="in a form of its own")
    assert live_states(folder) == () and file.exists()
    with pytest.raises(UsageError, match="another version") as caught:
        lab_down("newer")
    assert str(file) in caught.value.fix
    with pytest.raises(UsageError, match="is up already"):
        lab_up(name="newer")
    assert file.exists()


@pytest.mark.parametrize(
    "changes", [{"pid": 2**22 + 1}, {"pid": "1"}, {"pid": True}, {"pid": -1}, {"start": 1}, {"boot": "another"}]
)
def test_a_file_of_a_lab_that_is_gone_is_cleared_whoever_wrote_it(folder: Path, changes: dict[str, object]) -> None:
    file = _of_another_version(folder, nodes="in a form of its own", **changes)
    assert live_states(folder) == () and not file.exists()
