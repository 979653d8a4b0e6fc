"""What a quick gate looks at, within its deadline: nodes, images (from memory), cables, ports, GPU users, variables.

Starts no container, changes nothing. What is found is judged by `fabricdoc.gate`. What is only needed once the nodes
have answered is loaded while they look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from glob import escape
from typing import TYPE_CHECKING

from fabricdoc.errors import UsageError
from fabricdoc.fabric import SharedScan, one_python, scan, with_images, within
from fabricdoc.gate import Floors
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.gate import Gate
from fabricdoc.transport import DEFAULT_PYTHON, NodeSpec
from fabricdoc.workflow.gate_job import Variables, delivery_of, ports_of, stand_in, variables_of
from fabricdoc.workflow.gate_time import to_wait
from fabricdoc.workflow.meant import nodes_of
from fabricdoc.workflow.readiness import gpu_users, named_users

if TYPE_CHECKING:
    from fabricdoc.gate import Contrary, Looked, Users
    from fabricdoc.model.delivery import Delivery
    from fabricdoc.workflow.checking import Asked

Progress = Callable[[str], None]
Meanwhile = Callable[[], Gate | None]
SCAN_SHARE = 0.6
SCAN_S = 10.0
"""Of the deadline, and at most so many seconds (a fifth of a long deadline): a node that hangs is given up then."""
CABLES = "peer"
PORTS = "ports-free"


def look_quickly(asked: Asked, floors: Floors, meanwhile: Meanwhile, progress: Progress) -> Looked:
    """Everything, or as much as the deadline allowed.

    `meanwhile` is called once while the nodes look, and gives the last gate of these nodes, for its counters.
    """
    specs = gate_nodes(asked)
    variables = variables_of(asked, [spec.name for spec in specs])
    head = _head(asked)
    ports = ports_of(asked)
    late: list[str] = []
    with within(to_wait(asked.left())), one_python():
        fabric, before = _scanned(asked, specs, meanwhile, progress)
        fabric = with_variables(_since(fabric, before), variables)
        if asked.left() <= 0:
            late.append("cables and ports")
        fabric = _joined(asked, floors, specs, fabric, ports, progress)
        delivery, serving = _delivery(asked, specs, fabric, variables, progress)
        users = _users(specs, fabric, serving)
    if asked.left() <= 0 and not late:
        late.append("cables, ports or processes on every node")
    from fabricdoc.gate import Job, Looked

    return Looked(
        fabric=fabric,
        preset=asked.preset,
        now=datetime.now(UTC),
        job=Job(_strangers(asked), asked.profile, _contrary(asked)),
        variables=variables,
        delivery=delivery,
        users=users,
        serving=serving,
        floors=floors,
        head=head if head in [spec.name for spec in specs] else "",
        ports=ports,
        only=asked.local,
        late=tuple(late),
    )


def gate_nodes(asked: Asked) -> tuple[NodeSpec, ...]:
    """The nodes to look at: those named, else the preset's, as fabric.toml tells those; with the preset's pythons.

    Beacons leave from the fingerprint's ports unless others are listed: by name, never as a pattern, since a preset
    from elsewhere must not send beacons out of more ports than it names. UsageError for a `local` node that is none.
    """
    specs = _every(asked)
    prints = asked.preset.fingerprint.nodes if asked.preset else ()
    ports = {node.name: tuple(escape(port.netdev) for port in node.ports) for node in prints}
    nodes = [_with_python(replace(spec, ports=spec.ports or ports.get(spec.name, ())), asked) for spec in specs]
    if asked.python:
        nodes = [replace(spec, python=asked.python) for spec in nodes]
    if asked.local:
        names = ", ".join(spec.name for spec in nodes)
        nodes = [spec for spec in nodes if spec.name == asked.local]
        if not nodes:
            raise UsageError(f"there is no node {asked.local!r} to judge", fix=f"nodes: {names}", id="no-such-node")
    return tuple(nodes)


def _every(asked: Asked) -> tuple[NodeSpec, ...]:
    """All nodes of the job, also those that a node's own part does not ask."""
    return tuple(asked.specs or (nodes_of(asked.preset) if asked.preset else ()))


def _with_python(spec: NodeSpec, asked: Asked) -> NodeSpec:
    """The python it was measured with, where nobody named another one: torch and NCCL are looked for by it."""
    measured = asked.preset.nodes if asked.preset else ()
    own = next((node.python for node in measured if node.name == spec.name), spec.python)
    return replace(spec, python=own) if spec.python == DEFAULT_PYTHON else spec


def _head(asked: Asked) -> str:
    """The node on which ranks meet: the one of that role, else the first; a worker's own part leaves its ports out."""
    specs = _every(asked)
    named = [spec.name for spec in specs if spec.role == "head"]
    return (named or [spec.name for spec in specs] or [""])[0]


def _strangers(asked: Asked) -> tuple[str, ...]:
    return tuple(spec.name for spec in asked.specs)


def _contrary(asked: Asked) -> tuple[Contrary, ...]:
    if not asked.launch:
        return ()
    from fabricdoc.workflow.gate_contrary import contrary_of

    return contrary_of(asked)


