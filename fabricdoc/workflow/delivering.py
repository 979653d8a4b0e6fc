"""verify-env's job: look at the serving processes of every node and into NCCL's logs, and hold them against the preset.

Reads only. What an outcome means is `fabricdoc.export.judge_delivery`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from fabricdoc.errors import UsageError
from fabricdoc.export import judge_delivery, this_node
from fabricdoc.fabric import at_most
from fabricdoc.model.delivery import Arrival, Delivery
from fabricdoc.model.documents import Unknown
from fabricdoc.model.preset import Preset
from fabricdoc.nccl import LogFile, LogReader, speaker
from fabricdoc.transport import Answer, NodeSpec, ask
from fabricdoc.workflow.meant import nodes_of, this_hostname

Kind = Literal["pid", "container", "log"]
DEADLINE_S = 20.0
MAX_PID = 1 << 22
MOST_RANKS = 1024
MOST_VARIABLES = 512
_FIXED = {"env.ifname": "NCCL_SOCKET_IFNAME", "env.hca": "NCCL_IB_HCA"}
_READ = ("env.int", "env.str", *_FIXED)
"""The lines in which NCCL says with which value it read a variable, wherever that came from."""


@dataclass(frozen=True)
class Where:
    """Where to look: a value for the node of each name; "" stands for the one that was given without a name."""

    kind: Kind
    values: Mapping[str, str]


def read_where(kind: Kind, words: Sequence[str]) -> Where:
    """`4711`, or `alpha=12,beta=34`, as --current takes them; for a log also `NODE=FILE`. Raises UsageError."""
    found: dict[str, str] = {}
    for part in (one for word in words for one in ([word] if kind == "log" else word.split(","))):
        node, sign, value = part.partition("=")
        if not sign or (kind == "log" and Path(part).exists()):
            node, value = "", part
        if kind == "pid" and not (value.isascii() and value.isdecimal() and 0 < int(value[:9]) <= MAX_PID):
            raise UsageError(f"--pid {part[:80]!r} is no process number", fix="--pid 4711, or --pid NODE=4711,NODE=12")
        if not value or node in found:
            raise UsageError(
                f"--{kind} {part[:80]!r}: each node is named once, with its {kind}", fix=f"--{kind} NODE=...,NODE=..."
            )
        found[node] = value
    return Where(kind, found)


def check_delivery(
    preset: Preset,
    wheres: Sequence[Where],
    specs: Sequence[NodeSpec],
    progress: Callable[[str], None],
    only: str | None = None,
    python: str = "",
) -> Delivery:
    """The delivery of a preset by what its nodes' processes and logs show.

    `specs` replace the preset's own nodes; `only` narrows it to one of them. Of a node without a process named, those
    that have NCCL loaded are looked at. Raises UsageError for a node that is not of the preset.
    """
    names = [node.name for node in preset.nodes]
    _refuse_strange(preset, wheres)
    logs = [where for where in wheres if where.kind == "log"]
    asked = [where for where in wheres if where.kind != "log"]
    arrivals = list(_of_logs(preset, logs, only))
    unseen: dict[str, str] = {}
    if asked:
        nodes = [replace(spec, python=python) if python else spec for spec in (specs or nodes_of(preset))]
        nodes = [spec for spec in nodes if spec.name in names and only in (None, spec.name)]
        progress(f"looking at the processes of {len(nodes)} node{'s' if len(nodes) != 1 else ''}")
        seen, unseen, _ = _of_nodes(preset, nodes, asked)
        arrivals = _joined(seen, arrivals)
    wanted = preset if only is None else preset.model_copy(update={"nodes": _one(preset, only)})
    return judge_delivery(wanted, arrivals, unseen)


def look_at_servers(
    preset: Preset, wheres: Sequence[Where], nodes: Sequence[NodeSpec], progress: Callable[[str], None]
) -> tuple[Delivery, dict[str, frozenset[int]]]:
    """Delivery to the servers that run already, and all processes of each by node: their GPUs and ports are their own.

    UsageError for a node that is not of the preset.
    """
    _refuse_strange(preset, wheres)
    progress(f"looking at the processes of {len(nodes)} node{'s' if len(nodes) != 1 else ''}")
    seen, unseen, families = _of_nodes(preset, nodes, wheres)
    return judge_delivery(preset, seen, unseen), families


def _one(preset: Preset, only: str) -> tuple[Any, ...]:
    return tuple(node for node in preset.nodes if node.name == only)


def _refuse_strange(preset: Preset, wheres: Sequence[Where]) -> None:
    names = [node.name for node in preset.nodes]
    for where in wheres:
        for node in where.values:
            if node and node not in names:
                raise UsageError(
                    f"--{where.kind} names {node!r}, which is no node of preset {preset.name}",
                    fix=f"nodes: {', '.join(names)}",
                    id="no-such-node",
                )


def _of_nodes(
    preset: Preset, nodes: Sequence[NodeSpec], wheres: Sequence[Where]
) -> tuple[list[Arrival], dict[str, str], dict[str, frozenset[int]]]:
    """The serving processes of each node, why of a node there are none, and the numbers of all that was looked at."""
    arrivals: list[Arrival] = []
    unseen: dict[str, str] = {}
    families: dict[str, frozenset[int]] = {}
    for answer in _answers(nodes, [_request(preset, spec, wheres, nodes) for spec in nodes]):
        name = answer.node.name
        if answer.error is not None:
            unseen[name] = answer.error.message
            continue
        found, reason = _processes(name, answer.message or {})
        arrivals += found
        families[name] = _family(answer.message or {})
        if not found:
            unseen[name] = reason or "no process was seen"
    return arrivals, unseen, families


def _family(message: Mapping[str, Any]) -> frozenset[int]:
    """The numbers of the processes in a probe's answer, which is not trusted."""
    told = message.get("processes")
    rows = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    return frozenset(one["pid"] for one in rows if isinstance(one.get("pid"), int))


