"""What the drivers say of their links: speed, duplex, autonegotiation, lanes, active FEC, pause.

Three dumps of ethtool's generic netlink answer for every interface at once. Where a dump is refused or cut short (a
kernel before 5.6, FEC before 5.13, a driver that fails in the middle), the interfaces that matter are asked one by
one through the older ioctl. Nothing is set, and nothing is judged. Layout: linux/ethtool_netlink.h.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import ethtool_ioctl, genl
from .facts import READ_ERRORS, unknown, why
from .netlink import NLA_F_NESTED, attribute, attributes, u8, u32

FAMILY = "ethtool"
LINKMODES_GET, PAUSE_GET, FEC_GET = 4, 21, 29
HEADER, DEV_INDEX, HEADER_FLAGS, COMPACT_BITSETS = 1, 1, 3, b"\1\0\0\0"
LINKMODES_AUTONEG, LINKMODES_SPEED, LINKMODES_DUPLEX, LINKMODES_LANES = 2, 5, 6, 9
PAUSE_RX, PAUSE_TX = 3, 4
FEC_ACTIVE = 4

SPEED_UNKNOWN = 0xFFFFFFFF
DUPLEXES = {0: "half", 1: "full"}
FECS = {49: "Off", 50: "RS", 51: "BaseR", 74: "LLRS"}
IOCTL_FECS = ((1 << 3, "RS"), (1 << 4, "BaseR"), (1 << 5, "LLRS"), (1 << 2, "Off"))
LINK_FIELDS = ("speed_mbps", "duplex", "autoneg", "lanes")
PAUSE_FIELDS = ("pause_rx", "pause_tx")
UNSUPPORTED = unknown("its driver does not tell (Operation not supported)")
NO_LANES = unknown("neither kernel nor driver tells")
NO_FEC = unknown("its driver names no active encoding (no link, or none in use)")
NOTHING = dict.fromkeys((*LINK_FIELDS, "fec", *PAUSE_FIELDS), UNSUPPORTED)

Attributes = Mapping[int, bytes]
Settings = dict[str, Any]


def read_settings(wanted: Mapping[int, str]) -> dict[int, Settings]:
    """Per interface index the facts of LINK_FIELDS, `fec` and PAUSE_FIELDS that its driver tells.

    `wanted` names the interfaces (by index) that are worth a question of their own when a dump fails. An interface
    that is not in the result has a driver that knows nothing of the kind.
    """
    try:
        number, refused = genl.family(FAMILY), ""
    except READ_ERRORS as error:
        number, refused = 0, why(error)
    settings: dict[int, Settings] = {}
    for command, parse, fallback, fields in (
        (LINKMODES_GET, link_settings, old_link_settings, LINK_FIELDS),
        (FEC_GET, fec, old_fec, ("fec",)),
        (PAUSE_GET, pause, old_pause, PAUSE_FIELDS),
    ):
        try:
            answered, cut = _dumped(number, command, parse) if number else ({}, refused)
            missing = {index: name for index, name in wanted.items() if cut and index not in answered}
            answered.update(_one_by_one(missing, fallback, fields, cut))
        except TimeoutError as error:
            _silent(settings, wanted, why(error))
            break
        for index, facts in answered.items():
            settings.setdefault(index, {}).update(facts)
    return settings


def _silent(settings: dict[int, Settings], wanted: Mapping[int, str], reason: str) -> None:
    """A driver that does not answer keeps everybody waiting: no more questions, and the reason where none was told."""
    for index in wanted:
        settings[index] = {**dict.fromkeys(NOTHING, unknown(reason)), **settings.get(index, {})}


def complete(settings: Settings | None) -> Settings:
    """All facts of an interface: those it has, and for the rest that its driver does not tell."""
    return {**NOTHING, **(settings or {})}


def _dumped(number: int, command: int, parse: Callable[[Attributes], Settings]) -> tuple[dict[int, Settings], str]:
    """What one dump says by interface, and why it is not whole ("" when it is); raises TimeoutError."""
    bodies: list[bytes] = []
    reason = ""
    request = attribute(NLA_F_NESTED | HEADER, attribute(HEADER_FLAGS, COMPACT_BITSETS))
    try:
        genl.dump_command(number, command, request, bodies)
    except TimeoutError:
        raise
    except READ_ERRORS as error:
        reason = why(error)
    found = {}
    for body in bodies:
        try:
            about = dict(attributes(body))
            found[u32(dict(attributes(about[HEADER]))[DEV_INDEX])] = parse(about)
        except READ_ERRORS as error:
            reason = why(error)
    return found, reason


def _one_by_one(
    missing: Mapping[int, str], read: Callable[[str], Settings], fields: tuple[str, ...], refused: str
) -> dict[int, Settings]:
    """The older way for each interface that matters; where it fails too, both reasons."""
    found = {}
    for index, name in missing.items():
        try:
            found[index] = read(name)
        except READ_ERRORS as error:
            found[index] = dict.fromkeys(fields, unknown(f"netlink: {refused}; ioctl: {why(error)}"))
    return found


def link_settings(about: Attributes) -> Settings:
    """LINK_FIELDS of one LINKMODES_GET_REPLY; speed in Mbit/s."""
    return {
        "speed_mbps": speed(u32(about[LINKMODES_SPEED])) if LINKMODES_SPEED in about else UNSUPPORTED,
        "duplex": duplex(u8(about[LINKMODES_DUPLEX])) if LINKMODES_DUPLEX in about else UNSUPPORTED,
        "autoneg": u8(about[LINKMODES_AUTONEG]) == 1 if LINKMODES_AUTONEG in about else UNSUPPORTED,
        "lanes": u32(about[LINKMODES_LANES]) if LINKMODES_LANES in about else NO_LANES,
    }


def speed(mbps: int) -> Any:
    """The speed as a fact; the kernel's word for not knowing is -1 (a port without link), some drivers say 0."""
    if mbps in (0, SPEED_UNKNOWN):
        return unknown(f"the kernel reports {-1 if mbps else 0}: not known, or no link")
    return mbps


