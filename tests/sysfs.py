"""Recorded sysfs trees as small builders: a DGX Spark, an 8-rail server, a soft RoCE device, VFs, a RoCE LAG.

Names, PCI addresses and GUIDs are those of a Spark (one ConnectX-7, four functions, two cages; the second
cage empty). A file that answers EINVAL is a link to one of the kernel's that does: the speed of `lo`. They are files,
not a driver: reading them costs what files cost.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ZERO_GID = ":".join(["0000"] * 8)
EINVAL_FILE = "/sys/class/net/lo/speed"
SYS_IMAGE_GUID = "fc4c:ea03:00f9:4230"


@dataclass(frozen=True)
class Pci:
    """One PCI function: where it is, the bridges above it, what it is and how its link trained.

    `aer` are correctable, nonfatal and fatal totals, `acs` is the ACS control word (None: no capability), `config`
    is how many bytes of config space may be read (64 for a user).
    """

    address: str
    above: tuple[str, ...] = ()
    vendor: str = "0x15b3"
    device: str = "0x1021"
    pci_class: str = "0x020000"
    driver: str = "mlx5_core"
    speed: str = "32.0 GT/s PCIe"
    width: int = 4
    max_speed: str = "32.0 GT/s PCIe"
    max_width: int = 4
    numa: int = -1
    aer: tuple[int, int, int] = (0, 0, 0)
    acs: int | None = None
    config: int = 4096
    physfn: str | None = None

    @property
    def path(self) -> str:
        """Its folder below /sys/devices."""
        first = self.above[0] if self.above else self.address
        return "/".join(("sys/devices", f"pci{first[:-5]}", *self.above, self.address))


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
    above: tuple[str, ...] = ()
    physfn: str | None = None
    width: int = 4
    max_width: int = 4
    numa: int = -1

    @property
    def place(self) -> Pci:
        """The function on the PCI bus; without `above` it is right below its domain's root port."""
        return Pci(
            self.pci,
            self.above or (f"{self.pci.split(':')[0]}:00:00.0",),
            width=self.width,
            max_width=self.max_width,
            numa=self.numa,
            physfn=self.physfn,
        )


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
    targets = {root / path.lstrip("/"): text for path, text in files.items()}
    for folder in {target.parent for target in targets}:
        folder.mkdir(parents=True, exist_ok=True)
    for target, text in targets.items():
        target.write_text(text + "\n")


def link(root: Path, path: str, to: str) -> None:
    """A symbolic link at `path` to another path of the same tree."""
    source = root / path.lstrip("/")
    source.parent.mkdir(parents=True, exist_ok=True)
    source.symlink_to(root / to.lstrip("/"))


def pci(root: Path, one: Pci) -> Path:
    """One PCI function's files, its driver, and its entry in /sys/bus/pci/devices."""
    folder = root / one.path
    totals = zip(("correctable", "nonfatal", "fatal"), ("COR", "NONFATAL", "FATAL"), one.aer, strict=True)
    write(
        folder,
        {
            "vendor": one.vendor,
            "device": one.device,
            "class": one.pci_class,
            "current_link_speed": one.speed,
            "max_link_speed": one.max_speed,
            "current_link_width": str(one.width),
            "max_link_width": str(one.max_width),
            "numa_node": str(one.numa),
            "power/runtime_status": "active",
        }
        | {f"aer_dev_{name}": f"RxErr 0\nBadTLP {total}\nTOTAL_ERR_{word} {total}" for name, word, total in totals},
    )
    (folder / "config").write_bytes(config_space(one)[: one.config])
    if one.driver:
        (root / f"sys/bus/pci/drivers/{one.driver}").mkdir(parents=True, exist_ok=True)
        link(root, f"{one.path}/driver", f"sys/bus/pci/drivers/{one.driver}")
    if one.physfn:
        link(root, f"{one.path}/physfn", f"sys/bus/pci/devices/{one.physfn}")
    link(root, f"sys/bus/pci/devices/{one.address}", one.path)
    return folder


def config_space(one: Pci) -> bytes:
    """4096 bytes: the identity, then as extended capabilities AER (id 1) and, where there is one, ACS (id 13)."""
    space = bytearray(4096)
    struct.pack_into("<HH", space, 0, int(one.vendor, 16), int(one.device, 16))
    struct.pack_into("<I", space, 0x100, 1 | 2 << 16 | (0 if one.acs is None else 0x150) << 20)
    if one.acs is not None:
        struct.pack_into("<IHH", space, 0x150, 0x0D | 1 << 16, 0x5F, one.acs)
    return bytes(space)


def bridge(address: str, above: tuple[str, ...] = (), acs: int | None = None, width: int = 4) -> Pci:
    """A PCIe bridge: a root port, or a port of a switch."""
    return Pci(
        address, above, "0x1000", "0xc030", "0x060400", "pcieport", width=width, max_width=width, numa=-1, acs=acs
    )


def spark(root: Path, functions: Sequence[Function] = SPARK, slots: int = 16) -> Path:
    """A Spark's /sys below `root`: HCAs, ports, GID tables of `slots` entries, interfaces, PCIe, the GPU on the bus."""
    (root / "sys/class/infiniband").mkdir(parents=True)
    for address in sorted({above for one in functions for above in one.place.above} | {"000f:00:00.0"}):
        pci(root, bridge(address))
    for function in functions:
        hca(root, function, slots)
    pci(root, Pci("000f:01:00.0", ("000f:00:00.0",), "0x10de", "0x2e12", "0x030200", "nvidia", width=16, max_width=16))
    return root


