"""A model named in a launch line is looked up on this machine, never downloaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.serving.hub import config_of

pytestmark = pytest.mark.unit


def _snapshot(hub: Path, revision: str, *, main: bool = False) -> Path:
    repository = hub / "models--org--M"
    folder = repository / "snapshots" / revision
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    if main:
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(f"{revision}\n")
    return folder / "config.json"


def test_the_snapshot_that_main_names(tmp_path: Path) -> None:
    _snapshot(tmp_path / "hub", "aaa")
    named = _snapshot(tmp_path / "hub", "bbb", main=True)
    _snapshot(tmp_path / "hub", "ccc")
    assert config_of("org/M", {"HF_HOME": str(tmp_path)}) == named
    assert config_of("org/M", {"HF_HUB_CACHE": str(tmp_path / "hub")}) == named


def test_without_a_ref_the_newest(tmp_path: Path) -> None:
    old, new = _snapshot(tmp_path / "hub", "aaa"), _snapshot(tmp_path / "hub", "bbb")
    os.utime(old.parent, (1, 1))
    assert config_of("org/M", {"HF_HOME": str(tmp_path)}) == new


def test_a_ref_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    found = _snapshot(tmp_path / "hub", "aaa", main=True)
    (tmp_path / "hub/models--org--M/refs/main").write_text("../../../../etc")
    assert config_of("org/M", {"HF_HOME": str(tmp_path)}) == found


def test_a_folder_and_a_containers_root(tmp_path: Path) -> None:
    folder = tmp_path / "root/models/M"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert config_of(str(folder), {}) == folder / "config.json"
    assert config_of("/models/M", {}, str(tmp_path / "root")) == folder / "config.json"
    hub = tmp_path / "root/root/.cache/huggingface/hub"
    assert _snapshot(hub, "a") == config_of("org/M", {}, str(tmp_path / "root"))


@pytest.mark.parametrize("model", ["org/M", "/nowhere", "../x", "a/b/c", "x y", "", "$MODEL", "m" * 500])
def test_what_is_not_there_is_said(tmp_path: Path, model: str) -> None:
    with pytest.raises(UsageError, match="is not on this machine") as caught:
        config_of(model, {"HF_HOME": str(tmp_path)})
    assert caught.value.id == "config-absent"
