"""`scan --watch`: counters of this machine read twice, and words that make no sense with it."""

from __future__ import annotations

import json

import pytest

from fabricdoc import fabric
from fabricdoc.cli import main
from fabricdoc.fabric import asking

pytestmark = pytest.mark.unit


@pytest.mark.long
def test_the_probe_is_asked_to_watch_for_that_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    begin = asking.begin_scan
    monkeypatch.setattr(fabric, "begin_scan", lambda specs, **more: asked.append(more) or begin(specs, **more))
    assert main(["scan", "--watch", "0.3s", "--json"]) in (0, 1)
    assert asked == [{"watch_s": 0.3}]
    assert "watching their counters for 0.3 s" in capsys.readouterr().err


@pytest.mark.long
def test_without_it_they_are_read_once(capsys: pytest.CaptureFixture[str]) -> None:
    main(["scan", "--json"])
    (node,) = json.loads(capsys.readouterr().out)["nodes"]
    assert node["watched_s"] == 0


@pytest.mark.parametrize("words", [["--watch", "soon"], ["--watch", "20m"], ["--watch", "10s", "--from", "."]])
def test_words_that_make_no_sense_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", *words]) == 2
    assert "fix: " in capsys.readouterr().err
