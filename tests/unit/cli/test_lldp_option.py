"""`--lldp` of scan and cables: off unless asked for, refused beside files."""

from __future__ import annotations

import pytest

import fabricdoc.workflow
from fabricdoc.cli import main
from fabricdoc.model.fabric import Fabric
from tests.fabrics import node

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["scan"], False),
        (["scan", "--lldp"], True),
        (["cables", "--nodes", "a=local,b=local", "--lldp"], True),
        (["cables", "--nodes", "a=local,b=local"], False),
    ],
)
def test_listening_is_on_request(words: list[str], wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def look(*_words: object, **more: object) -> Fabric:
        asked.append(more["lldp"])
        return Fabric(nodes=(node("a"),))

    monkeypatch.setattr(fabricdoc.workflow, "look_deeply", look)
    monkeypatch.setattr(fabricdoc.fabric, "begin_scan", lambda *_words, **_more: None)
    main([*words, "--json"])
    assert asked == [wanted]


def test_files_are_not_listened_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "--lldp", "--from", "."]) == 2
    assert "--lldp" in capsys.readouterr().err
