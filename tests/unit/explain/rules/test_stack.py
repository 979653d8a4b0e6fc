"""Rules of the RDMA stack and its container: each fires where it should, and not where only its like is seen."""

from __future__ import annotations

import pytest

from tests.excerpts import bare, links, log, told, using, version, warn

pytestmark = pytest.mark.unit

SOCKETS = "Using network Socket"
UP = links(("mlx5_0", "ACTIVE"), ("mlx5_1", "ACTIVE"))

LIBRARY = {
    "info line": {"a.log": log("alpha", version("2.20.5"), "Failed to open libibverbs.so[.1]", SOCKETS)},
    "old warning": {"a.log": log("alpha", warn("misc/ibvwrap.cc:63", "Failed to open libibverbs.so[.1]"), SOCKETS)},
    "no network told": {"a.log": log("alpha", version("2.20.5"), "Failed to open libibverbs.so[.1]")},
}
MISSING = {
    "host has HCAs": {"a.log": log("alpha", "NET/IB : No device found.", SOCKETS), "rdma_link.txt": UP},
    "empty list alone": {"a.log": log("alpha", using(), SOCKETS), "rdma_link.txt": UP},
    "no device files": {
        "a.log": log("alpha", "NET/IB : No device found.", SOCKETS),
        "ls.txt": "ls: cannot access '/dev/infiniband': No such file or directory\n",
    },
}
REFUSED = {
    "can't be opened": {
        "a.log": log("alpha", warn("transport/net_ib.cc:334", "NET/IB : Unable to open device mlx5_0"), SOCKETS)
    },
    "not permitted": {
        "a.log": log(
            "alpha", bare("libibverbs: Warning: couldn't open /dev/infiniband/uverbs0: Permission denied"), SOCKETS
        )
    },
    "call refused": {"a.log": log("alpha", warn("misc/ibvwrap.cc:90", "Call to ibv_open_device failed"), SOCKETS)},
}
OFF = "NCCL_IB_DISABLE set by environment to 1."
DISABLED = {
    "ports are up": {"a.log": log("alpha", OFF, SOCKETS), "alpha_rdma_link.txt": UP},
    "a filter is set": {"a.log": log("alpha", OFF, SOCKETS), "nccl.env": "NCCL_IB_DISABLE=1\nNCCL_IB_HCA=mlx5_0\n"},
    "in lspci": {
        "a.log": log("alpha", OFF, SOCKETS),
        "lspci.txt": "17:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n",
    },
}
IGNORED = {
    "HPC-X": {"a.log": log("alpha", OFF, "P2P plugin IBext_v8", "Using network IBext_v8")},
    "told by the env file": {"a.log": log("alpha", "Using network IBext_v10"), "nccl.env": "NCCL_IB_DISABLE=1\n"},
    "libfabric": {
        "a.log": log("alpha", OFF, "NET/OFI Selected Provider is efa (found 4 nics)", "Using network AWS Libfabric")
    },
}


def rows(table: dict[str, dict[str, str]]) -> list[object]:
    return [pytest.param(files, id=name) for name, files in table.items()]


@pytest.mark.parametrize("files", rows(LIBRARY))
def test_a_missing_library_is_told(files: dict[str, str]) -> None:
    document = told(files)
    assert document.verdict == "libibverbs-missing"
    assert "libibverbs.so" in document.findings[0].evidence[0].text
    assert any("ibverbs-providers" in line for line in document.findings[0].fix)


def test_a_library_that_a_plugin_does_not_need_is_no_cause() -> None:
    files = {"a.log": log("alpha", "Failed to open libibverbs.so[.1]", "Using network AWS Libfabric")}
    assert told(files).verdict == "none"


def test_a_missing_provider_library_of_mlx5_is_no_missing_libibverbs() -> None:
    files = {"a.log": log("alpha", "Failed to open libmlx5.so[.1]", using("mlx5_0"), "Using network IB")}
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(MISSING))
def test_a_container_without_device_files_is_told(files: dict[str, str]) -> None:
    assert told(files).verdict == "container-rdma-device-missing"


def test_the_hcas_of_the_host_are_named() -> None:
    document = told(MISSING["host has HCAs"])
    assert "mlx5_0, mlx5_1" in document.findings[0].cause
    assert any("--device=/dev/infiniband" in line for line in document.findings[0].fix)


def test_no_device_on_a_host_without_hcas_is_nothing_wrong() -> None:
    assert told({"a.log": log("alpha", "NET/IB : No device found.", using(), SOCKETS)}).verdict == "none"


