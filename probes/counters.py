"""Counters of RDMA ports and of their interfaces: sysfs `counters` and `hw_counters`, and ethtool's statistics.

Asked in a forked child: a counter can be a question to firmware, which hangs when the card is sick. Names are the
kernel's and the driver's own; of ethtool's only those about the wire, priorities, flow control, congestion, loss and
errors, never those of single rings. Read twice when watched. What a number means is judged elsewhere. Layouts:
include/uapi/linux/ethtool.h, include/uapi/linux/sockios.h.
"""

from __future__ import annotations

import array
import fcntl
import os
import re
import socket
import struct
import time
from typing import Any, NamedTuple

from .child import Say
from .facts import attempt, clean, listed, load, unknown

LIMIT_S = 5.0
KEY = "of "
SIOCETHTOOL = 0x8946
ETHTOOL_GSTRINGS, ETHTOOL_GSTATS, ETHTOOL_GSSET_INFO = 0x1B, 0x1D, 0x37
ETH_SS_STATS = 1
NAME_BYTES, INTERFACE_BYTES = 32, 16
MAX_STATISTICS = 65536
SPARE = 1024
MAX_NAMES = 2000
MAX_VALUE = 2**63 - 1
NO_COUNTER = {"lifespan"}  # hw_counters/lifespan is how long the kernel keeps what it read, in milliseconds
MATTERS = re.compile(
    r"phy|prio|pause|discard|ecn|cnp|roce|out_of|link_down|pci|crc|symbol|err|drop|storm", re.IGNORECASE
)
PER_RING = re.compile(
    r"^\[\d+\]|(?:^|[_ .-])(?:rx|tx|ch|q|rxq|txq|cq|rq|sq|queue|ring|channel|vector|xdp|xsk)[_-]?\d+(?:[_ .:-]|$)",
    re.IGNORECASE,
)


class Sample(NamedTuple):
    """One reading of a subject by one source: every value that matters, and how many names there are in all."""

    values: dict[str, int]
    names: int


Samples = dict[tuple[str, str], Sample]


def ask(say: Say, root: str, watch_s: float) -> None:
    """Say {"of DEVICE": [model.rdma.Counters]} for every HCA, so that a sick one costs only itself and those after it.

    Watched, say all again after `watch_s` seconds with deltas, and at last {"watched_s": seconds between them}: where
    a card hangs meanwhile it is not said, since what was read once did not stand still.
    """
    begun = time.monotonic()
    devices = listed(f"{root}/sys/class/infiniband")
    before = {device: _said(say, device, sample(root, device), {}) for device in devices}
    if watch_s > 0:
        time.sleep(max(0.0, begun + watch_s - time.monotonic()))
        watched_s = round(time.monotonic() - begun, 3)
        for device in devices:
            _said(say, device, sample(root, device), before[device])
        say({"watched_s": watched_s})


def _said(say: Say, device: str, now: Samples, before: Samples) -> Samples:
    say({KEY + device: report(now, before)})
    return now


def from_said(said: dict[str, Any], reason: str) -> Any:
    """The counters the child said, each subject and source once, or why there are none."""
    found = {(one["subject"], one["source"]): one for key in sorted(said) if key.startswith(KEY) for one in said[key]}
    return [found[key] for key in sorted(found)] if found or not reason else unknown(reason)


def sample(root: str, device: str) -> Samples:
    """One HCA's ports and interfaces now, by (subject, source); what can't be read is left out.

    With a `root` it is a recorded tree, and this machine's interfaces are not asked.
    """
    base = f"{root}/sys/class/infiniband/{device}"
    found: Samples = {}
    for number in listed(f"{base}/ports"):
        for source, folder in (("port", "counters"), ("hw", "hw_counters")):
            _keep(found, f"{device}/{number}", source, read_folder(f"{base}/ports/{number}/{folder}"))
    for netdev in [] if root else netdevs_of(root, base):
        _keep(found, netdev, "ethtool", attempt(lambda netdev=netdev: ethtool(netdev)))  # type: ignore[misc]
    return found


def _keep(found: Samples, subject: str, source: str, read: Any) -> None:
    if isinstance(read, Sample) and read.names:
        found[(subject, source)] = read


