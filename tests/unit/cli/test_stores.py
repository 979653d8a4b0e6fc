"""A store is one file once a command has ended: copied alone to a colleague, it holds everything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

OUTPUT = """\
# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 20 iters: 100 agg iters: 1 \
validation: 1 graph: 1 unalign: 0
#  Rank  0 Group  0 Pid   4711 on      alpha device  0 [0000:04:00] NVIDIA H200
#  Rank  1 Group  0 Pid   4712 on       beta device  0 [0000:04:00] NVIDIA H200
        1024           512  bfloat16     sum      -1    53.50    0.02    0.02       0    54.20    0.02    0.02       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.05
#
"""


def command(*words: str) -> str:
    """stdout of a whole process, which leaves as the command does."""
    done = subprocess.run(
        [sys.executable, "-m", "fabricdoc", *words], cwd=TREE, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_a_command_stored_is_in_the_one_file(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(OUTPUT)
    store = tmp_path / "runs.sqlite"
    command("runs", "import", str(tmp_path / "out.txt"), "--store", str(store))
    assert not (tmp_path / "runs.sqlite-wal").exists()
    copy = shutil.copy(store, tmp_path / "sent.sqlite")
    assert "alpha, beta" in command("runs", "list", "--store", str(copy))
