"""The demo on a disk that gets full in the middle: it says so, and the launch that did not fit is kept elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]

ROOT = Path(__file__).resolve().parents[2]
ON_A_SMALL_DISK = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
steps = (
    lambda: libc.unshare(0x20000),
    lambda: libc.mount(None, b"/", None, 0x44000, None),
    lambda: libc.mount(b"tmpfs", os.fsencode(sys.argv[1]), b"tmpfs", 0, b"size=240k"),
)
for step in steps:
    if step() != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
os.execv(sys.executable, [sys.executable, "-m", "fabricdoc", "demo", "--json", "-o", sys.argv[1] + "/demo"])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk, which needs root")
def test_the_launch_that_did_not_fit_is_rescued_and_named(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the demo launches gloo ranks")
    disk, shelter = tmp_path / "disk", tmp_path / "shelter"
    disk.mkdir()
    shelter.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", ON_A_SMALL_DISK, str(disk)],
        cwd=shelter,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(shelter)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads(done.stdout)
    assert document["message"].startswith("no space left for the run store")
    assert document["fix"].endswith("-o DIR")
    (kept,) = (shelter / "fabricdoc").glob("*-launch-*.json")
    assert [path.name for path in shelter.iterdir()] == ["fabricdoc"], "nothing is left in the working folder"
    assert str(kept) in document["message"]
    assert json.loads(kept.read_text())["launch"]["status"] in ("ok", "failed")
