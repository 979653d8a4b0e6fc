"""Typed events: what the groups of an `Event` mean, as small frozen records with numbers where they are numbers.

`record_of(event)` gives the record of an event that has one. What a line does not say is None or "". Judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from fabricdoc.nccl.codes import status_name, syndrome_name
from fabricdoc.nccl.events import event_table
from fabricdoc.nccl.reader import Event
from fabricdoc.nccl.records import (
    CallFailure,
    Channel,
    ChoiceMade,
    Completion,
    Device,
    DeviceList,
    Graph,
    OutOfBand,
    Plugin,
    QueuePairFailure,
    RankSeen,
    Timeout,
    Typed,
    VariableRead,
    VersionSeen,
    Warned,
)
from fabricdoc.nccl.speakers import speaker

Groups = Mapping[str, str]
MOST_DEVICES = 256
_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)
OLD_ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
OLD_PROTOCOLS = ("LL", "LL128", "SIMPLE")


def record_of(event: Event) -> Typed | None:
    """The record of an event, None for events that need none. Never raises on any line."""
    build = _builders().get(event.name)
    return build(event.groups, event) if build else None


def number(text: str | None) -> int | None:
    """A whole number of at most 18 digits, else None."""
    return int(text) if text and _NUMBER.fullmatch(text) else None


def _count(groups: Groups, name: str) -> int:
    return number(groups.get(name)) or 0


def _float(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _version(groups: Groups, _event: Event) -> Typed:
    return VersionSeen(groups["ver"], groups.get("suffix", ""), groups.get("cuda", ""))


def _tests(groups: Groups, _event: Event) -> Typed | None:
    code = number(groups.get("library"))
    return VersionSeen(f"{code // 10000}.{code // 100 % 100}.{code % 100}") if code and code >= 20000 else None


def _variable(groups: Groups, event: Event) -> Typed:
    fixed = {"env.ifname": "NCCL_SOCKET_IFNAME", "env.hca": "NCCL_IB_HCA"}.get(event.name)
    how = {
        "env.config": "communicator",
        "env.plugin": "plugin",
        "env.ifname": "filter",
        "env.hca": "filter",
        "env.set": "filter",
    }
    name = groups.get("name") or groups.get("field") or fixed or ""
    return VariableRead(name, groups.get("value", ""), how.get(event.name, "environment"))


def _devices(groups: Groups, _event: Event) -> Typed:
    parts = event_table().parts("ib.dev", groups["devs"])[:MOST_DEVICES]
    devices = tuple(
        Device(
            _count(part, "i"),
            part["name"],
            _count(part, "port"),
            part["link"],
            number(part.get("rail")),
            number(part.get("plane")),
        )
        for part in parts
    )
    return DeviceList(devices, "ro" in groups, groups["if"], groups["addr"])


def _bootstrap(groups: Groups, _event: Event) -> Typed:
    return OutOfBand(groups["if"], groups["addr"], _count(groups, "port"))


def _plugin(groups: Groups, event: Event) -> Typed:
    kind = (groups.get("kind") or groups.get("t") or "").upper()
    return Plugin(
        kind, groups.get("name") or groups.get("path") or "", "none" if event.name == "plugin.none" else "loaded"
    )


def _graph(groups: Groups, _event: Event) -> Typed:
    intra, inter = _float(groups.get("intra")), _float(groups.get("inter"))
    return Graph(_count(groups, "p"), _count(groups, "n"), intra, inter, groups["ti"], groups.get("te", ""))


def _network_channel(groups: Groups, _event: Event) -> Typed:
    flags = groups.get("flags", "")
    return Channel(
        number=_count(groups, "c"),
        source=_count(groups, "src"),
        target=_count(groups, "dst"),
        transport="NET",
        network=groups["net"],
        device=number(groups["dev"]),
        direction=groups["dir"],
        connection=_count(groups, "conn"),
        gpu_direct="/GDRDMA" in flags,
        flags=flags,
    )


def _local_channel(groups: Groups, event: Event) -> Typed:
    transport = "SHM" if event.name == "chan.shm" or "kind" not in groups else "P2P"
    return Channel(
        number=_count(groups, "c"),
        source=_count(groups, "src"),
        target=_count(groups, "dst"),
        transport=transport,
        connection=_count(groups, "conn"),
        flags=groups.get("kind") or groups.get("send") or groups.get("old", ""),
    )


def _choice(groups: Groups, _event: Event) -> Typed | None:
    if "hi" not in groups:
        return None
    low, high = _count(groups, "lo"), _count(groups, "hi")
    return ChoiceMade(groups["func"], _count(groups, "bytes"), groups["algo"], groups["proto"], high - low + 1)


def _old_choice(groups: Groups, _event: Event) -> Typed | None:
    algorithm, protocol = _count(groups, "algo"), _count(groups, "proto")
    if algorithm >= len(OLD_ALGORITHMS) or protocol >= len(OLD_PROTOCOLS):
        return None
    names = OLD_ALGORITHMS[algorithm], OLD_PROTOCOLS[protocol]
    return ChoiceMade(groups.get("func", ""), _count(groups, "bytes"), *names, None)


def _completion(groups: Groups, _event: Event) -> Typed:
    status, syndrome = _count(groups, "status"), _count(groups, "vend")
    return Completion(
        status=status,
        status_name=groups.get("sname") or status_name(status),
        syndrome=syndrome,
        syndrome_name=syndrome_name(syndrome),
        peer=groups.get("peer", ""),
        opcode=number(groups.get("op")),
        queue_pair=number(groups.get("qpn")),
        request=groups.get("req", ""),
        hca=groups.get("hca", ""),
        local_gid=groups.get("lgid", ""),
        remote_gid=groups.get("rgid", ""),
    )


def _queue_pair(groups: Groups, _event: Event) -> Typed:
    first, _, rest = groups["err"].partition(" ")
    errno = number(first)
    return QueuePairFailure(
        errno=errno,
        text=rest if errno is not None else groups["err"],
        device=groups["dev"],
        port=_count(groups, "port"),
        states=(groups["cur"], groups["next"]),
        gid_index=_count(groups, "gidx"),
        local_gid=groups["lgid"],
        remote_gid=groups["rgid"],
        retrying="retry" in groups,
    )


def _call(groups: Groups, _event: Event) -> Typed:
    return CallFailure(groups.get("call", ""), groups.get("err") or groups.get("what", ""), number(groups.get("errno")))


def _warned(groups: Groups, event: Event) -> Typed:
    said = speaker(event.head)
    return Warned(said.place if said else "", groups.get("func", ""), groups.get("msg", event.message))


def _watchdog(groups: Groups, _event: Event) -> Typed:
    limit, ran = number(groups.get("limit")), number(groups.get("ran"))
    return Timeout(f"rank {groups['rank']}", groups["op"], number(groups["seq"]), limit, ran)


def _ras(groups: Groups, _event: Event) -> Typed:
    return Timeout(groups.get("peer") or groups.get("what", ""))


def _rank(groups: Groups, _event: Event) -> Typed:
    return RankSeen(
        groups["comm"], _count(groups, "rank"), _count(groups, "n"), groups.get("state", ""), _count(groups, "nodes")
    )


@cache
def _builders() -> Mapping[str, Callable[[Groups, Event], Typed | None]]:
    return {
        "version": _version,
        "version.engine": _version,
        "version.plain": _version,
        "tests.version": _tests,
        **dict.fromkeys(
            ("env.int", "env.str", "env.ifname", "env.hca", "env.config", "env.plugin", "env.set"), _variable
        ),
        "ib.using": _devices,
        "boot.if": _bootstrap,
        "plugin.none": _plugin,
        "plugin.loaded": _plugin,
        "topo.graph": _graph,
        "chan.net": _network_channel,
        "chan.net.old": _network_channel,
        **dict.fromkeys(("chan.p2p", "chan.shm", "chan.local.old"), _local_channel),
        "tune.op": _choice,
        "tune.op.old": _old_choice,
        **dict.fromkeys(("err.cqe.name", "err.cqe.num", "err.cqe.old"), _completion),
        "err.modify_qp": _queue_pair,
        "err.ibv": _call,
        "err.call": _call,
        "prefix.warn": _warned,
        "torch.watchdog": _watchdog,
        "ras.dead": _ras,
        "ras.timeout": _ras,
        "comm.shape": _rank,
        "comm.init": _rank,
    }
