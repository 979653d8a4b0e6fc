"""Which platform a node is, and what is true of it (presets/platforms). Only GB10 is known; others have no entry.

No finding comes from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from fabricdoc.checks.limits import preset
from fabricdoc.checks.remembered import remembered
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Node, PcieFunction


class Gb10(NamedTuple):
    """GB10's truths: a cage's speed (Mbit/s), and its card's functions, their id ("15b3:1021") and PCIe link."""

    cage_mbps: int
    card: str
    functions: int
    speed_gts: float
    width: int


@cache
def gb10_data() -> Mapping[str, Any]:
    """presets/platforms/gb10.toml."""
    return preset("platforms", "gb10")


@cache
def gb10() -> Gb10:
    """The numbers of presets/platforms/gb10.toml."""
    card = gb10_data()["card"]
    speed = gb10_data()["cage"]["speed_mbps"]
    return Gb10(speed, card["pci_id"], card["functions"], card["speed_gts"], card["width"])


@remembered
def is_gb10(node: Node) -> bool:
    """Whether the node has a GB10: by its GPU's name, its PCI id, or the product's name, whichever is known."""
    match = gb10_data()["match"]
    gpus = () if isinstance(node.gpus, Unknown) else node.gpus
    names = [gpu.name for gpu in gpus if isinstance(gpu.name, str)]
    if names:
        return any(part in name for part in match["gpu_names"] for name in names)
    product = node.host.product
    if isinstance(product, str) and any(part in product for part in match["products"]):
        return True
    return any(pci_id(one) in match["pci_ids"] for one in functions_of(node))


def functions_of(node: Node) -> tuple[PcieFunction, ...]:
    """The PCI functions that were read; none where they are unknown."""
    return () if isinstance(node.pcie, Unknown) else node.pcie


@remembered
def functions_by_address(node: Node) -> dict[str, PcieFunction]:
    """The PCI functions by address."""
    return {one.address: one for one in functions_of(node)}


def pci_id(function: PcieFunction) -> str:
    """ "15b3:1021" of a function, "" where either half is unknown."""
    if isinstance(function.vendor, Unknown) or isinstance(function.device, Unknown):
        return ""
    return ":".join(half.lower().removeprefix("0x") for half in (function.vendor, function.device))