def test_a_filter_that_fits_nothing_is_no_missing_device() -> None:
    files = {
        "a.log": log("alpha", "NCCL_IB_HCA set to mlx5_7", "NET/IB : No device found.", SOCKETS),
        "rdma_link.txt": UP,
    }
    document = told(files)
    assert document.verdict == "ib-hca-matches-nothing"
    assert "container-rdma-device-missing" in [one.id for one in document.considered]


@pytest.mark.parametrize("files", rows(REFUSED))
def test_a_device_that_may_not_be_opened_is_told(files: dict[str, str]) -> None:
    assert told(files).verdict == "container-rdma-device-not-accessible"


def test_one_refused_device_beside_a_used_one_is_another_cause() -> None:
    line = warn("transport/net_ib.cc:334", "NET/IB : Unable to open device mlx5_1")
    document = told({"a.log": log("alpha", line, using("mlx5_0"), "Using network IB")})
    assert document.verdict == "unknown"
    assert [one.id for one in document.considered] == ["container-rdma-device-not-accessible"]


@pytest.mark.parametrize("files", rows(DISABLED))
def test_a_path_that_is_switched_off_is_told(files: dict[str, str]) -> None:
    document = told(files)
    assert document.verdict == "ib-disabled-by-env"
    assert "NCCL_IB_DISABLE" in document.findings[0].evidence[0].text


def test_switched_off_where_nothing_shows_an_hca_is_only_considered() -> None:
    document = told({"a.log": log("alpha", OFF, SOCKETS)})
    assert document.verdict == "none"
    assert document.considered[0].id == "ib-disabled-by-env"
    assert document.considered[0].sought


def test_a_disable_of_zero_is_nothing() -> None:
    files = {"a.log": log("alpha", "NCCL_IB_DISABLE set by environment to 0.", SOCKETS), "alpha_rdma_link.txt": UP}
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(IGNORED))
def test_a_plugin_that_ignores_the_variable_is_told(files: dict[str, str]) -> None:
    assert told(files).verdict == "ib-disable-ignored-external-plugin"


def test_what_fails_over_the_plugin_stands_behind_it() -> None:
    failed = warn("ibvwrap.c:160", "Call to ibv_modify_qp failed with error Connection timed out")
    document = told({"a.log": log("alpha", "NCCL_IB_DISABLE set by environment to 1.", "Using network IBext", failed)})
    assert document.verdict == "ib-disable-ignored-external-plugin"
    assert document.findings[0].severity == "error"
    assert "rdma-path-timeout" in [one.id for one in document.considered]


def test_a_plugin_without_the_variable_is_nothing() -> None:
    assert told({"a.log": log("alpha", "P2P plugin IBext_v8", "Using network IBext_v8")}).verdict == "none"


def test_a_missing_provider_is_told() -> None:
    line = "libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband_verbs/uverbs0"
    document = told({"a.log": log("alpha", bare(line), "NET/IB : No device found.", SOCKETS)})
    assert document.verdict == "ibverbs-provider-missing"
    assert any("ibverbs-providers" in fix for fix in document.findings[0].fix)


def test_a_library_that_shows_devices_misses_no_provider() -> None:
    assert told({"a.log": log("alpha", using("mlx5_0"), "Using network IB")}).verdict != "ibverbs-provider-missing"


def test_a_missing_library_of_a_single_node_is_only_considered() -> None:
    lines = ("Failed to open libibverbs.so[.1]", SOCKETS, "Channel 00 : 1[1] -> 0[0] via SHM/direct/direct")
    document = told({"a.log": log("alpha", *lines)})
    assert document.verdict == "none"
    assert [one.id for one in document.considered] == ["libibverbs-missing"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("docker-compose.yml", "services:\n  vllm:\n    devices:\n      - /dev/infiniband\n"),
        ("cmd.txt", "docker run --gpus all --device=/dev/infiniband --network host image\n"),
        ("pod.yaml", "  volumes:\n  - name: ib\n    hostPath:\n      path: /dev/infiniband\n"),
        ("a.log", log("alpha", "NET/Socket : Using [0]enp1s0f1np1:10.9.0.1<0>")),
    ],
)
def test_switched_off_where_rdma_is_given_to_the_container_or_its_nic_carries_the_sockets(file: str, text: str) -> None:
    files = {file: text}
    files["a.log"] = files.get("a.log", "") + log("alpha", OFF, SOCKETS)
    assert told(files).verdict == "ib-disabled-by-env"


@pytest.mark.parametrize("name", ["eno1np", "enp4s0", "eth0"])
def test_an_interface_that_names_no_port_of_a_nic_shows_no_hca(name: str) -> None:
    line = f"NET/Socket : Using [0]{name}:10.9.0.1<0>"
    assert told({"a.log": log("alpha", line, OFF, SOCKETS)}).verdict == "none"
