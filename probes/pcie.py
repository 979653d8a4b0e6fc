"""PCIe functions of HCAs and NVIDIA GPUs, and every bridge above them, from /sys/bus/pci/devices.

Link speed and width, NUMA node, driver, AER totals and the chain of bridges come from sysfs files (kernel:
drivers/pci/pci-sysfs.c, drivers/pci/pcie/aer.c). From config space it takes a few words only, by offset: the first (all
ones: the device fell off the bus) and the ACS capability (include/uapi/linux/pci_regs.h), which the kernel shows to
root alone. A function that sleeps is not read there, since that would wake it. Whether a link is too slow is judged
elsewhere.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable
from typing import Any

from .facts import attempt, clean, exists, listed, load, read_int, read_text, unknown

PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
NVIDIA, MELLANOX = "0x10de", "0x15b3"
DISPLAY_CLASS, NETWORK_CLASS, INFINIBAND_CLASS = "0x03", "0x02", "0x0c06"
WIDTHS = {1, 2, 4, 8, 12, 16, 32}
AER = (("correctable", "COR"), ("nonfatal", "NONFATAL"), ("fatal", "FATAL"))
OF_PARENT = "a virtual function has no link of its own: see its physical function"
ROOT_ONLY = "the kernel shows config space beyond 64 bytes to root only"
NO_EXTENDED = "this function has no extended config space"
ASLEEP = "the function sleeps (runtime power management), and reading it would wake it"
USER_BYTES, EXTENDED_AT, EXTENDED_END = 64, 0x100, 4096
ACS_ID, ACS_CONTROL, ACS_REDIRECT = 0x0D, 6, 0x0004 | 0x0008
ALL_ONES = b"\xff\xff\xff\xff"
MOST_CAPABILITIES = (EXTENDED_END - EXTENDED_AT) // 8


def read_pcie(addresses: Iterable[str], root: str = "") -> list[dict[str, Any]]:
    """Functions at `addresses`, NVIDIA's GPUs and NICs, and every bridge above them, as model.pcie.PcieFunction.

    By address; a function that goes away while it is read is left out.
    """
    base = f"{root}/sys/bus/pci/devices"
    chains = {address: chain(base, address) for address in {*addresses, *on_bus(base)}}
    wanted = {address for above in chains.values() for address in above}.union(chains)
    found = [function(base, address, chains.get(address)) for address in sorted(wanted, key=in_order)]
    return [one for one in found if exists(f"{base}/{one['address']}")]


def in_order(address: str) -> tuple[int, str]:
    """Sorts addresses as lspci does; a domain above ffff has more digits."""
    domain, _colon, rest = address.partition(":")
    return int(domain, 16), rest


def on_bus(base: str) -> Iterable[str]:
    """NVIDIA's GPUs, and the NICs that can do RDMA whether or not a driver made an HCA of them; virtual ones not."""
    for address in listed(base):
        if PCI_ADDRESS.fullmatch(address) and _matters(f"{base}/{address}"):
            yield address


def _matters(device: str) -> bool:
    vendor = read_text(f"{device}/vendor")
    if vendor not in (NVIDIA, MELLANOX):
        return False
    kind = str(read_text(f"{device}/class"))
    if vendor == NVIDIA:
        return kind.startswith(DISPLAY_CLASS)
    return kind.startswith((NETWORK_CLASS, INFINIBAND_CLASS)) and not exists(f"{device}/physfn")


def chain(base: str, address: str) -> tuple[str, ...]:
    """The bridges above a function, from the root port down to its parent."""
    path = f"{base}/{address}"
    parts = (_link_text(path) or os.path.realpath(path)).split("/")  # a recorded tree may hold the folder itself
    return tuple(part for part in parts[:-1] if PCI_ADDRESS.fullmatch(part))


def _link_text(path: str) -> str:
    """What a symbolic link says; "" where there is none."""
    try:
        return clean(os.readlink(path))  # noqa: PTH115 - pathlib would take as long as all these reads
    except OSError:
        return ""


def linked(path: str) -> str | None:
    """The last part of what a symbolic link says, without a look at where it leads; None where there is none."""
    return _link_text(path).rpartition("/")[2] or None


