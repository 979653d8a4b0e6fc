from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fabricdoc.transport.loader import CUT_OFF, LOADER, TOO_OLD, ender_argv, inline, loader_argv

pytestmark = pytest.mark.unit

NONCE = "0123456789abcdef"


def load(
    payload: bytes, *, argv: list[str] | None = None, size: int | None = None, after: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    words = argv or loader_argv(sys.executable, "echo", len(payload) if size is None else size, NONCE)
    return subprocess.run(words, input=payload + after, capture_output=True, timeout=20, check=False)


def messages(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, object]]:
    prefix = f"\x1e{NONCE} "
    return [
        json.loads(line.removeprefix(prefix)) for line in done.stdout.decode().split("\n") if line.startswith(prefix)
    ]


def test_it_takes_exactly_the_zip_and_leaves_the_messages(payload: bytes) -> None:
    done = load(payload, after=b'{"do":"echo","value":1}\n{"do":"echo","value":2}\n')
    assert done.returncode == 0, done.stderr
    first, *rest = messages(done)
    assert first["event"] == "started"
    assert [message["value"] for message in rest] == [1, 2]


def test_its_first_line_says_which_process_it_is(payload: bytes) -> None:
    words = loader_argv(sys.executable, "echo", len(payload), NONCE)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"\n"
        first = json.loads(process.stdout.readline().partition(b" ")[2])
        stat = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        assert (first["pid"], first["start"]) == (process.pid, int(stat[19]))
        process.stdin.close()
        assert process.wait(10) == CUT_OFF


def test_it_leaves_nothing_on_disk(payload: bytes, tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    words = loader_argv(sys.executable, "echo", len(payload), NONCE)
    subprocess.run(words, input=payload, capture_output=True, timeout=20, check=True, env=env, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def changed(before: str) -> str:
    return inline(before + "\nexec(LOADER)".replace("LOADER", repr(LOADER)))


COUNTING = """import os,sys,zipimport
made,real,leave=[],zipimport._get_module_code,os._exit
def counted(self,name):made.append(name);return real(self,name)
def left(status):os.write(2,("made "+" ".join(made)).encode());leave(status)
zipimport._get_module_code,os._exit=counted,left"""


def test_a_probe_that_has_ended_takes_nothing_apart(payload: bytes) -> None:
    """What it said is out, its status is kept, and no handler of an interpreter's end runs."""
    words = loader_argv(sys.executable, "echo", len(payload), NONCE)
    words[words.index("-c") + 1] = changed("import atexit,os\natexit.register(os.write,2,b'taken apart')")
    orders = (b'{"do":"complain","text":"said "}', b'{"do":"echo","value":1}', b'{"do":"die","status":3}')
    done = load(payload, argv=words, after=b"\n".join((*orders, b"")))
    assert (done.returncode, done.stderr) == (3, b"said ")
    assert [message["event"] for message in messages(done)] == ["started", "complained", "echo"]


def test_each_modules_code_is_made_once(payload: bytes) -> None:
    """zipimport by itself makes it for the module's name and again to run it."""
    words = loader_argv(sys.executable, "echo", len(payload), NONCE)
    words[words.index("-c") + 1] = changed(COUNTING)
    done = load(payload, argv=words, after=b'{"do":"echo","value":1}\n')
    made = done.stderr.decode().partition("made ")[2].split()
    assert {"probes", "probes.__main__", "probes.echo"} <= set(made)
    assert len(made) == len(set(made)), made


def test_a_python_whose_zipimport_is_another_loads_as_ever(payload: bytes) -> None:
    words = loader_argv(sys.executable, "echo", len(payload), NONCE)
    words[words.index("-c") + 1] = inline(LOADER.replace('"_get_module_code"', '"not_there"'))
    done = load(payload, argv=words, after=b'{"do":"echo","value":1}\n')
    assert [message["event"] for message in messages(done)] == ["started", "echo"], done.stderr


def test_a_python_without_memfd_uses_an_unnamed_file(payload: bytes, tmp_path: Path) -> None:
    words = loader_argv(sys.executable, "echo", len(payload), NONCE)
    words[words.index("-c") + 1] = changed(f"import os,tempfile;del os.memfd_create;tempfile.tempdir={str(tmp_path)!r}")
    done = load(payload, argv=words, after=b'{"do":"echo","value":1}\n')
    assert [message["event"] for message in messages(done)] == ["started", "echo"], done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_python_that_is_too_old_says_its_version(payload: bytes) -> None:
    words = loader_argv(sys.executable, "echo", len(payload), NONCE)
    words[words.index("-c") + 1] = changed("import sys;sys.version_info=(3,9,18)")
    done = load(payload, argv=words)
    assert (done.returncode, done.stderr, done.stdout) == (TOO_OLD, b"python 3.9\n", b"")


def test_the_text_is_free_of_what_shells_stumble_over() -> None:
    text = loader_argv("python3", "scan", 1, NONCE)[3]
    assert not set("'!\\\n$`") & set(text)
    assert text.count('"') == 2


def test_only_the_agent_may_see_the_users_packages() -> None:
    assert "-I" in loader_argv("p", "scan", 1, NONCE)
    assert "-I" not in loader_argv("p", "agent", 1, NONCE)


def test_the_agent_never_imports_from_the_working_folder(payload: bytes, tmp_path: Path) -> None:
    (tmp_path / "probes.py").write_text("raise SystemExit(66)")
    words = [word for word in loader_argv(sys.executable, "echo", len(payload), NONCE) if word != "-I"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "lib")}
    done = subprocess.run(
        words, input=payload + b'{"do":"facts"}\n', capture_output=True, timeout=20, cwd=tmp_path, env=env, check=False
    )
    path = messages(done)[1]["path"]
    assert isinstance(path, list)
    assert "" not in path
    assert str(tmp_path / "lib") in path
    assert path[0].startswith("/proc/self/fd/")


def test_a_module_that_is_no_probe_is_refused(payload: bytes) -> None:
    done = load(payload, argv=loader_argv(sys.executable, "os", len(payload), NONCE))
    assert (done.returncode, done.stderr) == (2, b"not a probe: os\n")


@pytest.mark.long
@pytest.mark.parametrize(
    ("start", "nonce", "ends"), [(0, NONCE, True), (1, NONCE, False), (0, "ffffffffffffffff", False)]
)
def test_the_ender_ends_only_the_very_process(payload: bytes, start: int, nonce: str, ends: bool) -> None:
    words = loader_argv(sys.executable, "echo", len(payload), NONCE)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first = json.loads(process.stdout.readline().partition(b" ")[2])
        words = ender_argv(sys.executable, first["pid"], first["start"] + start, nonce)
        subprocess.run(words, timeout=20, check=True)
        if ends:
            assert process.wait(10) == -signal.SIGKILL
        else:
            assert process.poll() is None
            process.kill()


def test_the_ender_is_content_with_a_process_that_is_gone() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait(10)
    subprocess.run(ender_argv(sys.executable, gone.pid, 1, NONCE), timeout=20, check=True)
