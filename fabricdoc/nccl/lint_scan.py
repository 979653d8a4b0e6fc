"""Settings held against a scan: names that take nothing or too much, pinned GIDs, RDMA switched off, isolated rails.

The grammar is `selectors`' and `interfaces`', the one that scan uses. A file is for the node that it is named after (by
its name or folder, or by what the user says), else for all nodes. What the scan does not know is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fabricdoc.errors import UsageError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint import Entry, winners
from fabricdoc.nccl.lint_gids import pinned
from fabricdoc.nccl.lint_rails import crossing
from fabricdoc.nccl.lint_selectors import hca_names, interface_names, merged_names, switched_off
from fabricdoc.nccl.lint_settings import Remark, remark_on
from fabricdoc.nccl.lint_units import Unit
from fabricdoc.nccl.values import ANY, Nccl
from fabricdoc.nccl.versions import parse_release

SHOWN = 8
Values = Mapping[str, str]
Judge = Callable[[Values, Node], Iterator[Complaint]]
_OF_ONE_NODE: Sequence[Judge] = (hca_names, interface_names, merged_names, switched_off)


class Meant(NamedTuple):
    """A process's files, what it gets of them, and the nodes it is for."""

    unit: Unit
    entries: Mapping[str, Entry]
    nodes: tuple[Node, ...]

    @property
    def values(self) -> dict[str, str]:
        """The variables as NCCL gets them."""
        return {name: entry.setting.value for name, entry in self.entries.items()}


def judge_scan(units: Sequence[Unit], fabric: Fabric, node: str = "", nccl: Nccl = ANY) -> tuple[Remark, ...]:
    """What is wrong with these settings on the nodes of a scan. UsageError for a node that the scan does not hold."""
    meant = [Meant(unit, winners(unit.layers), nodes_for(unit, fabric, node)) for unit in units]
    remarks = [remark for one in meant for remark in _alone(one)]
    pairs = [(one.nodes, one.values) for one in meant]
    for number, complaint in pinned(pairs, nccl.release):
        remarks.append(_remark(meant[number], complaint))
    for one in meant:
        remarks += [_remark(one, complaint) for complaint in crossing(one.values, one.nodes, fabric)]
    return tuple(remarks)


def _remark(meant: Meant, complaint: Complaint) -> Remark:
    entry = meant.entries[complaint.name]
    others = (meant.entries[name] for name in complaint.others if name in meant.entries)
    also = tuple(one.setting.place(one.file) for one in others)
    return remark_on(entry.setting, complaint, entry.file, also)


def _alone(meant: Meant) -> Iterator[Remark]:
    """What each node by itself shows; the same thing on several nodes is told once."""
    where: dict[Complaint, list[str]] = {}
    for node in meant.nodes:
        for judge in _OF_ONE_NODE:
            for complaint in judge(meant.values, node):
                where.setdefault(complaint, []).append(node.name)
    for complaint, names in where.items():
        told = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
        entry = meant.entries[complaint.name]
        fix = complaint.fix if len(names) == len(meant.nodes) else f"on {told}: {complaint.fix}"
        yield remark_on(
            entry.setting, replace(complaint, message=f"on {told}: {complaint.message}", fix=fix), entry.file
        )


def nodes_for(unit: Unit, fabric: Fabric, node: str = "") -> tuple[Node, ...]:
    """The scan's nodes that a process's files are for: one that is named, one they are called after, or all."""
    known = {one.name: one for one in fabric.nodes}
    named = next((source.node for source in unit.layers if source.node), node)
    if named:
        if named not in known:
            raise UsageError(
                f"the scan holds no node {named!r}", fix=f"it holds {', '.join(list(known)[:SHOWN]) or 'none'}"
            )
        return (known[named],)
    for source in unit.layers:
        for word in _words(source.file):
            if word in known:
                return (known[word],)
    return fabric.nodes


def _words(file: str) -> Iterator[str]:
    """The words of a path by which a file may be called after its node: its name, parts of it, its folders."""
    *folders, base = file.split("/")
    stem = base
    while stem:
        yield stem
        cut = max(stem.rfind(sign) for sign in ".-_")
        stem = stem[:cut] if cut > 0 else ""
    yield from reversed(folders)


def nccl_of(fabric: Fabric) -> Nccl:
    """The release that all nodes of a scan have (in the server's image where that was read); any where they differ."""
    versions = {version for node in fabric.nodes if (version := _version(node))}
    release = parse_release(next(iter(versions))) if len(versions) == 1 else None
    return Nccl(release, None, f"NCCL {next(iter(versions))} of the scan") if release else ANY


def _version(node: Node) -> str:
    inside = () if isinstance(node.image, Unknown) else node.image.libnccl
    for libraries in (inside, node.host.libnccl):
        for library in () if isinstance(libraries, Unknown) else libraries:
            return library.version if isinstance(library.version, str) else ""
    return ""