def function(base: str, address: str, above: tuple[str, ...] | None = None) -> dict[str, Any]:
    """One function. A VF's link, AER and ACS are its physical function's; what sleeps is not woken for them."""
    device = f"{base}/{address}"
    physical = linked(f"{device}/physfn")
    asleep = attempt(lambda: load(f"{device}/power/runtime_status")) == "suspended"
    reason = OF_PARENT if physical else ASLEEP if asleep else ""
    acs, gone = (unknown(reason), False) if asleep else _config(device)
    return {
        "address": address,
        "vendor": read_text(f"{device}/vendor"),
        "device": read_text(f"{device}/device"),
        "pci_class": read_text(f"{device}/class"),
        "driver": linked(f"{device}/driver") or unknown("no driver is bound to it"),
        **(dict.fromkeys(LINK, unknown(reason)) if reason else _link(device)),
        "numa_node": read_int(f"{device}/numa_node"),
        "upstream": list(chain(base, address) if above is None else above),
        "physical_function": physical,
        "acs": unknown(reason) if reason else acs,
        "aer": {} if physical else _aer(device),
        "gone": gone,
    }


LINK = ("current_speed_gts", "max_speed_gts", "current_width", "max_width")


def _link(device: str) -> dict[str, Any]:
    """Speeds in GT/s and widths in lanes; a function without PCIe link files (a virtual bus) has none to read."""
    return {
        "current_speed_gts": attempt(lambda: speed(load(f"{device}/current_link_speed"))),
        "max_speed_gts": attempt(lambda: speed(load(f"{device}/max_link_speed"))),
        "current_width": attempt(lambda: width(load(f"{device}/current_link_width"))),
        "max_width": attempt(lambda: width(load(f"{device}/max_link_width"))),
    }


def speed(text: str) -> Any:
    """GT/s of "32.0 GT/s PCIe"; "Unknown" and 0 are what a link that is not trained, or no device, shows."""
    words = text.split()
    if len(words) >= 2 and words[1] == "GT/s" and 0 < float(words[0]) < 1000:
        return float(words[0])
    return unknown(f"the kernel shows {text[:40]!r}")


def width(text: str) -> Any:
    """Lanes; 0 is a link that is down, 63 and 255 are all ones: no device answered."""
    lanes = int(text)
    return lanes if lanes in WIDTHS else unknown(f"the kernel shows {lanes} lanes: no trained link")


def _aer(device: str) -> dict[str, int]:
    """Totals by severity since boot, of those that the function counts (those it has a file for)."""
    totals = {}
    for severity, word in AER:
        text = attempt(lambda severity=severity: load(f"{device}/aer_dev_{severity}"))  # type: ignore[misc]
        total = re.search(rf"^TOTAL_ERR_{word} (\d{{1,18}})$", text, re.MULTILINE) if isinstance(text, str) else None
        if total:
            totals[severity] = int(total[1])
    return totals


def _config(device: str) -> tuple[Any, bool]:
    """Whether ACS redirects, and whether config space reads all ones."""
    try:
        space = os.open(f"{device}/config", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return unknown(f"{device}/config: {error.strerror}"), False
    try:
        if os.pread(space, 4, 0) == ALL_ONES:
            return unknown("config space reads all ones: the device does not answer"), True
        return attempt(lambda: acs_redirects(space)), False
    except OSError as error:
        return unknown(f"{device}/config: {error.strerror}"), False
    finally:
        os.close(space)


def acs_redirects(space: int) -> Any:
    """Whether Request or Completion Redirect is on; no ACS capability redirects nothing. `space`: an open config."""
    size = os.fstat(space).st_size
    at = EXTENDED_AT
    for _ in range(MOST_CAPABILITIES):
        word = os.pread(space, 4, at)
        if len(word) < 4:
            return unknown(NO_EXTENDED if USER_BYTES < size <= EXTENDED_AT else ROOT_ONLY)
        (header,) = struct.unpack("<I", word)
        if header & 0xFFFF == ACS_ID:
            (control,) = struct.unpack("<H", os.pread(space, 2, at + ACS_CONTROL))
            return bool(control & ACS_REDIRECT)
        at = header >> 20 & 0xFFC
        if word in (bytes(4), ALL_ONES) or at < EXTENDED_AT:
            return False
    return unknown("the list of extended capabilities does not end")
