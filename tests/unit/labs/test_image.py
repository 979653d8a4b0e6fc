"""The image's place and its building: one name per recipe, whole or not at all, one builder at a time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.labs import image as images

pytestmark = pytest.mark.unit

TREE = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "fabricdoc"


def build(folder: Path) -> None:
    for name in images.FILES:
        (folder / name).write_text(name)


def test_it_is_built_once_and_named_by_its_recipe(cache: Path) -> None:
    built: list[Path] = []

    def once(folder: Path) -> None:
        built.append(folder)
        build(folder)

    first, second = images.image(once), images.image(once)
    assert first == second == cache / f"roce-lab-{images.recipe_hash()}"
    assert len(built) == 1
    assert {path.name for path in first.iterdir()} == set(images.FILES)


def test_another_recipe_is_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {images.recipe_hash()}
    monkeypatch.setattr(images, "PACKAGES", (*images.PACKAGES, "tcpdump"))
    names.add(images.recipe_hash())
    monkeypatch.setattr(images, "RECIPE", images.RECIPE[:1])
    names.add(images.recipe_hash())
    assert len(names) == 3


def test_a_failed_build_leaves_nothing_and_a_killed_one_is_cleared(cache: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "root.sqfs").write_text("half")
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        images.image(fail)
    assert [path.name for path in cache.iterdir()] == [f"roce-lab-{images.recipe_hash()}.lock"]
    (cache / f"roce-lab-{images.recipe_hash()}.part-killed").mkdir()
    assert images.image(build).is_dir()
    assert not list(cache.glob("*.part-*"))


@pytest.mark.long
def test_a_second_builder_waits_for_the_first(cache: Path) -> None:
    begun, built = threading.Event(), []

    def slowly(folder: Path) -> None:
        begun.set()
        time.sleep(0.3)
        build(folder)
        built.append(folder)

    first = threading.Thread(target=images.image, args=(slowly,))
    first.start()
    assert begun.wait(5)
    images.image(slowly)
    first.join(5)
    assert len(built) == 1


def test_a_lock_held_too_long_is_told(tmp_path: Path) -> None:
    with (
        images.locked(tmp_path / "lock"),
        pytest.raises(TimeoutError, match="lock"),
        images.locked(tmp_path / "lock", 0.0),
    ):
        pass


def test_the_mirror_is_this_hosts_debian_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["Ubuntu Ubuntu http://u/", "Debian Debian-Security http://s/", "Debian Debian http://d/debian/"]
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert images.mirror() == ["http://d/debian/"]
    apt.write_text("#!/bin/sh\necho 'Ubuntu Ubuntu http://u/'\n")
    assert images.mirror() == []
    apt.write_text("#!/bin/sh\nexit 100\n")
    assert images.mirror() == []


def test_the_suite_is_bookworm_whatever_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "mirror", lambda: ["http://d/debian/"])
    words = images.mmdebstrap_words(tmp_path, tmp_path / "root.tar")
    assert words[-3:] == ["bookworm", str(tmp_path / "root.tar"), "http://d/debian/"]
    assert "--architectures=amd64" in words
    hooks = [word for word in words if word.startswith("--customize-hook=")]
    assert sum("linux-image-amd64" in hook for hook in hooks) == 1


def test_no_file_of_the_lab_names_a_mirror() -> None:
    files = [path for name in ("labs", "roce") for path in (TREE / "tests" / name).rglob("*") if path.is_file()]
    texts = [path.read_text(errors="ignore") for path in files if path.suffix != ".pyc"]
    assert len(texts) > 10
    assert not [found for text in texts for found in re.findall(r"https?://\S+", text)]


def test_a_failed_command_shows_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ended with 3:\nwhy"):
        images._run(["sh", "-c", "echo why; exit 3"], tmp_path)


def test_a_killed_builder_takes_its_command_along(tmp_path: Path) -> None:
    builder = subprocess.Popen([sys.executable, "-c", BUILDS, str(tmp_path), SAYS], cwd=TREE)
    told = tmp_path / "build.log"
    wait_for(lambda: told.exists() and "begun" in told.read_text())
    builder.kill()
    builder.wait(5)
    wait_for(lambda: "cleared" in told.read_text())


BUILDS = """
import sys
from pathlib import Path
from tests.labs.image import _run
_run(["sh", "-c", sys.argv[2]], Path(sys.argv[1]))
"""
SAYS = "trap 'echo cleared; exit' TERM; echo begun; while :; do sleep 0.1; done"


def wait_for(condition: object, limit_s: float = 10.0) -> None:
    assert callable(condition)
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