def _answers(nodes: Sequence[NodeSpec], requests: Sequence[dict[str, Any]]) -> Iterator[Answer]:
    """Nodes with the same request are asked together."""
    waiting = list(zip(nodes, requests, strict=True))
    while waiting:
        request = waiting[0][1]
        together = [node for node, other in waiting if other == request]
        waiting = [(node, other) for node, other in waiting if other != request]
        yield from ask(together, "delivered", request, deadline_s=at_most(DEADLINE_S))


def _request(preset: Preset, spec: NodeSpec, wheres: Sequence[Where], nodes: Sequence[NodeSpec]) -> dict[str, Any]:
    """What is looked at on a node: its process or container; where none is named, what has NCCL loaded."""
    names = sorted({line.name for node in preset.nodes for line in node.lines})
    pids = [int(value) for where in wheres if where.kind == "pid" for value in _values(where, spec, preset, nodes)]
    boxes = [value for where in wheres if where.kind == "container" for value in _values(where, spec, preset, nodes)]
    return {
        "do": "look",
        "pids": pids,
        "container": boxes[0] if boxes else None,
        "find": not pids and not boxes,
        "names": names,
    }


def _values(where: Where, spec: NodeSpec, preset: Preset, nodes: Sequence[NodeSpec]) -> list[str]:
    """A node's own value; else the one without a name: a container's on every node, a process number here."""
    if spec.name in where.values:
        return [where.values[spec.name]]
    if "" not in where.values or (where.kind == "pid" and spec.name != _here(preset, nodes)):
        return []
    return [where.values[""]]


def _here(preset: Preset, nodes: Sequence[NodeSpec]) -> str:
    """The node a plain process number is of: the only one, or this machine. UsageError where that can't be told."""
    if len(nodes) == 1:
        return nodes[0].name
    local = [spec.name for spec in nodes if spec.target == "local"]
    if len(local) == 1:
        return local[0]
    found = this_node(preset, this_hostname())
    if found is None:
        example = ",".join(f"{spec.name}=PID" for spec in nodes)
        raise UsageError("which node's process that is can't be told", fix=f"--pid {example}", id="node-needed")
    return found.name


def _processes(node: str, message: Mapping[str, Any]) -> tuple[list[Arrival], str]:
    """The processes that serve: those with NCCL loaded; where none has it yet, those without children."""
    try:
        found = [(_arrival(node, one), int(one["parent"])) for one in message.get("processes", [])]
    except (ValidationError, KeyError, TypeError, ValueError) as error:
        return [], f"the probe's answer can't be read ({type(error).__name__})"
    loaded = [arrival for arrival, _ in found if isinstance(arrival.library, str)]
    parents = {parent for _, parent in found}
    leaves = [arrival for arrival, _ in found if arrival.pid not in parents]
    return loaded or leaves, str(message.get("unread", ""))


def _arrival(node: str, one: Mapping[str, Any]) -> Arrival:
    name = one["name"] if isinstance(one["name"], str) else ""
    fields = {key: one[key] for key in ("pid", "library", "environ", "files")}
    return Arrival.model_validate({"node": node, "name": name, "source": f"/proc/{one['pid']}/environ", **fields})


def _of_logs(preset: Preset, wheres: Sequence[Where], only: str | None) -> Iterator[Arrival]:
    """One arrival per process a log tells of; its node by NODE=FILE, else by the host in the line."""
    for where in wheres:
        for node, file in where.values.items():
            for host, pid, echoed in _ranks(Path(file)):
                name = node or _node_of(preset, host)
                if only in (None, name):
                    source = Path(file).name
                    yield Arrival(node=name, pid=pid, name=host, source=source, echoed=echoed)


def _ranks(file: Path) -> list[tuple[str, int | None, dict[str, str]]]:
    """(host, pid, variables as read) of every process in the log; one without a name where no line names one."""
    found: dict[tuple[str, int | None], dict[str, str]] = {}
    for event in LogReader(LogFile(file)):
        who = speaker(event.head)
        key = (who.host, who.pid) if who is not None else ("", None)
        name = _FIXED.get(event.name) or event.groups.get("name", "")
        if key not in found and (key[1] is None or len(found) >= MOST_RANKS):
            continue
        mine = found.setdefault(key, {})
        if event.name in _READ and name and len(mine) < MOST_VARIABLES:
            mine[name] = event.groups.get("value", "")
    return [(host, pid, echoed) for (host, pid), echoed in found.items()] or [("", None, {})]


def _node_of(preset: Preset, host: str) -> str:
    """The preset's only node, or that whose recorded hostname (or name) the log's host is; "" where none is."""
    named = [
        one.name for one in preset.fingerprint.nodes if not isinstance(one.hostname, Unknown) and one.hostname == host
    ]
    if len(preset.nodes) == 1:
        return preset.nodes[0].name
    named = named or [node.name for node in preset.nodes if node.name == host]
    return named[0] if len(named) == 1 else ""


def _joined(seen: Sequence[Arrival], logged: Sequence[Arrival]) -> list[Arrival]:
    """A process and what its log tells as one; process numbers in a log may be a container's, so they need not meet."""
    told = {(one.node, one.pid): one for one in logged}
    joined = []
    for arrival in seen:
        log = told.pop((arrival.node, arrival.pid), None)
        if log is None:
            joined.append(arrival)
        else:
            source = f"{arrival.source}, {log.source}"
            joined.append(arrival.model_copy(update={"echoed": log.echoed, "source": source}))
    return joined + list(told.values())
