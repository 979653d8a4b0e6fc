"""The zip of bytecode: who gets it, that it runs, when it is believed, and that nothing in its way is a failure."""

from __future__ import annotations

import os
import stat
import sys
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

import pytest

from fabricdoc.transport import NodeSpec, ask, bytecode, probe_zip
from fabricdoc.transport.bytecode import packed_for, payload_for
from fabricdoc.transport.channel import Channel
from fabricdoc.transport.zipapp import build_bytecode, needed_modules, probe_sources

pytestmark = pytest.mark.unit

LOCAL = NodeSpec("here", "local")
# the room's root names the function like the module
ASK = sys.modules[ask.__module__]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the zips are kept, empty; nothing remembered from other tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    bytecode._compiled.cache_clear()
    yield tmp_path / "fabricdoc"
    bytecode._compiled.cache_clear()


def names(data: bytes) -> list[str]:
    return zipfile.ZipFile(BytesIO(data)).namelist()


def again(node: NodeSpec = LOCAL, module: str = "scan") -> bytes:
    """As a new process would ask."""
    bytecode._compiled.cache_clear()
    return payload_for(node, module)


@pytest.mark.long
def test_it_holds_the_modules_of_the_sources_as_bytecode_and_runs(cache: Path) -> None:
    data = payload_for(LOCAL, "scan")
    assert names(data) == [f"{name}c" for name in names(probe_zip("scan"))]
    (answer,) = ask([LOCAL], "scan", {"do": "scan", "deadline_s": 5}, deadline_s=20)
    assert answer.error is None and answer.message is not None
    assert answer.message["report"]["host"]["python"] == ".".join(map(str, sys.version_info[:3]))


def test_it_is_kept_for_this_user_alone_and_used_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = again()
    (kept,) = cache.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    monkeypatch.setattr(bytecode, "build_bytecode", lambda *_: pytest.fail("made again"))
    assert again() == first == kept.read_bytes()


@pytest.mark.parametrize(
    ("node", "module", "inside"),
    [
        (NodeSpec("far", "user@elsewhere"), "scan", ()),
        (NodeSpec("here", "local", python="/usr/bin/python3.99"), "scan", ()),
        (LOCAL, "agent", ()),
        (LOCAL, "scan", ("docker", "exec", "-i", "c", "python3")),
    ],
)
def test_another_python_gets_sources(cache: Path, node: NodeSpec, module: str, inside: tuple[str, ...]) -> None:
    assert payload_for(node, module, inside) == probe_zip(module)
    assert not cache.exists()


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> NodeSpec:
    """This very python, as if it were that of another machine."""
    monkeypatch.setattr(bytecode, "_is_ours", lambda _node, _module, _inside: False)
    bytecode._packed.cache_clear()
    yield LOCAL
    bytecode._packed.cache_clear()


@pytest.mark.long
def test_another_machines_python_gets_it_where_it_says_that_it_reads_it(
    cache: Path, other: NodeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = packed_for(other, "scan")
    assert zlib.decompress(packed) == bytecode._compiled("scan")
    broken = b"these are no sources"
    monkeypatch.setattr(ASK, "payload_for", lambda *_: broken)
    (answer,) = ask([other], "scan", {"do": "scan", "deadline_s": 5}, deadline_s=20)
    assert answer.error is None and answer.message is not None


@pytest.mark.long
def test_and_the_sources_where_it_does_not(cache: Path, other: NodeSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabricdoc.transport.loader.MAGIC_NUMBER", b"\0\0\r\n")
    monkeypatch.setattr(ASK, "packed_for", lambda *_: b"this is no bytecode")
    (answer,) = ask([other], "scan", {"do": "scan", "deadline_s": 5}, deadline_s=20)
    assert answer.error is None and answer.message is not None


def test_who_is_not_asked(cache: Path, other: NodeSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    assert packed_for(other, "agent") == b""
    assert packed_for(other, "no-such-probe") == b""
    monkeypatch.undo()
    assert packed_for(LOCAL, "scan") == b""


def test_nothing_is_sent_before_it_has_spoken_and_its_input_waits(payload: bytes) -> None:
    channel = Channel(LOCAL, "echo", payload, packed=b"never read")
    channel.start()
    channel.send({"do": "echo", "value": 1})
    channel.end_input()
    assert bytes(channel._outgoing) == b'{"do":"echo","value":1}\n'
    channel._note_start({"event": "started", "pid": 1, "start": 1, "same": 0})
    assert channel._outgoing == b"" or channel._outgoing.endswith(b'"value":1}\n')
    channel.kill()


def test_nothing_is_kept_for_a_probe_that_is_none(cache: Path) -> None:
    assert again(module="no-such-probe") == probe_zip("no-such-probe")
    assert not cache.exists()


@pytest.mark.long
def test_a_source_that_changed_makes_it_anew(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again()
    (kept,) = cache.iterdir()
    before = kept.stat().st_ino
    monkeypatch.setattr(bytecode, "_key", lambda: b"other sources")
    assert again().endswith(b"other sources")
    assert kept.stat().st_ino != before


@pytest.mark.long
@pytest.mark.parametrize("damage", ["cut", "writable", "link", "folder", "pipe"])
def test_a_kept_file_that_can_not_be_believed_is_made_anew(cache: Path, damage: str, tmp_path: Path) -> None:
    first = again()
    (kept,) = cache.iterdir()
    evil = tmp_path / "evil"
    if damage == "cut":
        kept.write_bytes(first[:-1])
    elif damage == "writable":
        kept.write_bytes(build_bytecode({"scan": "evil = 1"}, bytecode._key()))
        kept.chmod(0o666)
    else:
        kept.unlink()
        if damage == "link":
            evil.write_bytes(build_bytecode({"scan": "evil = 1"}, bytecode._key()))
            kept.symlink_to(evil)
        elif damage == "folder":
            kept.mkdir()
        else:
            os.mkfifo(kept)
    assert again() == first


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_file_is_not_believed(cache: Path) -> None:
    first = again()
    (kept,) = cache.iterdir()
    kept.write_bytes(build_bytecode({"scan": "evil = 1"}, bytecode._key()))
    os.chown(kept, 65534, 65534)
    assert again() == first


@pytest.mark.long
def test_without_a_place_it_is_made_once_for_this_process(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who wants no bytecode written, who is root for another user, and a folder that is none: nothing is written."""
    wanted = [f"probes/{name}.pyc" for name in needed_modules(probe_sources(), "echo")]
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert sorted(names(again(module="echo"))) == sorted(wanted)
    assert payload_for(LOCAL, "echo") is payload_for(LOCAL, "echo")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with monkeypatch.context() as root:
        root.setenv("SUDO_UID", "65534")
        root.setattr(os, "geteuid", lambda: 0)
        assert sorted(names(again(module="echo"))) == sorted(wanted)
    assert not cache.exists()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert sorted(names(again(module="echo"))) == sorted(wanted)
    assert (tmp_path / "file").read_text() == ""


def test_where_the_sources_are_no_files_they_travel(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytecode, "_key", lambda: b"")
    assert again() == probe_zip("scan")
