"""The order in which NCCL numbers a node's HCAs, and what it pairs by those numbers.

Since 2.29.7 NCCL sorts its devices by PCI address (NCCL_IB_DEVICE_PCI_ORDER=1; transport/net_ib/init.cc), before that
it kept the order in which verbs lists them. It connects the k-th device of one node to the k-th of the other; a list in
NCCL_IB_HCA is a set, its order changes nothing. Reads no log and no environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabricdoc.model.fabric import Hca


def in_device_order(hcas: Iterable[Hca]) -> list[Hca]:
    """HCAs as NCCL 2.29.7 and later number them: by PCI address where all are known, else in the order given."""
    listed = list(hcas)
    if all(isinstance(hca.pci, str) for hca in listed):
        listed.sort(key=lambda hca: str(hca.pci))
    return listed


def fused(hcas: Sequence[Hca]) -> list[tuple[Hca, ...]]:
    """Devices as NCCL 2.24 and later fuse them by default (NCCL_NET_MERGE_LEVEL=PORT): functions of one PCI slot.

    In device order. On a DGX Spark that joins the two cages of one PCIe link, never the twins of a cage.
    """
    groups: dict[str, list[Hca]] = {}
    for hca in in_device_order(hcas):
        slot = hca.pci.rpartition(".")[0] if isinstance(hca.pci, str) else hca.name
        groups.setdefault(slot, []).append(hca)
    return [tuple(group) for group in groups.values()]