def netdevs_of(root: str, device: str) -> list[str]:
    """The interfaces of a device: its function's, a soft device's own, and all members of a bond they are part of."""
    parent = attempt(lambda: load(f"{device}/parent"))
    found = listed(f"{device}/device/net") or ([parent] if isinstance(parent, str) else [])
    for name in list(found):
        for bond in (f"{root}/sys/class/net/{name}", f"{root}/sys/class/net/{name}/master"):
            members = attempt(lambda bond=bond: load(f"{bond}/bonding/slaves").split())  # type: ignore[misc]
            found += members if isinstance(members, list) else []
    return list(dict.fromkeys(found))


def read_folder(folder: str) -> Sample:
    """Every counter of a sysfs folder; one that can't be read, or is no number of 63 bits, is left out."""
    names = [name for name in listed(folder)[:MAX_NAMES] if name not in NO_COUNTER]
    values = {}
    for name in names:
        value = attempt(lambda name=name: int(load(f"{folder}/{name}")))  # type: ignore[misc]
        if isinstance(value, int) and 0 <= value <= MAX_VALUE:
            values[name] = value
    return Sample(values, len(names))


def ethtool(netdev: str) -> Sample:
    """The statistics of an interface's driver that matter; raises OSError (EOPNOTSUPP where it has none)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as wire:
        asked = struct.pack("=IIQI", ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_STATS, 0)
        _command_number, _reserved, mask, count = struct.unpack("=IIQI", _command(wire, netdev, asked, 0))
        if not mask or not 0 < count <= MAX_STATISTICS:
            raise OSError(f"{count} statistics")
        room = 2 * count + SPARE
        names = _command(wire, netdev, struct.pack("=III", ETHTOOL_GSTRINGS, ETH_SS_STATS, count), NAME_BYTES * room)
        numbers = _command(wire, netdev, struct.pack("=II", ETHTOOL_GSTATS, count), 8 * room)
    if not struct.unpack_from("=8xI", names)[0] == struct.unpack_from("=4xI", numbers)[0] == count:
        raise OSError("the statistics changed while they were read")
    return chosen(names[12:], numbers[8:], count)


def _command(wire: socket.socket, netdev: str, command: bytes, room: int) -> bytes:
    """One SIOCETHTOOL request: struct ifreq with the name and a pointer to the command, which the driver fills.

    The kernel writes as many statistics as the driver has by then, however many were asked for (net/ethtool/ioctl.c):
    `room` bytes after the command hold twice what it had, and some.
    """
    buffer = array.array("B", command + bytes(room))
    address, _length = buffer.buffer_info()
    name = os.fsencode(netdev)[: INTERFACE_BYTES - 1]
    fcntl.ioctl(wire, SIOCETHTOOL, struct.pack(f"{INTERFACE_BYTES}sP16x", name, address))
    return buffer.tobytes()


def chosen(names: bytes, numbers: bytes, count: int) -> Sample:
    """The statistics that matter, from `count` names of 32 bytes and as many 64-bit numbers in host order."""
    values = {}
    for place, (number,) in zip(range(count), struct.iter_unpack("=Q", numbers), strict=False):
        name = clean(names[place * NAME_BYTES : (place + 1) * NAME_BYTES].split(b"\0", 1)[0].decode("utf-8", "replace"))
        name = name.strip()
        if name and number <= MAX_VALUE and MATTERS.search(name) and not PER_RING.search(name):
            values[name] = number
    return Sample(values, count)


def report(now: Samples, before: Samples) -> list[dict[str, Any]]:
    """model.rdma.Counters of every subject and source, zeros left out; `deltas` since `before`."""
    nothing = Sample({}, 0)
    return [
        {
            "subject": subject,
            "source": source,
            "values": {name: value for name, value in found.values.items() if value},
            "deltas": grown(before.get((subject, source), nothing).values, found.values),
            "names": found.names,
        }
        for (subject, source), found in sorted(now.items())
    ]


def grown(before: dict[str, int], now: dict[str, int]) -> dict[str, int]:
    """What each counter grew by, if it did; one read only once has no growth."""
    deltas = {name: growth(before[name], value) for name, value in now.items() if name in before}
    return {name: delta for name, delta in deltas.items() if delta}


def growth(before: int, now: int) -> int:
    """How much a counter grew: across the wrap of a 32-bit one, and from 0 for one that began anew."""
    if now >= before:
        return now - before
    wrapped = 2**31 <= before < 2**32 and now < 2**31
    return now + 2**32 - before if wrapped else now
