"""Whether a process here may open the device files of RDMA, one by one.

A file may be there and yet closed: by its mode (EACCES), by the device cgroup of a container or a unit (EPERM), or by
the network namespace where RDMA devices are bound to one (EPERM). Only an open says so; reading the mode does not.

The open is for reading and writing, as libibverbs' own is (rdma-core libibverbs/device.c: O_RDWR | O_CLOEXEC), since a
cgroup may allow reading alone; it is closed at once and nothing is sent. It is harmless: ib_uverbs_open (kernel
drivers/infiniband/core/uverbs_main.c) checks the namespace and allocates a file context, ib_uverbs_close frees it; a
device context, and with it anything in the HCA, begins only with a command written to the file (GET_CONTEXT). It may
wait for a lock that an unplugged device holds, so it is asked in a child.
"""

from __future__ import annotations

import errno
import os
import re

from .facts import listed

FOLDER = "/dev/infiniband"
UVERBS = re.compile(r"uverbs\d{1,9}")
MOST = 256
OK = "ok"


def access(root: str = "") -> list[dict[str, str]]:
    """model.host.DeviceFile of each uverbs file; none without files."""
    found = [name for name in listed(f"{root}{FOLDER}") if UVERBS.fullmatch(name)]
    return [{"name": name, "access": opened(f"{root}{FOLDER}/{name}")} for name in found[:MOST]]


def opened(path: str) -> str:
    """ "ok" where the file can be opened for reading and writing, else the error's name."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, f"errno {error.errno}")
    return OK
