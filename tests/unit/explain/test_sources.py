"""Where text comes from: files, stdin, pipes with and without a writer; what is a device is refused."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from fabricdoc.errors import InputError
from fabricdoc.explain import explain_files, sources
from fabricdoc.explain.files import Given, listed
from fabricdoc.explain.sources import opened
from tests.excerpts import log, warn

pytestmark = pytest.mark.unit

BROKEN = log("alpha", warn("net_ib.cc:93", "NET/IB : mlx5_0:1 Got async event : port error"))


@pytest.fixture
def pipe() -> tuple[Path, int]:
    """A pipe as `<(command)` gives it, and its writing end."""
    reading, writing = os.pipe()
    return Path(f"/dev/fd/{reading}"), writing


def fed(writing: int, text: bytes) -> threading.Thread:
    """Somebody who writes `text` and goes."""

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(text)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def test_a_file_is_opened_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(BROKEN)
    text = opened(Given(path, "a.log"))
    assert text.whole == BROKEN
    assert BROKEN.startswith(text.start)


def test_a_pipe_is_read_to_its_end(pipe: tuple[Path, int]) -> None:
    path, writing = pipe
    writer = fed(writing, BROKEN.encode() * 2000)
    text = opened(Given(path, str(path)))
    writer.join(60)
    assert text.whole == BROKEN * 2000


def test_a_pipe_is_explained_like_a_file(pipe: tuple[Path, int]) -> None:
    path, writing = pipe
    writer = fed(writing, BROKEN.encode())
    document = explain_files([str(path)])
    writer.join(60)
    assert document.verdict == "link-flap"
    assert document.findings[0].evidence[0].file == str(path)


def test_a_pipe_that_nobody_writes_to_is_empty(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert opened(Given(tmp_path / "fifo", "fifo")).whole == ""
    document = explain_files([str(tmp_path / "fifo")])
    assert document.verdict == "unknown"


def test_a_pipe_that_stays_silent_is_given_up(pipe: tuple[Path, int], monkeypatch: pytest.MonkeyPatch) -> None:
    path, writing = pipe
    monkeypatch.setattr(sources, "SILENCE_S", 0.05)
    with pytest.raises(InputError, match="nothing came"):
        opened(Given(path, str(path)))
    os.close(writing)


def test_a_pipe_that_never_ends_is_given_up(pipe: tuple[Path, int], monkeypatch: pytest.MonkeyPatch) -> None:
    path, writing = pipe
    monkeypatch.setattr(sources, "MOST_STDIN", 4)
    writer = fed(writing, b"too much")
    with pytest.raises(InputError, match="holds more than"):
        opened(Given(path, str(path)))
    writer.join(60)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero"])
def test_a_device_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="is a device, not a file"):
        opened(Given(Path(path), path))
    document = explain_files([path])
    assert document.verdict == "unknown"
    assert "is a device" in document.files[0].note


def test_two_pipes_are_two_files() -> None:
    ends = os.pipe(), os.pipe()
    try:
        assert len(listed([f"/dev/fd/{reading}" for reading, _writing in ends])) == 2
    finally:
        for end in (*ends[0], *ends[1]):
            os.close(end)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4000))
    with pytest.raises(InputError, match="binary"):
        opened(Given(tmp_path / "runs.sqlite", "runs.sqlite"))
