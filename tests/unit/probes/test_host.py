"""Host facts: parsers, limits, the allow-list of variables, torch's version without torch."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.fabric import Host
from fabricdoc.probes import host
from fabricdoc.probes.facts import is_unknown
from tests.sysfs import write

pytestmark = pytest.mark.unit

FIRST_NAMESPACE = "         0          0 4294967295"


def machine(root: Path, **changed: str) -> str:
    files = {
        "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"',
        "etc/machine-id": "abc",
        "proc/sys/kernel/random/boot_id": "11111111-2222",
        "proc/meminfo": "MemTotal:       125000000 kB\nMemFree: 1 kB\nMemAvailable:   100000000 kB",
        "proc/self/uid_map": FIRST_NAMESPACE,
        "proc/self/status": "Name:\tpython3\nCapEff:\t0000000000000000",
        "sys/module/nvidia/version": "580.95.05",
        "dev/infiniband/uverbs0": "",
        "dev/infiniband/rdma_cm": "",
        "dev/shm/x": "",
    }
    write(root, files | changed)
    return str(root)


def filled(root: str, environ: dict[str, str] | None = None) -> dict[str, Any]:
    found = host.blank()
    host.fill(found, root, environ or {})
    return found


def test_every_field_of_the_model_is_read(tmp_path: Path) -> None:
    found = filled(machine(tmp_path))
    report = Host.model_validate(found)
    assert (report.os, report.machine_id, report.boot_id) == ("Ubuntu 24.04.3 LTS", "abc", "11111111-2222")
    assert (report.memory_total, report.memory_available) == (125_000_000 * 1024, 100_000_000 * 1024)
    assert (report.nvidia_driver, report.infiniband_devices) == ("580.95.05", ("rdma_cm", "uverbs0"))
    assert (report.hostname, report.kernel, report.arch) == (
        os.uname().nodename,
        os.uname().release,
        os.uname().machine,
    )
    assert report.cpus == len(os.sched_getaffinity(0))
    assert report.python == ".".join(map(str, sys.version_info[:3]))
    assert isinstance(report.shm_bytes, int)
    assert is_unknown(found["libibverbs"])


def test_a_blank_host_is_the_model_with_every_fact_unknown() -> None:
    report = Host.model_validate(host.blank())
    assert all(is_unknown(fact) for name, fact in host.blank().items() if name != "environment")
    assert report.environment == {}


def test_an_empty_tree_costs_only_the_facts_it_holds(tmp_path: Path) -> None:
    found = filled(str(tmp_path))
    Host.model_validate(found)
    for name in ("os", "machine_id", "boot_id", "memory_total", "memlock", "shm_bytes", "nvidia_driver"):
        assert is_unknown(found[name]), name
    assert found["infiniband_devices"] == []


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
    assert filled(root)["memlock"] == (8 << 20 if limited else -1)


def test_no_limit_is_minus_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert filled(machine(tmp_path))["memlock"] == -1


def test_only_allowed_variables_and_no_secrets() -> None:
    environ = {
        "NCCL_IB_HCA": "=rocep1s0f0",
        "GLOO_SOCKET_IFNAME": "a",
        "UCX_NET_DEVICES": "b",
        "TP_SOCKET_IFNAME": "c",
        "CUDA_VISIBLE_DEVICES": "0",
        "HF_TOKEN": "x",
        "PATH": "/bin",
        "NCCL_API_KEY": "x",
        "UCX_secret_word": "x",
        "MY_NCCL_X": "x",
    }
    assert set(host.environment(environ)) == {
        "NCCL_IB_HCA",
        "GLOO_SOCKET_IFNAME",
        "UCX_NET_DEVICES",
        "TP_SOCKET_IFNAME",
        "CUDA_VISIBLE_DEVICES",
    }


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=3000), max_size=5))
def test_any_environment_is_bounded_text(environ: dict[str, str]) -> None:
    found = host.environment({f"NCCL_{name}": value for name, value in environ.items()})
    assert all(len(value) <= host.MAX_VALUE for value in found.values())
    assert not any(word in name.upper() for name in found for word in ("TOKEN", "KEY", "SECRET"))
    str(found).encode()


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("torch-2.13.0+cpu.dist-info", "2.13.0+cpu"),
        ("torch-2.9.0a0+145a3a7.nv25.10.dist-info", "2.9.0a0+145a3a7.nv25.10"),
        ("torch-2.1.0-py3.10.egg-info", "2.1.0"),
        ("torch-2.1.0.egg-info", "2.1.0"),
    ],
)
def test_torchs_version_from_its_metadata(tmp_path: Path, name: str, version: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / "torchvision-0.9.dist-info").mkdir()
    assert host.torch_version([f"{tmp_path}/gone", str(tmp_path)]) == version


def test_other_packages_are_not_torch(tmp_path: Path) -> None:
    for name in ("torch_geometric-2.0.dist-info", "torch-2.1.0", "pytorch-2.0.dist-info", "torch"):
        (tmp_path / name).mkdir()
    assert is_unknown(host.torch_version([str(tmp_path)]))


def test_the_first_torch_on_the_path_counts(tmp_path: Path) -> None:
    for folder, version in (("a", "2.9.0"), ("b", "2.13.0")):
        (tmp_path / folder / f"torch-{version}.dist-info").mkdir(parents=True)
    path = host.import_path({"PYTHONPATH": f"{tmp_path}/a::{tmp_path}/b"})
    assert path[:2] == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert host.torch_version(path) == "2.9.0"


def test_meminfo_and_os_release_without_the_line() -> None:
    assert is_unknown(host.meminfo("MemFree: 1 kB", "MemAvailable"))
    assert is_unknown(host.os_name("NAME=x"))
    assert host.os_name("PRETTY_NAME='A B'") == "A B"
