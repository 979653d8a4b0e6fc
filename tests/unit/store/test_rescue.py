"""A launch the store refused is kept whole in a JSON file, and never over another one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabricdoc.errors import StoreError
from fabricdoc.model.run import Launch
from fabricdoc.store import SampleKey, rescue

pytestmark = pytest.mark.unit


def test_nothing_of_the_launch_is_lost(place: Path, launch_of, samples) -> None:
    path = rescue("run-1", launch_of(7), samples, place / "new")
    assert path == place / "new/run-1-launch-0007.json"
    content = json.loads(path.read_text())
    assert (content["schema"], content["run"]) == ("fabricdoc/rescued-launch/1", "run-1")
    assert Launch.model_validate(content["launch"]) == launch_of(7)
    kept = {}
    for series in content["samples"]:
        values = tuple(series.pop("values"))
        kept[SampleKey(**series)] = values
    assert kept == samples


def test_a_file_that_is_there_is_never_written_over(place: Path, launch_of, samples) -> None:
    first = rescue("run-1", launch_of(7), samples, place)
    before = first.read_bytes()
    second = rescue("run-1", launch_of(7, seconds=9.0), samples, place)
    assert second.name == "run-1-launch-0007-2.json"
    assert first.read_bytes() == before
    assert sorted(path.name for path in place.iterdir()) == [second.name, first.name]


def test_a_folder_that_can_not_be_written_is_one_clear_line(place: Path, launch_of, samples, nobody) -> None:
    place.chmod(0o555)
    kind, message, fix = nobody(lambda: rescue("run-1", launch_of(7), samples, place))
    assert kind == StoreError.__name__
    assert message.startswith(f"launch 7 can't be kept in {place} either: Permission denied")
    assert "--store" in fix
