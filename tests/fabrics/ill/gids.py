"""Findings of GID tables: where the GID that NCCL needs stands, on one port, one node, and at both ends."""

from __future__ import annotations

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Gid
from tests.fabrics.altering import set_facts, without
from tests.fabrics.ill import Alter, Ill, both, gid_table
from tests.fabrics.others import container_node
from tests.fabrics.parts import gid_text
from tests.fabrics.spark import spark_one_cable

A, B, HCA, TWIN = "spark-a", "spark-b", "rocep1s0f0", "roceP2p1s0f0"
Table = tuple[Gid, ...]


def first_two(table: Table) -> Table:
    """The fe80 slots alone."""
    return table[:2]


def without_v1(table: Table) -> Table:
    """The fe80 slots and the RoCE v2 GID of the IPv4 address."""
    return (*table[:2], table[3])


def moved(node: str, to: int, *, keep: bool = False) -> Alter:
    """The IPv4 RoCE v2 GID at another index (too, with `keep`)."""
    return gid_table(node, HCA, lambda table: (*table[: 4 if keep else 3], set_facts(table[3], {"index": to})))


def second(ip: str, first: str = "", netdev: str = "") -> Alter:
    """A second IPv4 address's v2 GID at index 5, on `netdev`; `first` takes the place of the one at index 3."""

    def alter(table: Table) -> Table:
        old = table[3]
        three = set_facts(old, {"ipv4": first, "gid": gid_text(first)}) if first else old
        more = {"index": 5, "ipv4": ip, "gid": gid_text(ip), "netdev": netdev or old.netdev}
        return (*table[:3], three, set_facts(old, more))

    return gid_table(A, HCA, alter)


def refused(why: str) -> Alter:
    return gid_table("container", HCA, lambda table: (set_facts(table[0], {"type": Unknown(unknown=why)}), *table[1:]))


ILL = {
    "gid-auto-selected-link-local": Ill(spark_one_cable, gid_table(A, HCA, first_two), gid_table(A, HCA, without_v1)),
    "gid-missing-at-one-end": Ill(
        spark_one_cable, gid_table(A, HCA, first_two), both(*(gid_table(node, HCA, first_two) for node in (A, B)))
    ),
    "gid-choice-zeroconf": Ill(
        spark_one_cable, second("192.168.100.10", first="169.254.10.10"), second("169.254.10.10")
    ),
    "gid-choice-among-vlans": Ill(
        spark_one_cable, second("10.5.0.1", netdev="enp1s0f0np0.100"), second("10.5.0.1", netdev="enp1s0f0np0")
    ),
    "gid-index-differs-between-nodes": Ill(spark_one_cable, moved(B, 5), moved(B, 5, keep=True)),
    "gid-index-differs-between-hcas": Ill(lambda: without(spark_one_cable(), B), moved(A, 5), moved(A, 5, keep=True)),
    "gid-scan-einval-container": Ill(
        lambda: container_node(host_network=True, device_files=True), refused("EINVAL"), refused("not asked")
    ),
}
