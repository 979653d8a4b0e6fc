"""Recorded sysfs trees as small builders: a DGX Spark's four HCAs, and a soft RoCE device.

Names, PCI addresses and GUIDs are those of a Spark (one ConnectX-7, four functions, two cages; the second
cage empty). A file that answers EINVAL is a link to one of the kernel's that does: the speed of `lo`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ZERO_GID = ":".join(["0000"] * 8)
EINVAL_FILE = "/sys/class/net/lo/speed"
SYS_IMAGE_GUID = "fc4c:ea03:00f9:4230"


@dataclass(frozen=True)
class Function:
    """One PCIe function of a NIC: its HCA, its interface, and the GIDs on it as (text, type)."""

    hca: str
    netdev: str
    pci: str
    guid: str
    phys_port_name: str
    active: bool = True
    gids: tuple[tuple[str, str], ...] = ()


def mapped(ip: str) -> str:
    """The GID of an IPv4 address, written as the kernel writes it."""
    a, b, c, d = (int(part) for part in ip.split("."))
    return f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"


def usual_gids(ip: str | None, tail: str = "0001") -> tuple[tuple[str, str], ...]:
    """The usual order on mlx5: v1 and v2 of the link-local address, then of the IPv4 address."""
    local = f"fe80:0000:0000:0000:4e4e:eaff:fe00:{tail}"
    texts = [local, mapped(ip)] if ip else [local]
    return tuple((text, kind) for text in texts for kind in ("IB/RoCE v1", "RoCE v2"))


SPARK = (
    Function(
        "rocep1s0f0", "enp1s0f0np0", "0000:01:00.0", "fc4c:ea03:00f9:4230", "p0", True, usual_gids("192.168.100.1")
    ),
    Function("rocep1s0f1", "enp1s0f1np1", "0000:01:00.1", "fc4c:ea03:00f9:4231", "p1", False, usual_gids(None, "0002")),
    Function(
        "roceP2p1s0f0", "enP2p1s0f0np0", "0002:01:00.0", "fc4c:ea03:00f9:4234", "p0", True, usual_gids("192.168.101.1")
    ),
    Function(
        "roceP2p1s0f1", "enP2p1s0f1np1", "0002:01:00.1", "fc4c:ea03:00f9:4235", "p1", False, usual_gids(None, "0004")
    ),
)


def write(root: Path, files: Mapping[str, str]) -> None:
    """Files by path below `root`, each with a closing newline as sysfs has it."""
    for path, text in files.items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")


def link(root: Path, path: str, to: str) -> None:
    """A symbolic link at `path` to another path of the same tree."""
    source = root / path.lstrip("/")
    source.parent.mkdir(parents=True, exist_ok=True)
    source.symlink_to(root / to.lstrip("/"))


def spark(root: Path, functions: Sequence[Function] = SPARK, slots: int = 16) -> Path:
    """A Spark's /sys below `root`: HCAs, ports, GID tables of `slots` entries, interfaces, the GPU on the bus."""
    (root / "sys/class/infiniband").mkdir(parents=True)
    (root / "sys/bus/pci/drivers/mlx5_core").mkdir(parents=True)
    for function in functions:
        _function(root, function, slots)
    write(
        root,
        {
            "sys/bus/pci/devices/000f:01:00.0/vendor": "0x10de",
            "sys/bus/pci/devices/000f:01:00.0/class": "0x030200",
            "sys/bus/pci/devices/0000:01:00.0/vendor": "0x15b3",
            "sys/bus/pci/devices/0000:01:00.0/class": "0x020000",
        },
    )
    return root


def _function(root: Path, function: Function, slots: int) -> None:
    segment = function.pci.split(":")[0]
    device = f"sys/devices/pci{segment}:00/{segment}:00:00.0/{function.pci}"
    base = f"{device}/infiniband/{function.hca}"
    write(
        root,
        {
            f"{device}/net/{function.netdev}/dev_port": "0",
            f"{device}/net/{function.netdev}/phys_port_name": function.phys_port_name,
            f"{base}/fw_ver": "28.45.4028",
            f"{base}/node_guid": function.guid,
            f"{base}/sys_image_guid": SYS_IMAGE_GUID,
            f"{base}/board_id": "NVD0000000087",
            f"{base}/ports/1/state": "4: ACTIVE" if function.active else "1: DOWN",
            f"{base}/ports/1/phys_state": "5: LinkUp" if function.active else "3: Disabled",
            f"{base}/ports/1/rate": "200 Gb/sec (2X NDR)" if function.active else "40 Gb/sec (4X QDR)",
            f"{base}/ports/1/link_layer": "Ethernet",
        },
    )
    link(root, f"{device}/driver", "sys/bus/pci/drivers/mlx5_core")
    link(root, f"{base}/device", device)
    link(root, f"sys/class/infiniband/{function.hca}", base)
    gid_table(root / f"{base}/ports/1", function.gids, function.netdev, slots)


def gid_table(port: Path, gids: Sequence[tuple[str, str]], netdev: str, slots: int) -> None:
    """A port's table: the filled slots first, the rest all zero. Empty slots have no attributes to read."""
    for folder in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
        (port / folder).mkdir(parents=True)
    for index, (gid, kind) in enumerate(gids):
        write(port, {f"gids/{index}": gid, f"gid_attrs/types/{index}": kind, f"gid_attrs/ndevs/{index}": netdev})
    if slots > len(gids):
        empty = port / f"gids/{slots - 1}"
        empty.write_text(ZERO_GID + "\n")
        for index in range(len(gids), slots - 1):
            (port / f"gids/{index}").hardlink_to(empty)


def rxe(root: Path, name: str = "rocep1s0f0", netdev: str = "ens1f0np0", slots: int = 1024) -> Path:
    """A soft RoCE device: no PCI device, no board id, v2 GIDs only, 1024 slots, its interface in `parent`."""
    base = f"sys/devices/virtual/infiniband/{name}"
    write(
        root,
        {
            f"{base}/fw_ver": "",
            f"{base}/node_guid": "5054:00ff:fe00:0101",
            f"{base}/sys_image_guid": "5054:00ff:fe00:0101",
            f"{base}/parent": netdev,
            f"{base}/ports/1/state": "4: ACTIVE",
            f"{base}/ports/1/phys_state": "5: LinkUp",
            f"{base}/ports/1/rate": "25 Gb/sec (1X EDR)",
            f"{base}/ports/1/link_layer": "Ethernet",
        },
    )
    gids = (("fe80:0000:0000:0000:5054:00ff:fe00:0101", "RoCE v2"), (mapped("192.168.11.1"), "RoCE v2"))
    gid_table(root / f"{base}/ports/1", gids, netdev, slots)
    link(root, f"sys/class/infiniband/{name}", base)
    return root
