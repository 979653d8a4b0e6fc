"""RDMA devices and ports as the kernel's RDMA netlink (nldev) tells them: a second source beside sysfs.

It works where sysfs is hidden (a container without /sys/class/infiniband) and names the interface of devices that
sysfs ties to none (soft devices, RoCE LAG). It only asks for what any user may read, and holds no GID: nldev has no
attribute for one. Numbers from include/uapi/rdma/rdma_netlink.h, the words of states from
drivers/infiniband/core/sysfs.c; what each message holds from drivers/infiniband/core/nldev.c.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from .facts import unknown
from .netlink import attributes, dump, string, u32

NETLINK_RDMA = 20
CMD_GET, CMD_PORT_GET = 5 << 10 | 1, 5 << 10 | 5  # of the client RDMA_NL_NLDEV (5)
DEV_INDEX, DEV_NAME, PORT_INDEX, FW_VERSION, NODE_GUID, SYS_IMAGE_GUID = 1, 2, 3, 5, 6, 7
PORT_STATE, PORT_PHYS_STATE, NDEV_NAME, DEV_PROTOCOL = 12, 13, 51, 67
ATTRIBUTE_U32 = struct.Struct("=HHI")
U64 = struct.Struct("=Q")
STATES = {1: "DOWN", 2: "INIT", 3: "ARMED", 4: "ACTIVE", 5: "ACTIVE_DEFER"}
PHYS_STATES = {
    1: "Sleep", 2: "Polling", 3: "Disabled", 4: "PortConfigurationTraining", 5: "LinkUp", 6: "LinkErrorRecovery",
    7: "Phy Test",
}  # fmt: skip
SILENT = "the kernel's RDMA netlink does not say"


class Port(NamedTuple):
    """A port: its number, the states in sysfs' words, and its interface ("" for none in this network namespace)."""

    number: int
    state: str
    phys_state: str
    netdev: str


class Device(NamedTuple):
    """A device: nldev's number and name, firmware and GUIDs ("" where there is none), `protocol` (roce, ib, iw)."""

    number: int
    name: str
    firmware: str
    node_guid: str
    sys_image_guid: str
    protocol: str


def read_devices() -> list[Device]:
    """Every device of this network namespace by name; raises OSError (EPROTONOSUPPORT: a kernel without RDMA)."""
    return sorted((device(body) for body in dump(CMD_GET, b"", NETLINK_RDMA)), key=lambda one: one.name)


def read_ports(number: int) -> list[Port]:
    """The ports of a device; raises OSError (EINVAL where the device is gone)."""
    asked = ATTRIBUTE_U32.pack(ATTRIBUTE_U32.size, DEV_INDEX, number)
    return [port(body) for body in dump(CMD_PORT_GET, asked, NETLINK_RDMA)]


def device(body: bytes) -> Device:
    """One answer to CMD_GET; raises ValueError, LookupError or struct.error for one that is none."""
    found = dict(attributes(body))
    return Device(
        number=u32(found[DEV_INDEX]),
        name=string(found[DEV_NAME]),
        firmware=string(found.get(FW_VERSION, b"")),
        node_guid=guid(found.get(NODE_GUID)),
        sys_image_guid=guid(found.get(SYS_IMAGE_GUID)),
        protocol=string(found.get(DEV_PROTOCOL, b"")),
    )


def port(body: bytes) -> Port:
    """One answer to CMD_PORT_GET; raises as `device`. States of a number without a word are ""."""
    found = dict(attributes(body))
    return Port(
        number=u32(found[PORT_INDEX]),
        state=STATES.get(_u8(found.get(PORT_STATE)), ""),
        phys_state=PHYS_STATES.get(_u8(found.get(PORT_PHYS_STATE)), ""),
        netdev=string(found.get(NDEV_NAME, b"")),
    )


def _u8(value: bytes | None) -> int:
    return value[0] if value else -1


def guid(value: bytes | None) -> str:
    """A GUID as sysfs writes it (fc4c:ea03:00f9:4230); the attribute is a number in host order."""
    if value is None:
        return ""
    text = f"{U64.unpack_from(value)[0]:016x}"
    return ":".join(text[place : place + 4] for place in range(0, 16, 4))


def hca(found: Device, ports: list[Port]) -> dict[str, Any]:
    """A device that sysfs does not show, as model.rdma.Hca: what nldev does not tell is unknown."""
    missing = unknown("sysfs does not show this device, and RDMA netlink does not say")
    return {
        "name": found.name,
        "driver": missing,
        "firmware": found.firmware or unknown(SILENT),
        "node_guid": found.node_guid or unknown(SILENT),
        "sys_image_guid": found.sys_image_guid or unknown(SILENT),
        "board_id": missing,
        "pci": missing,
        "hca_type": missing,
        "physical_function": None,
        "bond": None,
        "ports": [_hca_port(one, found.protocol, missing) for one in ports],
    }


def _hca_port(one: Port, protocol: str, missing: Any) -> dict[str, Any]:
    layers = {"roce": "Ethernet", "iw": "Ethernet", "ib": "InfiniBand"}
    return {
        "number": one.number,
        "state": one.state or unknown(SILENT),
        "phys_state": one.phys_state or unknown(SILENT),
        "rate_gbps": missing,
        "link_layer": layers.get(protocol) or unknown(SILENT),
        "active_mtu": missing,
        "max_mtu": missing,
        "netdev": one.netdev or unknown(SILENT),
        "gids": missing,
        "gid_slots": missing,
    }
