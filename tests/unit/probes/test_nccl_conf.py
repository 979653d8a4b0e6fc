"""NCCL's settings files: which it would read, and their lines taken as NCCL takes them."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.host import ConfFile
from fabricdoc.probes import nccl_conf
from tests.sysfs import write

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: SimpleNamespace(pw_dir="/home/listed"))


def read(root: Path, **environ: str) -> list[ConfFile]:
    return [ConfFile.model_validate(one) for one in nccl_conf.read(str(root), environ)]


def test_the_home_file_comes_before_the_systems(tmp_path: Path) -> None:
    write(tmp_path, {"home/me/.nccl.conf": "NCCL_DEBUG=WARN", "etc/nccl.conf": "NCCL_DEBUG=INFO\nNCCL_IB_TC=106"})
    mine, system = read(tmp_path, HOME="/home/me")
    assert (mine.path, mine.values) == ("/home/me/.nccl.conf", {"NCCL_DEBUG": "WARN"})
    assert (system.path, system.values) == ("/etc/nccl.conf", {"NCCL_DEBUG": "INFO", "NCCL_IB_TC": "106"})


def test_a_named_file_replaces_the_home_file_only(tmp_path: Path) -> None:
    write(tmp_path, {"home/me/.nccl.conf": "NCCL_A=1", "opt/x.conf": "NCCL_B=2", "etc/nccl.conf": "NCCL_C=3"})
    found = read(tmp_path, HOME="/home/me", NCCL_CONF_FILE="/opt/x.conf")
    assert [one.path for one in found] == ["/opt/x.conf", "/etc/nccl.conf"]


def test_both_homes_are_looked_at_where_they_differ(tmp_path: Path) -> None:
    assert nccl_conf.paths({"HOME": "/home/me"}) == [
        "/home/me/.nccl.conf",
        "/home/listed/.nccl.conf",
        "/etc/nccl.conf",
    ]
    assert nccl_conf.paths({"HOME": "/home/listed"}) == ["/home/listed/.nccl.conf", "/etc/nccl.conf"]
    assert nccl_conf.paths({"HOME": "relative"}) == ["/home/listed/.nccl.conf", "/etc/nccl.conf"]


def test_a_user_nobody_lists_has_home_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert nccl_conf.paths({}) == ["/etc/nccl.conf"]


def test_no_file_is_no_entry(tmp_path: Path) -> None:
    assert read(tmp_path, HOME="/home/me") == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("NCCL_A=1\nNCCL_A=2", {"NCCL_A": "1"}),
        ("NCCL_A=x=y", {"NCCL_A": "x=y"}),
        ("#NCCL_A=1", {}),
        (" #NCCL_A=1", {}),
        ("NCCL_A = 1 ", {"NCCL_A ": " 1 "}),
        ('NCCL_A="1"', {"NCCL_A": '"1"'}),
        ("NCCL_A=1\r\nNCCL_B=2\r", {"NCCL_A": "1", "NCCL_B": "2"}),
        ("NCCL_A=1 # why", {"NCCL_A": "1 # why"}),
        ("NCCL_A", {}),
        ("NCCL_A=", {"NCCL_A": ""}),
        ("export NCCL_A=1", {}),
        ("  NCCL_A=1", {}),
        ("HF_TOKEN=x\nNCCL_KEY=x\nPATH=/", {}),
    ],
)
def test_lines_are_taken_as_nccl_takes_them(text: str, values: dict[str, str]) -> None:
    assert nccl_conf.values(text) == values


def test_white_space_at_the_files_ends_is_kept(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nccl.conf").write_bytes(b"  NCCL_A=1\nNCCL_B=2  ")
    (found,) = read(tmp_path)
    assert found.values == {"NCCL_B": "2  "}


def test_a_file_that_can_not_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "etc/nccl.conf").mkdir(parents=True)
    with pytest.raises(OSError, match="Is a directory"):
        read(tmp_path)


def test_an_endless_file_is_cut(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nccl.conf").write_text("\n".join(f"NCCL_V{n}={'x' * 2000}" for n in range(400)))
    (found,) = read(tmp_path)
    assert len(found.values) < 40
    assert max(map(len, found.values.values())) == 1024
    many = nccl_conf.values("\n".join(f"NCCL_V{n}=1" for n in range(1000)))
    assert len(many) == nccl_conf.MAX_VALUES


def test_a_pipe_in_the_files_place_does_not_hold_us(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    os.mkfifo(tmp_path / "etc/nccl.conf")
    assert read(tmp_path)[0].values == {}


@given(st.text(max_size=400))
def test_any_text_gives_allowed_names_only(text: str) -> None:
    found = nccl_conf.values(text)
    assert all(name.startswith(("NCCL_", "GLOO_", "UCX_", "TP_SOCKET", "CUDA_VISIBLE_DEVICES")) for name in found)
    str(found).encode()
