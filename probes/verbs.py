"""What only libibverbs can say: that it loads, from where, and the active and the largest RDMA MTU of every port.

Runs in a forked child (a sick device can hang the open). Queries only: no queue pair, no memory, no traffic.
Layouts from infiniband/verbs.h: the first three ints of ibv_port_attr are state, max_mtu, active_mtu, in the
oldest ABI too.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from . import device_files
from .child import Say
from .facts import unknown

LIBRARY = "libibverbs.so.1"
NOT_LOADED = f"{LIBRARY} can't be loaded"
LIMIT_S = 3.0
MAX_PORTS = 8
ATTRIBUTES_SIZE = 512
MTU_BYTES = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}


def ask(say: Say, load: Any = ctypes.CDLL, root: str = "") -> None:
    """Say {"libibverbs": path} or {"absent": reason}, and {"access": ...} (see `device_files`), which needs no library.

    With a library then {"mtus": ..., "mtu_reason": text} (see `port_mtus`).
    """
    try:
        library = load(LIBRARY, use_errno=True)
    except OSError as error:
        say({"absent": f"{NOT_LOADED}: {error}"})
        say({"access": device_files.access(root)})
        return
    say({"libibverbs": mapped_path("libibverbs.so") or LIBRARY})
    say({"access": device_files.access(root)})
    mtus, reasons = port_mtus(library)
    say({"mtus": mtus, "mtu_reason": "; ".join(reasons)})


def library_fact(said: dict[str, Any], reason: str) -> Any:
    """The file libibverbs was loaded from, or why it was not."""
    return said.get("libibverbs") or unknown(said.get("absent") or reason or "it was not asked")


def access_fact(said: dict[str, Any], reason: str) -> Any:
    """Which device files can be opened, or why that was not tried."""
    return said["access"] if "access" in said else unknown(reason or "it was not asked")


def mapped_path(name: str, maps: str = "/proc/self/maps") -> str:
    """The file of a library this process has loaded; "" when the list can't be read."""
    try:
        with os.fdopen(os.open(maps, os.O_RDONLY), encoding="utf-8", errors="replace") as lines:
            found = [line.split(maxsplit=5)[5].strip() for line in lines if f"/{name}" in line]
    except OSError:
        return ""
    return found[0] if found else ""


def declare(library: Any) -> None:
    """Give the functions used their C types."""
    for name, result, arguments in (
        ("ibv_get_device_list", ctypes.c_void_p, [ctypes.POINTER(ctypes.c_int)]),
        ("ibv_free_device_list", None, [ctypes.c_void_p]),
        ("ibv_get_device_name", ctypes.c_char_p, [ctypes.c_void_p]),
        ("ibv_open_device", ctypes.c_void_p, [ctypes.c_void_p]),
        ("ibv_query_port", ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint8, ctypes.c_void_p]),
        ("ibv_close_device", ctypes.c_int, [ctypes.c_void_p]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def port_mtus(library: Any) -> tuple[dict[str, dict[str, int]], list[str]]:
    """{"device/port": {"active": bytes, "max": bytes}}, and a reason for each device that could not be asked."""
    declare(library)
    count = ctypes.c_int(0)
    listed = library.ibv_get_device_list(ctypes.byref(count))
    if not listed:
        return {}, [f"libibverbs lists no device: {os.strerror(ctypes.get_errno())}"]
    mtus: dict[str, dict[str, int]] = {}
    reasons: list[str] = []
    for device in (ctypes.c_void_p * count.value).from_address(listed):
        _ask_device(library, device, mtus, reasons)
    library.ibv_free_device_list(listed)
    return mtus, reasons


def _ask_device(library: Any, device: int | None, mtus: dict[str, dict[str, int]], reasons: list[str]) -> None:
    name = library.ibv_get_device_name(device).decode("utf-8", "replace")
    context = library.ibv_open_device(device)
    if not context:
        reasons.append(f"{name} can't be opened: {os.strerror(ctypes.get_errno())}")
        return
    for number in range(1, MAX_PORTS + 1):
        attributes = (ctypes.c_int * (ATTRIBUTES_SIZE // 4))()
        if library.ibv_query_port(context, number, ctypes.byref(attributes)) != 0:
            break
        told = {"active": MTU_BYTES.get(attributes[2]), "max": MTU_BYTES.get(attributes[1])}
        mtus[f"{name}/{number}"] = {which: size for which, size in told.items() if size is not None}
    library.ibv_close_device(context)
