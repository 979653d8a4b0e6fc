"""Limits of this process: locked memory as RDMA meets it, and memory's two lines."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import limits
from fabricdoc.probes.facts import is_unknown
from tests.sysfs import write

pytestmark = pytest.mark.unit

FIRST_NAMESPACE = "         0          0 4294967295"
STATUS = "Name:\tpython3\nCapEff:\t0000000000000000"


def machine(root: Path, **changed: str) -> str:
    write(root, {"proc/self/uid_map": FIRST_NAMESPACE, "proc/self/status": STATUS} | changed)
    return str(root)


@pytest.mark.parametrize(
    ("capabilities", "uid_map", "limited"),
    [
        ("0000000000004000", FIRST_NAMESPACE, False),
        ("000001ffffffbfff", FIRST_NAMESPACE, True),
        ("000001ffffffffff", "0 1000 1", True),
    ],
)
def test_ipc_lock_lifts_the_limit_only_in_the_first_user_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capabilities: str, uid_map: str, limited: bool
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (8 << 20, 8 << 20))
    root = machine(tmp_path, **{"proc/self/status": f"CapEff:\t{capabilities}", "proc/self/uid_map": uid_map})
    assert limits.memlock(root) == (8 << 20 if limited else -1)


def test_no_limit_is_minus_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert limits.memlock(machine(tmp_path)) == -1


def test_no_capability_line_is_no_capability(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (65536, 65536))
    assert limits.memlock(machine(tmp_path, **{"proc/self/status": "Name: x"})) == 65536


def test_meminfo_in_bytes_or_unknown() -> None:
    assert limits.meminfo("MemTotal: 3 kB\nMemAvailable:  2 kB", "MemAvailable") == 2048
    assert is_unknown(limits.meminfo("MemFree: 1 kB", "MemAvailable"))
    assert is_unknown(limits.meminfo("XMemAvailable: 1 kB", "MemAvailable"))


@given(st.text(max_size=300))
def test_any_meminfo_is_a_number_or_a_reason(text: str) -> None:
    found = limits.meminfo(text, "MemTotal")
    assert is_unknown(found) or found >= 0


def test_the_size_of_a_file_system(tmp_path: Path) -> None:
    about = os.statvfs(tmp_path)
    assert limits.size(str(tmp_path)) == about.f_blocks * about.f_frsize
    with pytest.raises(OSError, match="No such file"):
        limits.size(f"{tmp_path}/gone")
