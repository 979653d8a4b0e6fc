"""Whether a node has room for the job: idle GPUs, free memory, memory that may be locked, /dev/shm.

Floors are the profile's (presets/gate/floors.toml) where it has some, else the general ones, which the checks judge.
Looks at no node and ends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.checks import gpus_of, is_gb10
from fabricdoc.gate.catalogue import Floors, kept_free
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.model.gate import GateCheck

MIB, GIB = 1 << 20, 1 << 30
GENERAL = {"memory": "memory-available-low", "memlock": "memlock-limit-too-low", "shm": "dev-shm-too-small"}


@dataclass(frozen=True)
class Users:
    """Who uses GPUs: by node, words for each process ("python (pid 7, docker x)"), and how to stop it."""

    words: Mapping[str, Sequence[str]]
    stop: Mapping[str, Sequence[str]]


def judge_room(
    fabric: Fabric, floors: Floors, users: Users, serving: Mapping[str, frozenset[int]]
) -> tuple[list[GateCheck], list[Finding]]:
    """Every node's room. On a node where the server that is judged runs already (`serving`), memory is its own."""
    checks: list[GateCheck] = []
    findings: list[Finding] = []
    for node in fabric.nodes:
        told = [*_idle(node, users), *_limits(node, floors, fabric)]
        if not serving.get(node.name):
            told += _memory(node, floors)
        checks += [check for check, _ in told]
        findings += [finding for _, finding in told if finding is not None]
    return checks, findings


Told = tuple[GateCheck, Finding | None]


def _idle(node: Node, users: Users) -> Iterator[Told]:
    if not gpus_of(node):
        return
    words = users.words.get(node.name, ())
    if not words:
        unread = [gpu.processes for gpu in gpus_of(node) if isinstance(gpu.processes, Unknown)]
        if unread:
            text = f"unknown: {unread[0].unknown}"
            yield GateCheck(id="gpu-idle", node=node.name, outcome="unknown", expected="idle", found=text), None
            return
        yield GateCheck(id="gpu-idle", node=node.name, outcome="ok", expected="idle", found="idle"), None
        return
    stop = [f"on {node.name}:", *dict.fromkeys(users.stop.get(node.name, ()))]
    finding = Finding(
        id="gpu-in-use",
        severity="error",
        subject=node.name,
        evidence=tuple(Evidence(file=node.name, text=one) for one in words),
        cause=f"a GPU of {node.name} is in use by {'; '.join(words)[:300]}",
        fix=("stop it yourself, or start the job elsewhere:", *stop),
    )
    found = "; ".join(words)[:200]
    yield (
        GateCheck(id="gpu-idle", node=node.name, outcome="differs", expected="idle", found=found, fix=finding.fix),
        finding,
    )


def _memory(node: Node, floors: Floors) -> Iterator[Told]:
    floor = floors.memory_gib if floors.memory_gib is not None else _general_floor(node)
    if floor is not None:
        fix = (f"on {node.name}: end what is not needed, then see what is free:", "free -h")
        yield _held(node, "memory", node.host.memory_available, floor * GIB, fix)


def _general_floor(node: Node) -> float | None:
    """GiB of MemAvailable that a launch must leave (presets/platforms/memory.toml), on nodes with GPUs."""
    if not gpus_of(node):
        return None
    shared = is_gb10(node) or any(gpu.integrated is True for gpu in gpus_of(node))
    return kept_free(unified=shared)


def _limits(node: Node, floors: Floors, fabric: Fabric) -> Iterator[Told]:
    """memlock and /dev/shm: by the profile's own floor, else by what the checks say of them."""
    memlock, shm = node.host.memlock, node.host.shm_bytes
    lock = (
        f"on {node.name}: memlock unlimited in /etc/security/limits.d, LimitMEMLOCK=infinity in its unit",
        "in docker: --ulimit memlock=-1 --cap-add IPC_LOCK",
    )
    if floors.memlock_mib is not None:
        yield _held(node, "memlock", _endless(memlock), floors.memlock_mib * MIB, lock)
    else:
        yield _by_checks(node, "memlock", memlock, fabric)
    if floors.shm_mib is not None:
        yield _held(node, "shm", shm, floors.shm_mib * MIB, ("start the container with --ipc=host or --shm-size=8g",))
    else:
        yield _by_checks(node, "shm", shm, fabric)


def _endless(limit: Fact[int]) -> Fact[int]:
    """A limit of -1 is none."""
    return limit if isinstance(limit, Unknown) or limit >= 0 else 1 << 62


def _held(node: Node, id: str, fact: Fact[int], floor: float, fix: tuple[str, ...]) -> Told:
    """A fact in bytes against a floor."""
    expected = f"at least {_text(floor)}"
    if isinstance(fact, Unknown):
        return GateCheck(
            id=id, node=node.name, outcome="unknown", expected=expected, found=f"unknown: {fact.unknown}"
        ), None
    found = _text(fact)
    if fact >= floor:
        return GateCheck(id=id, node=node.name, outcome="ok", expected=expected, found=found), None
    cause = f"{node.name} has {found} of {WORDS[id]}, and the job needs {expected}"
    evidence = (Evidence(file=node.name, text=f"{WORDS[id]}: {found}, wanted {_text(floor)}"),)
    finding = Finding(id=GENERAL[id], severity="error", subject=node.name, evidence=evidence, cause=cause, fix=fix)
    return GateCheck(id=id, node=node.name, outcome="differs", expected=expected, found=found, fix=fix), finding


WORDS = {"memory": "free memory (MemAvailable)", "memlock": "lockable memory", "shm": "/dev/shm"}


def _by_checks(node: Node, id: str, fact: Fact[int], fabric: Fabric) -> Told:
    """Judged by the checks room, which knows where it matters."""
    own = next((one for one in fabric.findings if one.id == GENERAL[id] and one.subject == node.name), None)
    found = f"unknown: {fact.unknown}" if isinstance(fact, Unknown) else "no limit" if fact < 0 else _text(fact)
    if own is None:
        return GateCheck(id=id, node=node.name, outcome="ok", expected="enough", found=found), None
    return GateCheck(id=id, node=node.name, outcome="differs", expected="enough", found=found, fix=own.fix), own


def _text(count: float) -> str:
    if count >= 1 << 61:
        return "no limit"
    if count >= GIB:
        return f"{count / GIB:.1f} GiB"
    return f"{count / MIB:.1f} MiB" if count >= MIB else f"{count / 1024:.0f} KiB"
