"""What the kernel and the firmware say of this machine: model, BIOS, governor, IOMMU, modules, namespaces.

Files of /sys and /proc only, each read on its own. What is good or bad is fabricdoc's to say.
"""

from __future__ import annotations

from typing import Any

from .facts import exists, listed, load, names, unknown

# Modules that decide how RDMA and GPUs meet; a built-in one counts where /sys/module shows it.
WATCHED = (
    "bnxt_re", "bonding", "efa", "gdrdrv", "ib_core", "ib_umad", "ib_uverbs", "ionic_rdma", "irdma", "mlx4_ib",
    "mlx5_core", "mlx5_ib", "nv_peer_mem", "nvidia", "nvidia_fs", "nvidia_peermem", "nvidia_uvm", "qedr", "rdma_cm",
    "rdma_rxe", "rdma_ucm", "siw",
)  # fmt: skip
NO_NAMES = frozenset({"", "none", "default string", "to be filled by o.e.m.", "system product name", "not specified"})
MAX_GROUPS = 1024
MAX_POLICIES = 2048
MAX_STATE = 40
HOTPLUG_MARK = "/etc/nvidia/cx7-hotplug-enabled"
HOTPLUG_STATE = "/sys/devices/platform/MTKP0001:00/pcie_hotplug/hotplug_enabled"
# net/core/sysctl_net_core.c registers this file for the first network namespace only
FIRST_NAMESPACE_ONLY = "/proc/sys/net/core/dev_weight"
EVERY_NAMESPACE = "/proc/sys/net/core/somaxconn"


def product(root: str) -> Any:
    """Maker and model as the firmware names them (DMI), without what makers leave unfilled."""
    folder = f"{root}/sys/class/dmi/id"
    maker, model = (_dmi(folder, name) for name in ("sys_vendor", "product_name"))
    if model.startswith(maker):
        maker = ""
    return f"{maker} {model}".strip() or unknown(f"{folder}: no model is named")


def bios(root: str) -> Any:
    """Version and date of the BIOS ("0105 04/02/2026")."""
    folder = f"{root}/sys/class/dmi/id"
    found = [_dmi(folder, name) for name in ("bios_version", "bios_date")]
    return " ".join(part for part in found if part) or unknown(f"{folder}: no BIOS is named")


def _dmi(folder: str, name: str) -> str:
    """One field, "" where it is absent, unreadable or a maker's filler."""
    try:
        text = " ".join(load(f"{folder}/{name}").split())
    except OSError:
        return ""
    return "" if text.lower() in NO_NAMES else text


def governor(root: str) -> Any:
    """The CPU frequency governors in use, sorted and joined by commas: one word on a machine of one mind."""
    base = f"{root}/sys/devices/system/cpu/cpufreq"
    policies = [name for name in listed(base) if name.startswith("policy")][:MAX_POLICIES]
    found = {load(f"{base}/{name}/scaling_governor") for name in policies}
    return ", ".join(sorted(found)) or unknown("no CPU frequency scaling here")


def iommu(root: str) -> Any:
    """off, passthrough or translated: how the HCAs' traffic passes the IOMMU, without an HCA how all devices' does.

    Types of groups: Documentation/ABI/testing/sysfs-kernel-iommu_groups (identity; DMA, DMA-FQ translate). With groups
    of both kinds the answer is translated, since some device's traffic is.
    """
    if not listed(f"{root}/sys/kernel/iommu_groups"):
        return unknown("/sys/kernel can't be listed") if not exists(f"{root}/sys/kernel") else "off"
    types = _group_types(root)
    if any(kind.startswith("DMA") for kind in types):
        return "translated"
    if types:
        return "passthrough" if types == {"identity"} else unknown(f"IOMMU groups of type {', '.join(sorted(types))}")
    return _from_command_line(load(f"{root}/proc/cmdline"))


def _group_types(root: str) -> set[str]:
    hcas = [f"{root}/sys/class/infiniband/{name}/device/iommu_group" for name in listed(f"{root}/sys/class/infiniband")]
    groups = [group for group in hcas if exists(group)]
    if not groups:
        base = f"{root}/sys/kernel/iommu_groups"
        groups = [f"{base}/{name}" for name in listed(base)[:MAX_GROUPS]]
    return {kind for group in groups if (kind := _type(group))}


def _type(group: str) -> str:
    try:
        return load(f"{group}/type")
    except OSError:
        return ""


def _from_command_line(text: str) -> Any:
    """What the kernel was told at boot, for kernels whose groups show no type (before 5.11)."""
    words = set(text.split())
    if words & {"iommu=pt", "iommu.passthrough=1"}:
        return "passthrough"
    return unknown("the IOMMU groups show no type, and the kernel's command line does not say")


def modules(root: str) -> list[str]:
    """The watched kernel modules that are there, loaded or built in; raises OSError."""
    there = set(names(f"{root}/sys/module"))
    return [name for name in WATCHED if name in there]


def ip_forward(root: str) -> bool:
    """Whether this network namespace forwards IPv4; raises OSError."""
    return load(f"{root}/proc/sys/net/ipv4/ip_forward") != "0"


def hotplug_armed(root: str) -> Any:
    """Whether DGX Spark's handler may power the ConnectX-7 off: its marker file, else the platform's own switch.

    From the package dgx-spark-mlnx-hotplug. A container may hide the marker, the switch it does not; other machines
    have neither. Raises OSError.
    """
    if exists(root + HOTPLUG_MARK):
        return True
    state = load(root + HOTPLUG_STATE).lower() if exists(root + HOTPLUG_STATE) else "0"
    known = {"1": True, "enabled": True, "y": True, "0": False, "disabled": False, "n": False}
    return known.get(state, unknown(f"{HOTPLUG_STATE} says {state[:MAX_STATE]!r}"))


def uptime(root: str) -> float:
    """Seconds since boot; raises OSError or ValueError."""
    return float((load(f"{root}/proc/uptime").split() or [""])[0])


def host_network(root: str) -> Any:
    """Whether this process is in the first network namespace, told by a setting that only that one has."""
    if exists(root + FIRST_NAMESPACE_ONLY):
        return True
    return False if exists(root + EVERY_NAMESPACE) else unknown("/proc/sys/net can't be read")
