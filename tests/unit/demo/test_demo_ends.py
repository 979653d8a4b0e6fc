"""How a demo ends early: what was measured stays to be read, and nothing is promised of a lab that is gone."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.demo import run as demo
from fabricdoc.errors import StoppedError, StoreError
from tests.fabrics import crossed_pair

pytestmark = pytest.mark.unit


class Quiet:
    """A screen that nobody looks at."""

    def __getattr__(self, _name: str) -> Any:
        return lambda *_, **__: None


def ended_by(error: Exception, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo's job with a bench that ends so."""

    def bench(*_: Any) -> None:
        raise error

    monkeypatch.setattr(demo, "look_once", lambda *_, **__: crossed_pair())
    monkeypatch.setattr(demo, "with_cables", lambda *_, **__: crossed_pair())
    monkeypatch.setattr(demo, "_bench", bench)
    request = demo.DemoRequest(folder=folder)
    demo._main_job(request, Quiet(), demo.Folder(folder), [])  # type: ignore[arg-type]


def test_one_that_was_stopped_shows_what_it_has_and_resumes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a demo"
    stopped = StoppedError("stopped; 4 launches measured so far are kept", fix="go on: fabricdoc bench --resume r")
    with pytest.raises(StoppedError) as caught:
        ended_by(stopped, folder, monkeypatch)
    assert caught.value.message == stopped.message
    command = shlex.split(caught.value.fix.removeprefix("see what was measured: "))
    assert command == ["fabricdoc", "runs", "show", "--sizes", "--store", str(folder / "runs.sqlite")]


def test_one_that_was_stopped_before_anything_was_measured_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoppedError) as caught:
        ended_by(StoppedError("stopped before the first launch was measured"), tmp_path / "d", monkeypatch)
    assert caught.value.fix == ""


def test_a_full_disk_is_mended_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError) as caught:
        ended_by(StoreError("no space", fix="--store"), tmp_path / "d", monkeypatch)
    assert "-o DIR" in caught.value.fix
