"""Generic netlink: the number of a family by its name, and its dumps. What the messages mean is the callers'.

Layout: linux/genetlink.h. Only requests to read are sent.
"""

from __future__ import annotations

import errno
import struct

from .netlink import NETLINK_GENERIC, ask, attribute, attributes, dump, u16

GENL_ID_CTRL = 0x10
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2
VERSION = 1

COMMAND = struct.Struct("=BBxx")


def family(name: str) -> int:
    """The message type of a family; raises OSError (ENOENT where this kernel has no such family)."""
    request = COMMAND.pack(CTRL_CMD_GETFAMILY, VERSION) + attribute(CTRL_ATTR_FAMILY_NAME, name.encode() + b"\0")
    try:
        bodies = ask(GENL_ID_CTRL, request, NETLINK_GENERIC)
    except FileNotFoundError as error:
        raise OSError(errno.ENOENT, f"this kernel has no generic netlink family {name} (ENOENT)") from error
    found = dict(attributes(bodies[0], COMMAND.size))
    return u16(found[CTRL_ATTR_FAMILY_ID])


def dump_command(kind: int, command: int, request: bytes, found: list[bytes]) -> None:
    """Fill `found` with the attributes of each answer to a dump of `command`; errors as `netlink.dump`."""
    bodies: list[bytes] = []
    try:
        dump(kind, COMMAND.pack(command, VERSION) + request, NETLINK_GENERIC, bodies)
    finally:
        found += [body[COMMAND.size :] for body in bodies]
