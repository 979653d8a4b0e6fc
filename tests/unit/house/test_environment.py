"""The environment behind `make demo` and `make test`: made once, in one step, and where it may lie."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.unit.house.house import TREE

sys.path.insert(0, str(TREE / "tools"))
import env
import environment
import install
import pip_call
from pip_call import Stop

pytestmark = pytest.mark.unit

NOTHING = {"run": ["a>=1"], "torch": ["torch==1"], "dev": []}


def nothing(_python: Path) -> list[str]:
    return []


def test_layers_come_from_pyproject() -> None:
    wanted = env.requirements(
        {
            "project": {"dependencies": ["rich>=13"]},
            "dependency-groups": {"dev": ["pytest>=8"]},
            "build-system": {"requires": ["setuptools>=80"]},
        }
    )
    assert wanted["run"] == ["rich>=13"]
    assert wanted["dev"] == ["pytest>=8", "setuptools>=80"]
    assert wanted["torch"][0].startswith("torch==")
    assert list(wanted) == list(env.LAYERS) == list(env.WARM)


def test_the_key_follows_dependencies_and_python(monkeypatch: pytest.MonkeyPatch) -> None:
    key = env.key(NOTHING)
    assert key == env.key(dict(NOTHING))
    assert len(key) == 16
    assert key != env.key(NOTHING | {"dev": ["pytest"]})
    monkeypatch.setattr(sys, "version", "3.99")
    assert key != env.key(NOTHING)


def test_a_built_environment_runs_and_its_scripts_name_their_place(tmp_path: Path) -> None:
    final = tmp_path / "run"

    def fill(python: Path) -> list[str]:
        assert python.parent.parent != final
        (python.parent / "tool").write_text(f"#!{python}\nprint('ran')\n")
        (python.parent / "tool").chmod(0o755)
        return [str(tmp_path)]

    environment.build(final, fill)
    assert environment.ready(final)
    ran = subprocess.run([final / "bin" / "tool"], capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout == "ran\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    assert not list((final / "bin").glob("activate*"))
    assert environment.site_packages(final).is_dir()


def test_a_failed_build_leaves_nothing_and_is_not_ready(tmp_path: Path) -> None:
    def fail(_python: Path) -> list[str]:
        raise Stop("no network")

    with pytest.raises(Stop):
        environment.build(tmp_path / "run", fail)
    assert list(tmp_path.iterdir()) == []
    assert not environment.ready(tmp_path / "run")


def test_an_environment_appears_by_one_rename_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_source: Path, _target: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        environment.build(tmp_path / "run", nothing)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_build_is_not_taken_for_a_good_one_and_is_cleared(tmp_path: Path) -> None:
    code = (
        f"import os, signal, sys; sys.path.insert(0, {str(TREE / 'tools')!r})\n"
        "import environment; from pathlib import Path\n"
        f"environment.build(Path({str(tmp_path / 'run')!r}), lambda python: os.kill(os.getpid(), signal.SIGKILL))"
    )
    killed = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith("run.")
    assert not environment.ready(tmp_path / "run")
    environment.build(tmp_path / "run", nothing)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_environment_whose_python_or_borrowed_folder_is_gone_is_not_ready(tmp_path: Path) -> None:
    final, lender = tmp_path / "run", tmp_path / "lender"
    lender.mkdir()
    environment.build(final, lambda python: [str(lender)])
    assert environment.ready(final)
    lender.rmdir()
    assert not environment.ready(final)
    environment.build(final, nothing)
    (final / "bin" / "python").unlink()
    (final / "bin" / "python").symlink_to(tmp_path / "gone")
    assert not environment.ready(final)
    environment.build(final, nothing)
    assert environment.ready(final)
    (final / "complete").write_text("half a")
    assert not environment.ready(final)


def test_the_lock_is_waited_for_and_has_a_deadline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lock"
    with path.open("a") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(Stop, match="another process"), environment.locked(path, deadline_s=0):
            pass
        release = threading.Timer(0.1, fcntl.flock, (holder, fcntl.LOCK_UN))
        release.start()
        with environment.locked(path, deadline_s=30):
            assert "waiting" in capsys.readouterr().err
        release.join()


def test_a_layer_sees_the_layers_below_and_its_own_first(tmp_path: Path) -> None:
    for name, text in (("run", "low"), ("dev", "high")):
        environment.build(tmp_path / name, nothing)
        (environment.site_packages(tmp_path / name) / "here.py").write_text(f"NAME = {text!r}\n")
    (environment.site_packages(tmp_path / "run") / "only_below.py").write_text("")
    env.borrow(tmp_path / "dev" / "bin" / "python", [str(environment.site_packages(tmp_path / "run"))])
    code = "import here, only_below, sys; sys.stdout.write(here.NAME)"
    seen = subprocess.run(
        [tmp_path / "dev" / "bin" / "python", "-P", "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert seen.stdout == "high"


def test_root_in_anothers_home_uses_its_own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(environment, "is_foreign", lambda path: True)
    assert environment.cache_home() == environment.FOREIGN_ROOT_CACHE
    monkeypatch.setattr(environment, "is_foreign", lambda path: False)
    assert environment.cache_home() == tmp_path / "cache" / "fabricdoc"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert environment.cache_home() == tmp_path / ".cache" / "fabricdoc"


@pytest.mark.parametrize(
    ("euid", "owner", "foreign"), [(0, 1000, True), (0, 0, False), (1000, 1000, False), (1000, 0, False)]
)
def test_foreign_means_root_in_anothers_folder(
    euid: int, owner: int, foreign: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Owned:
        st_uid = owner

    there = tmp_path / "there"
    there.mkdir()
    real = Path.stat
    monkeypatch.setattr(Path, "stat", lambda self, **kw: Owned() if self == there else real(self, **kw))
    assert environment.is_foreign(there / "not" / "yet", euid) is foreign


def test_a_foreign_tree_gets_no_cache_files(monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, object] = {}

    def execve(path: object, arguments: list[str], variables: dict[str, str]) -> None:
        started.update(path=path, arguments=arguments, variables=variables)

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(env, "is_foreign", lambda path: True)
    monkeypatch.setenv("PYTHONHOME", "/wrong")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    env.execute(Path("/e/bin/python"), ["-m", "fabricdoc"])
    variables = started["variables"]
    assert isinstance(variables, dict)
    assert started["arguments"] == ["/e/bin/python", "-m", "fabricdoc"]
    assert variables["PYTHONPATH"] == str(TREE)
    assert not {"PYTHONHOME", "PYTHONDONTWRITEBYTECODE"} & set(variables)
    assert {"PYTHONPYCACHEPREFIX", "MYPY_CACHE_DIR", "RUFF_CACHE_DIR"} <= set(variables)


def test_wrong_words_and_failures_have_their_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert env.main([]) == 2
    assert env.main(["nonsense"]) == 2

    def fail(layer: str) -> Path:
        raise Stop(f"{layer} can't be made")

    monkeypatch.setattr(env, "ensure", fail)
    assert env.main(["run"]) == 4
    assert "run can't be made" in capsys.readouterr().err
    monkeypatch.setattr(env, "ensure", lambda layer: tmp_path / layer)
    assert env.main(["dev"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'dev'}\n"


def test_every_environment_can_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "fabricdoc" / "env-1" / "run").mkdir(parents=True)
    (tmp_path / "fabricdoc" / "other").mkdir()
    assert env.main(["--remove"]) == 0
    assert [path.name for path in (tmp_path / "fabricdoc").iterdir()] == ["other"]


def test_a_call_that_fails_shows_its_last_lines_and_one_that_hangs_ends() -> None:
    with pytest.raises(Stop, match="it broke:\n  one\n  two"):
        pip_call.check_call([sys.executable, "-c", "import sys; sys.exit('one\\ntwo')"], "it broke", deadline_s=30)
    with pytest.raises(Stop, match="no end within"):
        pip_call.check_call([sys.executable, "-c", "import time; time.sleep(60)"], "it", deadline_s=0.2)


def test_what_a_call_started_and_its_temporary_files_end_with_it(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, tempfile, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "sys.stdout.write(f'{child.pid} {tempfile.mkdtemp()}\\n')\n"
        "sys.stdout.flush(); time.sleep(600)\n"
    )
    with pip_call.own_group([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        assert Path(folder).is_dir()
        os.kill(int(pid), 0)
        watch = os.pidfd_open(int(pid))
    try:
        assert select.select([watch], [], [], 10)[0]
    finally:
        os.close(watch)
    assert not Path(folder).exists()


def test_user_settings_do_not_leak_into_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in pip_call.DROPPED:
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    monkeypatch.setenv("PIP_USER", "1")
    clean = pip_call.clean_environ()
    assert not set(pip_call.DROPPED) & set(clean)
    assert clean["PIP_USER"] == "0"
    assert clean["PIP_FIND_LINKS"] == "/wheels"


def test_without_pip_and_ensurepip_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip_call, "_pip_version", lambda pip: (0,))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Stop, match=r"sudo apt-get install python3.*-venv"):
        pip_call.pip_for(Path("/e/bin/python"))


def test_an_old_pip_is_passed_over_for_the_one_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip_call, "_pip_version", lambda pip: (22, 2) if pip[0] == sys.executable else (23, 0))
    assert pip_call.pip_for(Path("/e/bin/python")) == ["/e/bin/python", "-P", "-m", "pip"]
    monkeypatch.setattr(pip_call, "_pip_version", lambda pip: (22, 3))
    assert pip_call.pip_for(Path("/e/bin/python"))[-2:] == ["--python", "/e/bin/python"]


def test_install_puts_a_link_and_takes_only_its_own_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(install, "fill", lambda tree, python: [])
    install.install(TREE)
    link = tmp_path / ".local" / "bin" / "fabricdoc"
    assert link.readlink() == tmp_path / ".local" / "share" / "fabricdoc" / "env" / "bin" / "fabricdoc"
    assert "not on your PATH" in capsys.readouterr().err
    install.install(TREE)
    (tmp_path / ".local" / "share" / "fabricdoc" / "mine").write_text("")
    install.uninstall()
    assert not link.is_symlink()
    assert [path.name for path in (tmp_path / ".local" / "share" / "fabricdoc").iterdir()] == ["mine"]
    link.write_text("another program")
    with pytest.raises(Stop, match="not a link made here"):
        install.install(TREE)
    install.uninstall()
    assert link.read_text() == "another program"


def test_install_refuses_root_in_anothers_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "is_foreign", lambda path: True)
    with pytest.raises(Stop, match="without sudo"):
        install.install(TREE)


def test_install_copies_what_the_build_needs_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, list[str]] = {}

    def fake_install(pip: list[str], arguments: list[str]) -> None:
        seen["names"] = sorted(path.name for path in Path(arguments[0]).iterdir())
        seen["caches"] = [str(path) for path in Path(arguments[0]).rglob("__pycache__")]

    monkeypatch.setattr(pip_call, "pip_for", lambda python: ["pip"])
    monkeypatch.setattr(pip_call, "install", fake_install)
    monkeypatch.setattr(pip_call, "check_call", lambda *args, **kwargs: None)
    assert install.fill(TREE, tmp_path / "bin" / "python") == ()
    assert {"fabricdoc", "probes", "presets", "pyproject.toml", "LICENSE"} <= set(seen["names"]) <= set(install.SOURCES)
    assert seen["caches"] == []


@pytest.fixture
def pythons(tmp_path: Path) -> Path:
    """A PATH with pretend pythons: a broken shim, an old one, and a real one named python3.12."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (
        ("python3", "exit 127"),
        ("python3.13", "exit 1"),
        ("python3.12", f'exec {sys.executable} -c "import json,sys; print(json.dumps(sys.argv[1:]))" python3.12 "$@"'),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


def run_tool(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder}:/usr/bin:/bin" if not variables.pop("ONLY", "") else str(folder)
    return subprocess.run(
        ["/bin/bash", TREE / "tools" / "run", *arguments],
        env={"PATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_first_python_that_really_runs_is_chosen(pythons: Path) -> None:
    done = run_tool(pythons, "run", "-c", "two words")
    assert json.loads(done.stdout) == ["python3.12", "-B", str(TREE / "tools" / "env.py"), "run", "-c", "two words"]


def test_a_named_python_that_does_not_run_is_an_error(pythons: Path) -> None:
    done = run_tool(pythons, "run", PYTHON=str(pythons / "python3"))
    assert done.returncode == 1
    assert "does not run" in done.stderr
    done = run_tool(pythons, "run", PYTHON=str(pythons / "python3.12"))
    assert done.returncode == 0


def test_without_any_python_the_apt_line_is_printed(tmp_path: Path) -> None:
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    done = run_tool(tmp_path, "run", ONLY="yes")
    assert done.returncode == 1
    assert "sudo apt-get install python3 python3-venv" in done.stderr
