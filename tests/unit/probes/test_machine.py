"""Facts of the machine from /sys and /proc: what is there, what is filler, and what can't be told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import machine
from fabricdoc.probes.facts import attempt, is_unknown
from tests.sysfs import link, spark, write

pytestmark = pytest.mark.unit

DMI = "sys/class/dmi/id"


@pytest.mark.parametrize(
    ("maker", "model", "shown"),
    [
        ("NVIDIA", "NVIDIA_DGX_Spark", "NVIDIA_DGX_Spark"),
        ("ASUSTeK COMPUTER INC.", "GX10", "ASUSTeK COMPUTER INC. GX10"),
        ("Dell Inc.", "To Be Filled By O.E.M.", "Dell Inc."),
        ("Default string", "XE9680", "XE9680"),
    ],
)
def test_the_model_without_filler(tmp_path: Path, maker: str, model: str, shown: str) -> None:
    write(tmp_path, {f"{DMI}/sys_vendor": maker, f"{DMI}/product_name": model})
    assert machine.product(str(tmp_path)) == shown


def test_a_machine_without_names_has_none(tmp_path: Path) -> None:
    write(tmp_path, {f"{DMI}/sys_vendor": "", f"{DMI}/product_name": "None"})
    assert is_unknown(machine.product(str(tmp_path)))
    assert is_unknown(machine.bios(str(tmp_path)))
    assert is_unknown(machine.product(f"{tmp_path}/gone"))


def test_the_bios_with_its_date(tmp_path: Path) -> None:
    write(tmp_path, {f"{DMI}/bios_version": "0105", f"{DMI}/bios_date": "04/02/2026"})
    assert machine.bios(str(tmp_path)) == "0105 04/02/2026"
    (tmp_path / DMI / "bios_date").unlink()
    assert machine.bios(str(tmp_path)) == "0105"


def test_one_governor_or_all_of_them(tmp_path: Path) -> None:
    base = "sys/devices/system/cpu/cpufreq"
    write(tmp_path, {f"{base}/policy{n}/scaling_governor": "performance" for n in range(4)} | {f"{base}/boost": "1"})
    assert machine.governor(str(tmp_path)) == "performance"
    write(tmp_path, {f"{base}/policy9/scaling_governor": "ondemand"})
    assert machine.governor(str(tmp_path)) == "ondemand, performance"
    assert is_unknown(machine.governor(f"{tmp_path}/gone"))


def groups(root: Path, *types: str) -> str:
    write(root, {f"sys/kernel/iommu_groups/{n}/type": kind for n, kind in enumerate(types)})
    return str(root)


@pytest.mark.parametrize(
    ("types", "mode"),
    [
        (["identity"] * 3, "passthrough"),
        (["DMA"] * 3, "translated"),
        (["DMA-FQ"], "translated"),
        (["identity", "DMA"], "translated"),
    ],
)
def test_the_iommu_by_the_types_of_all_groups(tmp_path: Path, types: list[str], mode: str) -> None:
    assert machine.iommu(groups(tmp_path, *types)) == mode


def test_where_there_is_an_hca_its_group_decides(tmp_path: Path) -> None:
    root = groups(tmp_path, "DMA-FQ", "identity")
    for hca in ("rocep1s0f0", "roceP2p1s0f0"):
        link(tmp_path, f"sys/class/infiniband/{hca}/device/iommu_group", "sys/kernel/iommu_groups/1")
    assert machine.iommu(root) == "passthrough"
    link(tmp_path, "sys/class/infiniband/mlx5_9/device/iommu_group", "sys/kernel/iommu_groups/0")
    assert machine.iommu(root) == "translated"


def test_a_soft_hca_without_a_group_does_not_decide(tmp_path: Path) -> None:
    root = groups(tmp_path, "identity")
    (tmp_path / "sys/class/infiniband/rxe0").mkdir(parents=True)
    assert machine.iommu(root) == "passthrough"


def test_no_groups_is_off_and_no_kernel_folder_is_unknown(tmp_path: Path) -> None:
    assert is_unknown(machine.iommu(str(tmp_path)))
    (tmp_path / "sys/kernel/iommu_groups").mkdir(parents=True)
    assert machine.iommu(str(tmp_path)) == "off"


@pytest.mark.parametrize(
    ("line", "mode"),
    [("quiet iommu=pt", "passthrough"), ("iommu.passthrough=1", "passthrough"), ("quiet", None), ("noiommu=pt", None)],
)
def test_groups_without_a_type_leave_the_command_line(tmp_path: Path, line: str, mode: str | None) -> None:
    (tmp_path / "sys/kernel/iommu_groups/0").mkdir(parents=True)
    write(tmp_path, {"proc/cmdline": line})
    found = machine.iommu(str(tmp_path))
    assert found == mode or (mode is None and is_unknown(found))


def test_a_group_of_another_kind_is_named(tmp_path: Path) -> None:
    found = machine.iommu(groups(tmp_path, "blocked", "identity"))
    assert found == {"unknown": "IOMMU groups of type blocked, identity"}


def test_only_watched_modules_are_named_in_order(tmp_path: Path) -> None:
    for name in ("nvidia_peermem", "ib_core", "snd", "rdma_rxe", "nvidia"):
        (tmp_path / "sys/module" / name).mkdir(parents=True)
    assert machine.modules(str(tmp_path)) == ["ib_core", "nvidia", "nvidia_peermem", "rdma_rxe"]
    assert is_unknown(attempt(lambda: machine.modules(f"{tmp_path}/gone")))
    assert list(machine.WATCHED) == sorted(set(machine.WATCHED))


@pytest.mark.parametrize(("text", "forwards"), [("0", False), ("1", True)])
def test_forwarding(tmp_path: Path, text: str, forwards: bool) -> None:
    write(tmp_path, {"proc/sys/net/ipv4/ip_forward": text})
    assert machine.ip_forward(str(tmp_path)) is forwards


def test_the_hotplug_handler_is_armed_by_its_marker(tmp_path: Path) -> None:
    root = str(spark(tmp_path))
    assert machine.hotplug_armed(root) is False
    write(tmp_path, {machine.HOTPLUG_MARK: ""})
    assert machine.hotplug_armed(root) is True


@pytest.mark.parametrize(("text", "armed"), [("1", True), ("0", False), ("enabled", True), ("disabled", False)])
def test_where_the_marker_is_hidden_the_platform_tells(tmp_path: Path, text: str, armed: bool) -> None:
    write(tmp_path, {machine.HOTPLUG_STATE: text})
    assert machine.hotplug_armed(str(tmp_path)) is armed


def test_a_switch_that_says_something_else_is_quoted(tmp_path: Path) -> None:
    write(tmp_path, {machine.HOTPLUG_STATE: "pending"})
    assert machine.hotplug_armed(str(tmp_path))["unknown"].endswith("says 'pending'")


@given(st.text(max_size=60).filter(lambda text: "\0" not in text and "/" not in text))
def test_any_uptime_is_a_number_or_a_reason(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root = tmp_path_factory.mktemp("uptime")
    (root / "proc").mkdir()
    (root / "proc/uptime").write_bytes(text.encode("utf-8", "replace"))
    found = attempt(lambda: machine.uptime(str(root)))
    assert is_unknown(found) or isinstance(found, float)


def test_uptime_in_seconds(tmp_path: Path) -> None:
    write(tmp_path, {"proc/uptime": "350735.47 234388.90"})
    assert machine.uptime(str(tmp_path)) == 350735.47


def test_the_first_network_namespace_is_told_by_a_setting_only_it_has(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert is_unknown(machine.host_network(root))
    write(tmp_path, {machine.EVERY_NAMESPACE: "4096"})
    assert machine.host_network(root) is False
    write(tmp_path, {machine.FIRST_NAMESPACE_ONLY: "64"})
    assert machine.host_network(root) is True


def test_a_namespace_of_our_own_is_not_the_first_one() -> None:
    """Against this machine's kernel: the answer turns when a process leaves for a network namespace of its own."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = b"can't"
            if unshared():
                answer = repr(machine.host_network("")).encode()
            os.write(write_end, answer)
        finally:
            os._exit(0)
    os.close(write_end)
    said = os.read(read_end, 100)
    os.close(read_end)
    os.waitpid(pid, 0)
    if said == b"can't":
        pytest.skip("this kernel gives this user no network namespace of its own")
    assert said == b"False"


def unshared() -> bool:
    """Whether this process could leave for new user and network namespaces."""
    import ctypes

    new_user, new_net = 0x10000000, 0x40000000
    return ctypes.CDLL(None, use_errno=True).unshare(new_user | new_net) == 0
