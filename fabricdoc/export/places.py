"""Where a node's server listens and speaks: the interface, HCAs and address that the preset's own lines name.

What the libraries beside NCCL in a server need follows from NCCL's lines; a variable the preset holds is never made
again. Addresses are the fingerprint's. What can't be told is left out, and said.
"""

from __future__ import annotations

import ipaddress

from fabricdoc.export.content import print_of
from fabricdoc.model.preset import NodePreset, Preset

Pair = tuple[str, str]


def value_of(node: NodePreset, name: str) -> str:
    """The node's value of a variable, or ""."""
    return next((line.value for line in node.lines if line.name == name), "")


def names_in(value: str) -> tuple[str, ...]:
    """The names a selector lists exactly (`=a,b:1`), without `=`; none where it excludes or may match more."""
    if not value.startswith("=") or value.startswith("=^"):
        return ()
    return tuple(part for part in value[1:].split(",") if part)


def interface(node: NodePreset) -> str:
    """The interface of NCCL's bootstrap, the first of NCCL_SOCKET_IFNAME; "" where the preset names none exactly."""
    value = value_of(node, "NCCL_SOCKET_IFNAME")
    names = names_in(value) or names_in(f"={value_of(node, 'GLOO_SOCKET_IFNAME')}")
    return names[0] if names else ""


def address(preset: Preset, node: NodePreset) -> str:
    """The IPv4 address of that interface (else IPv6), as the fingerprint has it; "" where it has none."""
    printed, wanted = print_of(preset, node), interface(node)
    found = [port for port in printed.ports if port.netdev == wanted] if printed is not None else []
    addresses = [one for port in found for text in port.addresses if (one := _address(text)) is not None]
    addresses.sort(key=lambda one: (one.version, one.is_link_local))
    return str(addresses[0]) if addresses else ""


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.partition("/")[0])
    except ValueError:
        return None


def beside(node: NodePreset) -> list[Pair]:
    """GLOO_SOCKET_IFNAME, TP_SOCKET_IFNAME and UCX_NET_DEVICES for the same ports, those the preset does not hold.

    gloo and TensorPipe take exact names, UCX DEVICE:PORT; none knows NCCL's `=` (torch ProcessGroupGloo, UCX).
    """
    netdev = interface(node)
    hcas = names_in(value_of(node, "NCCL_IB_HCA"))
    devices = ",".join(hca if ":" in hca else f"{hca}:1" for hca in hcas)
    made = [("GLOO_SOCKET_IFNAME", netdev), ("TP_SOCKET_IFNAME", netdev), ("UCX_NET_DEVICES", devices)]
    return [(name, value) for name, value in made if value and not value_of(node, name)]