def duplex(number: int) -> Any:
    """`full`, `half`, or why neither."""
    return DUPLEXES.get(number, unknown(f"the kernel reports {number}: not known, or no link"))


def fec(about: Attributes) -> Settings:
    """`fec` of one FEC_GET_REPLY: the bit number of a link mode (linux/ethtool.h) as ethtool's word."""
    if FEC_ACTIVE not in about:
        return {"fec": NO_FEC}
    number = u32(about[FEC_ACTIVE])
    return {"fec": FECS.get(number, unknown(f"link mode {number} is no encoding known here"))}


def pause(about: Attributes) -> Settings:
    """PAUSE_FIELDS of one PAUSE_GET_REPLY: whether global pause frames are obeyed and sent."""
    return {
        "pause_rx": u8(about[PAUSE_RX]) == 1 if PAUSE_RX in about else UNSUPPORTED,
        "pause_tx": u8(about[PAUSE_TX]) == 1 if PAUSE_TX in about else UNSUPPORTED,
    }


def old_link_settings(name: str) -> Settings:
    """LINK_FIELDS as the ioctl tells them; raises OSError."""
    mbps, number, autoneg = ethtool_ioctl.link_settings(name)
    return {
        "speed_mbps": speed(mbps),
        "duplex": duplex(number),
        "autoneg": autoneg == 1,
        "lanes": unknown("the ioctl does not tell"),
    }


def old_fec(name: str) -> Settings:
    """`fec` as the ioctl tells it; raises OSError."""
    active = ethtool_ioctl.active_fec(name)
    return {"fec": next((word for bit, word in IOCTL_FECS if active & bit), NO_FEC)}


def old_pause(name: str) -> Settings:
    """PAUSE_FIELDS as the ioctl tells them; raises OSError."""
    receive, send = ethtool_ioctl.pause(name)
    return {"pause_rx": receive != 0, "pause_tx": send != 0}
