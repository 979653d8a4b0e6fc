"""What must be so before ranks are started on the nodes: one NCCL, enough GPUs, idle ones, free memory.

Refuses with figures and with the lines that would help, which are the user's to run: nothing is stopped here.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from fabricdoc.errors import FabricdocError, NodeError
from fabricdoc.fabric import at_most
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node, Tenant
from fabricdoc.model.run import Plan
from fabricdoc.transport import NodeSpec, ask

GIB = 1 << 30
WHO_S = 30.0
MPS = "nvidia-cuda-mps"  # the server of CUDA MPS as the kernel shows its name; its clients are listed themselves
MPS_FOLDER = "CUDA_MPS_PIPE_DIRECTORY"
Hello = Mapping[str, Mapping[str, Any]]


def refuse_mixed_nccl(hello: Hello) -> None:
    """NodeError where nodes would load different NCCL versions: they hang, or end with "Mismatched NCCL version"."""
    versions: dict[str, list[str]] = {}
    for name, said in hello.items():
        versions.setdefault(str(said.get("nccl") or "an unknown version"), []).append(name)
    if len(versions) > 1:
        told = ", ".join(f"{version} on {' and '.join(names)}" for version, names in versions.items())
        raise NodeError(
            f"the nodes have different NCCL builds: {told}",
            fix="name pythons with the same torch (--python, or python= in fabric.toml), or the same image",
            id="mixed-nccl",
        )


def refuse_few_gpus(hello: Hello, ranks_per_node: int) -> None:
    """NodeError where a node has fewer GPUs than ranks."""
    few = {name: int(said.get("gpus") or 0) for name, said in hello.items()}
    short = {name: gpus for name, gpus in few.items() if gpus < ranks_per_node}
    if short:
        told = ", ".join(f"{name} has {gpus}" for name, gpus in short.items())
        raise NodeError(
            f"{ranks_per_node} ranks per node need as many GPUs: {told}",
            fix=f"--ranks-per-node {max(1, min(short.values()))}",
            id="few-gpus",
        )


def obstacles(plan: Plan, fabric: Fabric, specs: Sequence[NodeSpec]) -> list[FabricdocError]:
    """What keeps this plan from being started now: too little free memory, GPUs in use. Asks who uses them."""
    found = [error for node in fabric.nodes if (error := _short_of_memory(plan, node))]
    busy = _busy_gpus(fabric, specs) if plan.backend == "nccl" else None
    return [*found, busy] if busy else [*found]


def _short_of_memory(plan: Plan, node: Node) -> NodeError | None:
    free = node.host.memory_available
    if isinstance(free, Unknown):
        return None
    from fabricdoc.bench import memory_limits

    limits = memory_limits(plan, unified=node.name in plan.unified_memory)
    need, keep = limits["need"], limits["after_launch"]
    if free - need >= keep:
        return None
    return NodeError(
        f"{node.name}: {free / GIB:.1f} GiB of memory are free; a launch needs {need / GIB:.1f} GiB and "
        f"{keep / GIB:.0f} GiB must stay free after it",
        fix="end what holds memory there, or leave out the largest --sizes",
        id="memory-short",
    )


def _busy_gpus(fabric: Fabric, specs: Sequence[NodeSpec]) -> NodeError | None:
    """One error for every GPU in use on any node, with the lines that stop and start what uses it."""
    targets = {spec.name: spec for spec in specs}
    told, stop, start = [], [], []
    for node in fabric.nodes:
        users = gpu_users(node)
        if not users or MPS_FOLDER in targets[node.name].env:
            continue
        known = named_users(targets[node.name], users)
        for one in known:
            told.append(f"{node.name}: {one['text']}")
            stop.append(f"on {node.name}: {one['stop']}")
            start.append(f"on {node.name}: {one['start']}")
    if not told:
        return None
    fix = f"stop it yourself ({_each(stop)}), measure, then start it again ({_each(start)})"
    return NodeError(f"a GPU is in use: {_each(told)}", fix=fix, id="gpu-busy")


def _each(lines: Sequence[str]) -> str:
    """The lines, each once."""
    return "; ".join(dict.fromkeys(lines))


def gpu_users(node: Node) -> list[Tenant]:
    """Who uses a GPU of the node, each process once; the MPS server is no user itself."""
    gpus = () if isinstance(node.gpus, Unknown) else node.gpus
    found: dict[int, Tenant] = {}
    for gpu in gpus:
        if not isinstance(gpu.tenants, Unknown):
            found |= {one.pid: one for one in gpu.tenants}
        elif not isinstance(gpu.processes, Unknown):
            found |= {pid: Tenant(pid=pid) for pid in gpu.processes}
    return [one for one in found.values() if not str(one.name).startswith(MPS)]


def named_users(spec: NodeSpec, users: Sequence[Tenant]) -> list[dict[str, str]]:
    """Each user in words, with the lines that stop and start it; the node adds its runtime or unit to the scan."""
    request = {"do": "who", "pids": [one.pid for one in users]}
    (answer,) = ask([spec], "settings", request, deadline_s=at_most(WHO_S))
    said = (answer.message or {}).get("users")
    rows = [one for one in said if isinstance(one, dict)] if isinstance(said, list) else []
    more = {one["pid"]: one for one in rows if isinstance(one.get("pid"), int)}
    return [_lines(one, more.get(one.pid, {})) for one in users]


def _lines(user: Tenant, more: Mapping[str, Any]) -> dict[str, str]:
    name = user.name if isinstance(user.name, str) else "a process"
    container, runtime, unit = (_text(more.get(key)) for key in ("container", "runtime", "unit"))
    container = container or (user.container or "")
    where = f", {runtime or 'container'} {container[:64]}" if container else f", {unit}" if unit else ""
    if runtime:
        stop, start = (f"{runtime} {verb} {shlex.quote(container)}" for verb in ("stop", "start"))
    elif container:
        stop, start = f"stop the pod or container {shlex.quote(container[:12])}", "start that pod again"
    elif unit:
        stop, start = (f"sudo systemctl {verb} {shlex.quote(unit)}" for verb in ("stop", "start"))
    else:
        stop, start = f"kill {user.pid}", f"start {name} as you did before"
    return {"text": f"{name} (pid {user.pid}{where})", "stop": stop, "start": start}


def _text(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""
