"""One module for each tool whose output is read: which lines are its own, and the facts on them.

`FORMATS` is all of them; where two could begin with the same line, the first one has it.
"""

from __future__ import annotations

from fabricdoc.dumps.formats import (
    ethtool,
    ibdev2netdev,
    ibstat,
    ibv_devinfo,
    ip,
    ip_route,
    limits,
    lsmod,
    lspci,
    mlnx_qos,
    nvidia_smi,
    rdma,
    show_gids,
    sysctl,
    sysfs,
    system,
    topo,
)
from fabricdoc.dumps.formats.base import Format, Line

__all__ = ["FORMATS", "Format", "Line"]

FORMATS: tuple[Format, ...] = (
    ibv_devinfo.FORMAT,
    ibdev2netdev.FORMAT,
    show_gids.FORMAT,
    rdma.FORMAT,
    ip.FORMAT,
    ip_route.FORMAT,
    ethtool.FORMAT,
    mlnx_qos.FORMAT,
    lspci.FORMAT,
    topo.FORMAT,
    nvidia_smi.FORMAT,
    ibstat.FORMAT,
    *system.FORMATS,
    sysfs.FORMAT,
    sysctl.FORMAT,
    limits.FORMAT,
    lsmod.FORMAT,
)
