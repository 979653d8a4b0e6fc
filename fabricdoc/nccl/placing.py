"""The variables that make one node use exactly the given ports, in each library's own grammar: the one home of them.

NCCL matches names by prefix unless the list begins with "=" (2.30.7, src/misc/utils.cc), so the exact form is written;
the list is a set, its order changes nothing. gloo takes exact names (torch ProcessGroupGloo), TensorPipe one name, UCX
DEVICE:PORT. Chooses no port: that is the cable map's and the measurement's matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")
"""Names that mean the same in NCCL's lists, in env files and in shells; NCCL keeps 63 characters of one."""


class NamedPort(Protocol):
    """A port by its interface's name and its HCA's, None where it has no RDMA device."""

    @property
    def netdev(self) -> str:
        """The interface."""

    @property
    def hca(self) -> str | None:
        """The HCA on it."""


def is_writable(port: NamedPort) -> bool:
    """Whether its names can stand in a list: no comma, colon, blank, quote, nothing a shell or a grammar reads."""
    return all(NAME.fullmatch(name) is not None for name in (port.netdev, port.hca) if name is not None)


def nccl_variables(ports: Sequence[NamedPort], socket_netdev: str = "") -> dict[str, str]:
    """What NCCL needs for these ports: RDMA where each has an HCA, else sockets over all of them.

    `socket_netdev` is the interface for bootstrap, the first port's where it is not given. NCCL_NET makes a silent
    fall-back to sockets an error. Raises ValueError for a port that is not writable, or none.
    """
    _check(ports)
    first = socket_netdev or ports[0].netdev
    if all(port.hca for port in ports):
        hcas = ",".join(port.hca for port in ports if port.hca)
        return {"NCCL_NET": "IB", "NCCL_IB_HCA": f"={hcas}", "NCCL_SOCKET_IFNAME": f"={first}"}
    return {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": f"={','.join(port.netdev for port in ports)}"}


def gloo_variables(ports: Sequence[NamedPort]) -> dict[str, str]:
    """What gloo needs for these ports. Raises ValueError as `nccl_variables`."""
    _check(ports)
    return {"GLOO_SOCKET_IFNAME": ",".join(port.netdev for port in ports)}


def server_variables(ports: Sequence[NamedPort], socket_netdev: str = "") -> dict[str, str]:
    """NCCL's variables and those of the libraries beside it in a server: gloo, TensorPipe, UCX.

    Their control connections take one interface, the one NCCL bootstraps over. Raises ValueError as `nccl_variables`.
    """
    first = socket_netdev or (ports[0].netdev if ports else "")
    devices = [f"{port.hca}:1" for port in ports if port.hca]
    return {
        **nccl_variables(ports, first),
        "GLOO_SOCKET_IFNAME": first,
        "TP_SOCKET_IFNAME": first,
        "UCX_NET_DEVICES": ",".join(devices if len(devices) == len(ports) else [first]),
    }


def _check(ports: Sequence[NamedPort]) -> None:
    if not ports:
        raise ValueError("no port is given")
    for port in ports:
        if not is_writable(port):
            raise ValueError(f"{port.netdev!r} or {port.hca!r} cannot be written into a list")