def server(root: Path, rails: int = 8, slots: int = 256) -> Path:
    """An 8-rail server: one HCA and one GPU below each PCIe switch, GID tables with 8 slots filled.

    Those are v1 and v2 of the link-local address, of the IPv4 address, of an IPv6 address and of a VLAN's.
    """
    (root / "sys/class/infiniband").mkdir(parents=True)
    for rail in range(rails):
        bus, node = f"{0x10 * (rail + 1):02x}", rail * 2 // rails
        above = (f"0000:{bus}:01.0", f"0000:{bus[0]}1:00.0")
        pci(root, bridge(above[0], width=16))
        pci(root, bridge(above[1], above[:1], width=16))
        texts = [f"fe80:0000:0000:0000:0000:00ff:fe00:{rail:04x}", mapped(f"10.0.{rail}.1")]
        texts += [f"fd00:0000:0000:{rail:04x}:0000:0000:0000:0001", mapped(f"10.1.{rail}.1")]
        gids = tuple((text, kind) for text in texts for kind in ("IB/RoCE v1", "RoCE v2"))
        ports = [(*above, f"0000:{bus[0]}2:0{place}.0") for place in range(2)]
        for port in ports:
            pci(root, bridge(port[-1], port[:-1], acs=0, width=16))
        guid = f"b83f:d203:00aa:{rail:04x}"
        nic = Function(f"mlx5_{rail}", f"eth{rail}", f"0000:{bus[0]}3:00.0", guid, "p0", True, gids, ports[0])
        hca(root, replace(nic, width=16, max_width=16, numa=node), slots, sys_image_guid=guid)
        gpu = Pci(f"0000:{bus[0]}4:00.0", ports[1], "0x10de", "0x2330", "0x030200", "nvidia", numa=node)
        pci(root, replace(gpu, width=16, max_width=16))
    return root


def hca(root: Path, function: Function, slots: int = 16, sys_image_guid: str = SYS_IMAGE_GUID) -> str:
    """An HCA on its PCI function, with its interface, port, GID table and counters; returns the function's folder."""
    device = function.place.path
    pci(root, function.place)
    base = f"{device}/infiniband/{function.hca}"
    write(
        root,
        {
            f"{device}/net/{function.netdev}/dev_port": "0",
            f"{device}/net/{function.netdev}/phys_port_name": function.phys_port_name,
            f"{base}/fw_ver": "28.45.4028",
            f"{base}/node_guid": function.guid,
            f"{base}/sys_image_guid": sys_image_guid,
            f"{base}/board_id": "NVD0000000087",
            f"{base}/hca_type": "MT4129",
            f"{base}/ports/1/state": "4: ACTIVE" if function.active else "1: DOWN",
            f"{base}/ports/1/phys_state": "5: LinkUp" if function.active else "3: Disabled",
            f"{base}/ports/1/rate": "200 Gb/sec (2X NDR)" if function.active else "40 Gb/sec (4X QDR)",
            f"{base}/ports/1/link_layer": "Ethernet",
        },
    )
    counters(root / f"{base}/ports/1")
    link(root, f"{base}/device", device)
    link(root, f"{device}/net/{function.netdev}/device", device)
    link(root, f"sys/class/net/{function.netdev}", f"{device}/net/{function.netdev}")
    link(root, f"sys/class/infiniband/{function.hca}", base)
    gid_table(root / f"{base}/ports/1", function.gids, function.netdev, slots)
    return device


PORT_COUNTERS = (
    "VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery",
    "local_link_integrity_errors", "multicast_rcv_packets", "multicast_xmit_packets", "port_rcv_constraint_errors",
    "port_rcv_data", "port_rcv_errors", "port_rcv_packets", "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards",
    "port_xmit_packets", "port_xmit_wait", "symbol_error", "unicast_rcv_packets", "unicast_xmit_packets",
)  # fmt: skip
HW_COUNTERS = (
    "clear_counters", "duplicate_request", "implied_nak_seq_err", "lifespan", "local_ack_timeout_err",
    "np_cnp_sent", "np_ecn_marked_roce_packets", "out_of_buffer", "out_of_sequence", "packet_seq_err",
    "req_cqe_error", "req_cqe_flush_error", "req_remote_access_errors", "req_remote_invalid_request",
    "resp_cqe_error", "resp_cqe_flush_error", "resp_local_length_error", "resp_remote_access_errors",
    "rnr_nak_retry_err", "roce_adp_retrans", "roce_adp_retrans_to", "roce_slow_restart", "roce_slow_restart_cnps",
    "roce_slow_restart_trans", "rp_cnp_handled", "rp_cnp_ignored", "rx_atomic_requests", "rx_dct_connect",
    "rx_icrc_encapsulated", "rx_read_requests", "rx_write_requests",
)  # fmt: skip


def counters(port: Path, **values: int) -> None:
    """A port's counters by mlx5's names, all 0 but `values` and hw_counters/lifespan (10)."""
    for folder, names in (("counters", PORT_COUNTERS), ("hw_counters", HW_COUNTERS)):
        usual = {f"{folder}/{name}": "10" if name == "lifespan" else str(values.get(name, 0)) for name in names}
        write(port, usual)


def bond(root: Path, name: str, members: Sequence[str]) -> None:
    """A bond of interfaces that are there already; each member's `master` leads to it."""
    base = f"sys/devices/virtual/net/{name}"
    write(root, {f"{base}/bonding/slaves": " ".join(members)})
    link(root, f"sys/class/net/{name}", base)
    for member in members:
        ((root / f"sys/class/net/{member}").resolve() / "master").symlink_to(root / base)


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
