"""MemAvailable and the refusal before a launch."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes.launches import Launch
from fabricdoc.probes.memory import GIB, available, shortage

pytestmark = pytest.mark.unit


def meminfo(folder: Path, gib: float) -> Path:
    file = folder / "meminfo"
    file.write_text(f"MemTotal:  99999999 kB\nMemAvailable:  {int(gib * 1024 * 1024)} kB\nBuffers: 1 kB\n")
    return file


def test_the_kernels_estimate_is_read_in_bytes(tmp_path: Path) -> None:
    assert available(meminfo(tmp_path, 3)) == 3 * GIB


def test_without_meminfo_no_limit_is_kept(tmp_path: Path) -> None:
    assert available(tmp_path / "absent") is None
    assert shortage(GIB, GIB, tmp_path / "absent") == ""


def test_a_kernel_without_the_line_is_unknown(tmp_path: Path) -> None:
    file = tmp_path / "meminfo"
    file.write_text("MemTotal: 1 kB\n")
    assert available(file) is None


def test_a_launch_that_would_leave_too_little_is_refused_with_the_numbers(tmp_path: Path) -> None:
    reason = shortage(4 * GIB, 10 * GIB, meminfo(tmp_path, 13))
    assert reason == (
        "not started: 13.0 GiB of memory are available, the launch needs 4.0 GiB and 10.0 GiB must stay free"
    )
    assert shortage(3 * GIB, 10 * GIB, meminfo(tmp_path, 13)) == ""


@given(st.integers(0, 64), st.integers(0, 64), st.integers(0, 64))
def test_refused_exactly_when_the_floor_would_be_broken(
    tmp_path_factory: pytest.TempPathFactory, free: int, need: int, keep: int
) -> None:
    file = meminfo(tmp_path_factory.mktemp("m"), free)
    assert bool(shortage(need * GIB, keep * GIB, file)) == (free - need < keep)


def test_a_running_launch_starves_only_below_its_limit() -> None:
    assert not Launch(1, 10.0).starving()
    assert not Launch(1, 10.0, least_memory=1).starving()
    assert Launch(1, 10.0, least_memory=1 << 60).starving()
