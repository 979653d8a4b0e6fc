"""zstd by whichever module or program is there: the same text, damaged files told, bombs and hangs bounded."""

from __future__ import annotations

import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricdoc.errors import InputError
from fabricdoc.explain import explain_files
from fabricdoc.nccl import sources, zstd
from fabricdoc.nccl.sources import LogFile
from fabricdoc.nccl.zstd import open_zstd
from tests.unit.nccl.test_sources import LOG, present, stored_zstd, written

pytestmark = pytest.mark.unit

HAVE_PROGRAM = shutil.which(zstd.PROGRAM) is not None
HAVE_ANY = HAVE_PROGRAM or any(present(name) for name in zstd.MODULES)
needs_program = pytest.mark.skipif(not HAVE_PROGRAM, reason="the program zstd is not installed")
needs_any = pytest.mark.skipif(not HAVE_ANY, reason="neither a zstd module nor the program zstd is installed")


def packed(data: bytes) -> bytes:
    """Really compressed, where the program is there."""
    return subprocess.run([zstd.PROGRAM, "-qc"], input=data, capture_output=True, timeout=60, check=True).stdout


@pytest.fixture
def no_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zstd, "MODULES", ())


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_module: None) -> Callable[[str], None]:
    """Puts a pretend `zstd` into the PATH."""

    def put(text: str) -> None:
        (tmp_path / "zstd").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "zstd").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return put


@needs_any
def test_a_packed_log_is_explained_like_the_plain_one(tmp_path: Path) -> None:
    plain = explain_files([str(written(tmp_path / "a.log", LOG.read_bytes()))])
    answer = explain_files([str(written(tmp_path / "a.log.zst", stored_zstd(LOG.read_bytes())))])
    assert (answer.verdict, answer.files[0].lines, answer.files[0].note) == (plain.verdict, plain.files[0].lines, "")
    assert [found.id for found in answer.findings] == [found.id for found in plain.findings]


@needs_program
@pytest.mark.usefixtures("no_module")
def test_really_compressed_frames_one_after_another_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "log.zst", packed(LOG.read_bytes()) + packed(b"second\n"))
    assert "".join(LogFile(path)) == LOG.read_text() + "second\n"


@needs_program
@pytest.mark.usefixtures("no_module")
def test_a_file_that_ends_early_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    data = stored_zstd(LOG.read_bytes() * 20)
    log = LogFile(written(tmp_path / "cut.zst", data[: len(data) // 2]))
    assert "NCCL INFO" in "".join(log) and "ends early or is damaged" in log.note


@pytest.mark.long
@needs_program
@pytest.mark.usefixtures("no_module")
def test_a_bomb_is_refused_and_the_program_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FREE_BYTES", 1 << 20)
    path = written(tmp_path / "bomb.zst", packed(b"\0" * (64 << 20)))
    with pytest.raises(InputError, match=r"came out of \d+ KiB: not a log"):
        "".join(LogFile(path))


@needs_program
@pytest.mark.usefixtures("no_module")
def test_who_stops_reading_leaves_no_process(tmp_path: Path) -> None:
    path = written(tmp_path / "log.zst", packed(LOG.read_bytes() * 200))
    with path.open("rb") as file:
        stream = open_zstd(path, file)
        assert stream.read(100)
        stream.close()
    assert isinstance(stream, zstd._ByProgram) and stream._process.returncode is not None


@needs_any
def test_damage_from_the_start_is_told_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path / "bad.zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 200)
    with pytest.raises(InputError) as caught:
        "".join(LogFile(path))
    assert "\n" not in caught.value.message
    assert explain_files([str(path)]).files[0].note


def test_the_file_is_the_programs_input_and_no_word_of_its_command(
    tmp_path: Path, program: Callable[[str], None]
) -> None:
    program('echo "$*"; cat | tail -c 3')
    path = written(tmp_path / "--rm;x.zst", b"\x28\xb5\x2f\xfdabc")
    assert "".join(LogFile(path)) == f"-dcq --memory={zstd.WINDOW}\nabc\n"


def test_what_the_program_complains_of_is_told(tmp_path: Path, program: Callable[[str], None]) -> None:
    program('echo "zstd: /*stdin*: Frame requires too much memory" >&2; exit 1')
    path = written(tmp_path / "a.zst", b"\x28\xb5\x2f\xfdabc")
    with pytest.raises(InputError, match="Frame requires too much memory"):
        "".join(LogFile(path))


def test_a_program_that_is_silent_is_given_up(
    tmp_path: Path, program: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zstd, "SILENT_S", 0.2)
    program("exec sleep 600")
    path = written(tmp_path / "a.zst", b"\x28\xb5\x2f\xfdabc")
    with pytest.raises(InputError, match="gave nothing"):
        "".join(LogFile(path))


def test_without_module_and_program_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zstd, "MODULES", ("no_such_module",))
    monkeypatch.setenv("PATH", str(tmp_path))
    path = written(tmp_path / "a.zst", stored_zstd(b"x"))
    with pytest.raises(InputError, match="the program zstd is not there") as caught:
        "".join(LogFile(path))
    assert "apt-get install zstd" in str(caught.value.fix) and "unzstd a.zst" in str(caught.value.fix)
    note = explain_files([str(path)]).files[0].note
    assert "zstd can't be read" in note and "apt-get install zstd" in note


def test_an_error_of_a_module_is_damage_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Exception):
        pass

    class Reader:
        def __init__(self, _file: object) -> None:
            self.left = [b"one\n"]

        def read(self, _size: int) -> bytes:
            if not self.left:
                raise Broken("checksum")
            return self.left.pop()

        def close(self) -> None:
            pass

    module = types.ModuleType("pretend_zstd")
    vars(module).update(ZstdError=Broken, ZstdFile=Reader)
    monkeypatch.setitem(sys.modules, "pretend_zstd", module)
    monkeypatch.setattr(zstd, "MODULES", ("pretend_zstd",))
    log = LogFile(written(tmp_path / "a.zst", b"\x28\xb5\x2f\xfdabc"))
    assert "".join(log) == "one\n" and "checksum" in log.note
