"""For every finding that a scan can decide: a recorded fabric that has it, and the one that nearly has it.

    from tests.fabrics.ill.every import ILL
    ILL["mtu-mismatch"].has(), ILL["mtu-mismatch"].nearly()

Both are made from one healthy base, so what sets them apart is the fact that decides. Each family's module holds a
dict `ILL` of them by id; the helpers here change facts of a whole fabric.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric, Gid, Library, Netdev, Node
from tests.fabrics.altering import Part, changed, followed, set_facts

Base = Callable[[], Fabric]
Alter = Callable[[Fabric], Fabric]
NOT_READ = Unknown(unknown="not read")


def same(fabric: Fabric) -> Fabric:
    """The base as it is."""
    return fabric


@cache
def made(base: Base) -> Fabric:
    """A base, made once: fabrics are frozen, and the same few are the ground of all pairs."""
    return base()


class Ill(NamedTuple):
    """A base, what gives it the fault, and what nearly does."""

    base: Base
    fault: Alter
    almost: Alter = same

    def has(self) -> Fabric:
        return self.fault(made(self.base))

    def nearly(self) -> Fabric:
        return self.almost(made(self.base))


def put(node: str, part: Part, of: str | int = "*", **facts: Any) -> Alter:
    """These facts on a part of a node (see `altering.changed`)."""
    return lambda fabric: changed(fabric, node, part, of, **facts)


def both(*alters: Alter) -> Alter:
    """One after the other."""

    def together(fabric: Fabric) -> Fabric:
        for alter in alters:
            fabric = alter(fabric)
        return fabric

    return together


def on(name: str, alter: Callable[[Node], Node]) -> Alter:
    """A change of one node ("*": of each) by a function; what follows from its facts is told anew."""

    def varied(fabric: Fabric) -> Fabric:
        wanted = [one.name for one in fabric.nodes if name in ("*", one.name)]
        assert wanted, name
        nodes = tuple(followed(alter(one), {}) if one.name in wanted else one for one in fabric.nodes)
        return fabric.model_copy(update={"nodes": nodes})

    return varied


def env(name: str, **variables: str) -> Alter:
    """NCCL's and other variables of a node ("*": of all)."""
    return put(name, "host", environment=variables)


def host(name: str, **facts: Any) -> Alter:
    """Facts of a node's host."""
    return put(name, "host", **facts)


def without_links(fabric: Fabric) -> Fabric:
    """Nobody asked what the ports lead to."""
    return fabric.model_copy(update={"links": Unknown(unknown="not asked")})


def addresses(*texts: str) -> tuple[Address, ...]:
    """IPv4 addresses from IP/PREFIX."""
    parts = (text.partition("/") for text in texts)
    return tuple(Address(ip=ip, prefix=int(prefix), family="ipv4") for ip, _slash, prefix in parts)


def gids_of(fabric: Fabric, node: str, hca: str) -> tuple[Gid, ...]:
    """The table of an HCA's port."""
    (found,) = [one for one in fabric.nodes if one.name == node]
    assert isinstance(found.hcas, tuple)
    (table,) = [one.ports[0].gids for one in found.hcas if one.name == hca]
    assert isinstance(table, tuple)
    return table


def gid_table(node: str, hca: str, alter: Callable[[tuple[Gid, ...]], tuple[Gid, ...]]) -> Alter:
    """The GID table of one HCA, made by a function of what it was."""
    return lambda fabric: changed(fabric, node, "port", hca, gids=alter(gids_of(fabric, node, hca)))


def more_netdevs(node: str, *netdevs: Netdev) -> Alter:
    """Further interfaces on a node."""

    def more(one: Node) -> Node:
        assert isinstance(one.netdevs, tuple)
        return set_facts(one, {"netdevs": (*one.netdevs, *netdevs)})

    return on(node, more)


def nccl(version: str | Unknown, *, sha: str = "5a", path: str = "/usr/lib/libnccl.so.2") -> tuple[Library, ...]:
    """One libnccl."""
    return (Library(path=path, version=version, sha256=sha * 32),)
