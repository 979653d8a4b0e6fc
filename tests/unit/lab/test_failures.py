"""The fix lines: the sudo line is the command the user typed, and survives a shell."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import ExitStatus
from fabricdoc.lab import failures
from fabricdoc.lab.failures import compose_sudo, lab_error, sudo_line

pytestmark = pytest.mark.unit

words = st.lists(st.text(st.characters(exclude_characters="\0"), max_size=12), max_size=4)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "my bin" / "fabricdoc"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_an_installed_command_is_named_by_its_full_path(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(program.parent)
    line = compose_sudo(["/v/bin/python", "./fabricdoc", "demo"], ["./fabricdoc", "demo"], "/v/bin/python", {})
    assert line == f"sudo '{program}' demo"


def test_the_module_form_keeps_its_interpreter_and_words() -> None:
    argv = ["/src/fabricdoc/__main__.py", "lab", "up", "--name", "it's"]
    original = ["python", "-m", "fabricdoc", "lab", "up", "--name", "it's"]
    line = compose_sudo(original, argv, "/v/bin/python3", {"PYTHONPATH": "/src"})
    assert line == "sudo env PYTHONPATH=/src /v/bin/python3 -m fabricdoc lab up --name 'it'\"'\"'s'"


def test_an_executable_script_ending_in_py_is_run_by_its_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "__main__.py"
    script.write_text("")
    script.chmod(0o755)
    line = compose_sudo(["python", "-m", "fabricdoc"], [str(script)], "/v/bin/python3", {})
    assert line == "sudo /v/bin/python3 -m fabricdoc"


@given(words)
def test_the_line_splits_back_into_the_words(arguments: list[str]) -> None:
    line = compose_sudo(["python", "-m", "fabricdoc", *arguments], ["-m", *arguments], "/v/py", {"PYTHONPATH": "a b"})
    assert shlex.split(line) == ["sudo", "env", "PYTHONPATH=a b", "/v/py", "-m", "fabricdoc", *arguments]


def test_pythonpath_is_kept_and_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["src", "", "/abs"]))
    assert f"env PYTHONPATH={tmp_path}/src:/abs " in sudo_line()
    monkeypatch.delenv("PYTHONPATH")
    assert "PYTHONPATH" not in sudo_line()


def test_a_user_install_keeps_its_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr("site.ENABLE_USER_SITE", True)
    monkeypatch.setattr("site.getusersitepackages", lambda: str(Path(failures.fabricdoc.__file__).parents[1]))
    monkeypatch.setattr("site.getuserbase", lambda: "/home/u/.local")
    assert sudo_line().startswith("sudo env PYTHONUSERBASE=/home/u/.local ")


def test_a_user_without_namespaces_is_given_the_sudo_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["nowhere", "demo"])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "fabricdoc", "demo"])
    error = lab_error("no-namespaces", "the lab can't be made")
    assert (error.id, error.message, error.status) == ("no-namespaces", "the lab can't be made", ExitStatus.FAILED)
    assert error.fix.startswith("run it as root: `sudo ")
    assert error.fix.endswith(f"{sys.executable} -m fabricdoc demo`")


def test_root_without_namespaces_is_not_sent_to_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    fix = lab_error("no-namespaces", "no").fix
    assert "sudo" not in fix
    assert "--privileged" in fix


@pytest.mark.parametrize("fix", ["", "load it"])
def test_every_error_has_a_fix(fix: str) -> None:
    error = lab_error("no-veth", "no veth", fix)
    assert error.fix == (fix or failures.GIVE_UP)