def _scanned(
    asked: Asked, specs: Sequence[NodeSpec], meanwhile: Meanwhile, progress: Progress
) -> tuple[Fabric, Gate | None]:
    progress(f"looking at {len(specs)} node{'s' if len(specs) != 1 else ''}")
    share = min(asked.deadline_s * SCAN_SHARE, max(SCAN_S, asked.deadline_s / 5))
    deep = asked.level != "quick"
    begun = SharedScan(specs, deadline_s=max(0.1, min(share, asked.left())), cuda=False, hashed=deep)
    before = meanwhile()
    fabric = scan(specs, begun=begun, judge=False)
    return with_images(specs, fabric, progress, start=False), before


def _since(fabric: Fabric, before: Gate | None) -> Fabric:
    if before is None:
        return fabric
    try:
        then = datetime.fromisoformat(before.created)
    except ValueError:
        return fabric
    from fabricdoc.gate import with_growth

    return with_growth(fabric, before.counters, before.boots, (datetime.now(UTC) - then).total_seconds())


def with_variables(fabric: Fabric, variables: Variables) -> Fabric:
    """The fabric as the checks shall see it: with the job's variables, not those of the shell that asks.

    So selectors, pins and settings are judged by the checks as they will be, and need no judging here.
    """
    nodes = []
    for node in fabric.nodes:
        own = {name: value for name, value in node.host.environment.items() if not name.startswith("NCCL_")}
        host = node.host.model_copy(update={"environment": own | dict(variables.get(node.name, {}))})
        nodes.append(node.model_copy(update={"host": host}))
    return fabric.model_copy(update={"nodes": tuple(nodes)})


def _joined(
    asked: Asked,
    floors: Floors,
    specs: Sequence[NodeSpec],
    fabric: Fabric,
    ports: Sequence[int],
    progress: Progress,
) -> Fabric:
    """With what frames and connections show, then judged; a node's own part needs no other node.

    Whether RDMA passes is the smoke level's question: of what strengthens a link only LLDP is asked. Only judged where
    no time is left.
    """
    from fabricdoc.checks import judged
    from fabricdoc.fabric import every_kind, map_cables, with_own_ports
    from fabricdoc.workflow.gate_ports import still_taken

    only = floors.only
    if asked.left() <= 0:
        return judged(fabric)
    if len(specs) > 1 and (not only or CABLES in only):
        kinds = every_kind(ports)
        fabric = map_cables(specs, fabric, progress, kinds._replace(proofs=kinds.proofs[:1]))
        present = [spec for spec in specs if spec.name not in [node.name for node in fabric.failed]]
        if len(present) > 1 and not asked.wheres:  # a server that runs holds its own ports
            fabric = still_taken(fabric, lambda bare: kinds.weak[0](present, bare, progress), asked.left)
        return fabric
    head = next((spec for spec in specs if spec.name == _head(asked)), None)
    if head is not None and (not only or PORTS in only):
        fabric = with_own_ports(head, fabric, ports)
        if not asked.wheres:
            fabric = still_taken(fabric, lambda bare: with_own_ports(head, bare, ports), asked.left)
    return judged(fabric)


def _delivery(
    asked: Asked, specs: Sequence[NodeSpec], fabric: Fabric, variables: Variables, progress: Progress
) -> tuple[Delivery | None, Mapping[str, frozenset[int]]]:
    """What reached, or will reach, the processes; and the processes of a server that runs already."""
    preset = asked.preset or stand_in(specs, variables)
    there = [spec for spec in specs if any(node.name == spec.name for node in fabric.nodes)]
    names = {spec.name for spec in there}
    preset = preset.model_copy(update={"nodes": tuple(node for node in preset.nodes if node.name in names)})
    if asked.wheres:
        from fabricdoc.workflow.delivering import look_at_servers

        return look_at_servers(preset, asked.wheres, there, progress)
    return (delivery_of(asked, preset, fabric), {}) if asked.preset is not None else (None, {})


def _users(specs: Sequence[NodeSpec], fabric: Fabric, serving: Mapping[str, frozenset[int]]) -> Users:
    """Who uses a GPU besides the server that is judged, in words; nodes are asked again only where somebody does."""
    from fabricdoc.gate import Users

    named = {spec.name: spec for spec in specs}
    words: dict[str, list[str]] = {}
    stop: dict[str, list[str]] = {}
    for node in fabric.nodes:
        users = [one for one in gpu_users(node) if one.pid not in serving.get(node.name, ())]
        if users and node.name in named:
            told = named_users(named[node.name], users)
            words[node.name] = [one["text"] for one in told]
            stop[node.name] = [one["stop"] for one in told]
    return Users(words, stop)


def standing(fabric: Fabric) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
    """Counters and boots of every node that was read, for the next gate."""
    from fabricdoc.gate import boot_of, standing_counters

    read = [node for node in fabric.nodes if not isinstance(node.counters, Unknown)]
    return {node.name: standing_counters(node) for node in read}, {node.name: boot_of(node) for node in fabric.nodes}
