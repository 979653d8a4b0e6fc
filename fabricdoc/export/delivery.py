"""Did a preset reach the processes that serve? The one judgement of it: verify-env, the gate and a launch share it.

Judges what was seen; looking at nodes and reading logs are others' jobs. Values that neither the preset holds nor the
measurement inherited are told, and so is what it inherited and a process lacks; both fail nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from fabricdoc.errors import ExitStatus
from fabricdoc.export.arrival import judge_variable, values_in
from fabricdoc.export.policy import by_choice
from fabricdoc.model.delivery import Arrival, Delivered, Delivery, UnseenNode, WorkerDelivery
from fabricdoc.model.documents import Unknown
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.model.preset import NodePreset, Preset

HARMLESS = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "NCCL_VERSION", "NCCL_ROOT", "NCCL_HOME")
MOST_SHOWN = 32
_BAD = ("missing", "differs", "overridden")


def judge_delivery(preset: Preset, seen: Sequence[Arrival], unseen: Mapping[str, str]) -> Delivery:
    """The preset against every process that was seen; `unseen` says why of a node none was.

    A process on a node the preset does not hold is judged by what all nodes share. Every node of the preset needs at
    least one process, or the answer is that it could not be told.
    """
    workers = [_worker(preset, arrival) for arrival in seen]
    there = {one.node for one in workers}
    lost = [UnseenNode(node=n.name, reason=unseen.get(n.name, "nothing was seen of it")) for n in preset.nodes]
    lost = [one for one in lost if one.node not in there]
    answer, reason = _answer(workers, lost)
    return Delivery.model_validate(
        {
            "preset": preset.name,
            "answer": answer,
            "reason": reason,
            "workers": tuple(workers),
            "unseen": tuple(lost),
            "findings": tuple(_findings(workers)),
        }
    )


def delivery_status(delivery: Delivery) -> ExitStatus:
    """0, 1 or 3."""
    table = {"delivered": ExitStatus.FIT, "not-delivered": ExitStatus.NOT_FIT}
    return table.get(delivery.answer, ExitStatus.INCONCLUSIVE)


def _worker(preset: Preset, arrival: Arrival) -> WorkerDelivery:
    node = next((one for one in preset.nodes if one.name == arrival.node), None)
    pairs = _wanted(preset, node)
    found, inherited = _found(arrival), node.inherited if node is not None else {}
    return WorkerDelivery(
        node=arrival.node,
        pid=arrival.pid,
        name=arrival.name,
        source=arrival.source,
        library=arrival.library,
        variables=tuple(_choice(judge_variable(arrival, name, value)) for name, value in pairs.items()),
        extra=_extra(found, {line.name for one in preset.nodes for line in one.lines}, inherited),
        unlike=_unlike(arrival, found, inherited),
    )


def _choice(one: Delivered) -> Delivered:
    """Absent is fine for a line that may be left out when the variables are written."""
    chosen = one.outcome == "missing" and by_choice(one.name, one.wanted)
    return one.model_copy(update={"outcome": "left-out"}) if chosen else one


def _wanted(preset: Preset, node: NodePreset | None) -> dict[str, str]:
    """The node's values; of an unknown node, those that all nodes share."""
    if node is not None:
        return {line.name: line.value for line in node.lines}
    shared = [{(line.name, line.value) for line in one.lines} for one in preset.nodes]
    return dict(sorted(set.intersection(*shared))) if shared else {}


def _found(arrival: Arrival) -> dict[str, str]:
    """All that the environment, the files and the log tell, the environment first."""
    found: dict[str, str] = {}
    for fact in (arrival.environ, arrival.echoed):
        found = (dict(fact) if not isinstance(fact, Unknown) else {}) | found
    return values_in(arrival.files) | found


def _extra(found: Mapping[str, str], known: set[str], inherited: Mapping[str, str]) -> dict[str, str]:
    """NCCL's variables that no node of the preset holds and the measurement did not find in its environment."""
    names = sorted(name for name in found if name.startswith("NCCL_") and name not in known and name not in HARMLESS)
    return {name: found[name] for name in names[:MOST_SHOWN] if name not in inherited}


def _unlike(arrival: Arrival, found: Mapping[str, str], inherited: Mapping[str, str]) -> dict[str, str]:
    """What the measurement inherited and this process has otherwise, or lacks: only of one whose environment is known.

    An env file or a log does not tell what else the process will have.
    """
    whole = arrival.pid is not None and not isinstance(arrival.environ, Unknown)
    names = sorted(name for name in inherited if name not in HARMLESS and (whole or name in found))
    return {name: inherited[name] for name in names[:MOST_SHOWN] if found.get(name) != inherited[name]}


def _answer(workers: Sequence[WorkerDelivery], lost: Sequence[UnseenNode]) -> tuple[str, str]:
    bad = [(one, variable) for one in workers for variable in one.variables if variable.outcome in _BAD]
    if bad:
        names = ", ".join(dict.fromkeys(f"{variable.name} {variable.outcome}" for _, variable in bad))
        return "not-delivered", f"on {_places(one for one, _ in bad)}: {names}"
    if lost:
        return "could-not-tell", "; ".join(f"{one.node}: {one.reason}" for one in lost)
    unknown = [v for one in workers for v in one.variables if v.outcome == "unknown" and _leaves_open(one, v)]
    if unknown:
        names = ", ".join(dict.fromkeys(one.name for one in unknown))
        return "could-not-tell", f"nothing tells of {names}"
    if not workers:
        return "could-not-tell", "no process was seen"
    return "delivered", _all_well(workers)


def _leaves_open(worker: WorkerDelivery, one: Delivered) -> bool:
    """What nothing tells of; but where a log told the rest, a line that may be left out needs no word in it.

    NCCL echoes no NCCL_NET, so that a log alone never tells of it.
    """
    told = worker.pid is None and any(other.outcome != "unknown" for other in worker.variables)
    return not (told and by_choice(one.name, one.wanted))


def _all_well(workers: Sequence[WorkerDelivery]) -> str:
    rest = [v.name for one in workers for v in one.variables if v.outcome in ("left-out", "unknown")]
    names = ", ".join(dict.fromkeys(rest))
    aside = f"; {names} may be absent (--no-strict) and no other value of it was seen" if names else ""
    count = len(workers)
    what = "every other variable" if names else "every variable"
    return f"{what} reached {count} process{'es' if count != 1 else ''} on {_places(workers)}{aside}"


def _places(workers: Iterable[WorkerDelivery]) -> str:
    return ", ".join(dict.fromkeys(one.node or "an unknown node" for one in workers))


def _findings(workers: Sequence[WorkerDelivery]) -> list[Finding]:
    """One finding per kind of outcome and node, and one of variables nobody asked for."""
    found = []
    for node in dict.fromkeys(one.node for one in workers):
        mine = [one for one in workers if one.node == node]
        for outcome, id, fix in _KINDS:
            members = [(one, v) for one in mine for v in one.variables if v.outcome == outcome]
            if members:
                found.append(_finding(id, node, members, fix))
        found += [*_extras(node, mine), *_unmeasured(node, mine)]
    return found


_KINDS = (
    ("missing", "env-not-delivered", "write the variables again, and start the server with them:"),
    ("differs", "env-differs-from-preset", "start the server with the preset's values:"),
    ("overridden", "env-overridden", "take the value out of the place that wins, and start the server again"),
)


def _finding(id: str, node: str, members: Sequence[tuple[WorkerDelivery, Delivered]], fix: str) -> Finding:
    told = list(dict.fromkeys((v.name, v.wanted, _text(v), v.by) for _, v in members))[:MOST_SHOWN]
    evidence = tuple(
        Evidence(file=node, text=f"{name}: wanted {wanted!r}, {seen}{f' ({by})' if by else ''}")
        for name, wanted, seen, by in told
    )
    pids = ", ".join(dict.fromkeys(str(one.pid) for one, _ in members if one.pid is not None))
    names = ", ".join(dict.fromkeys(name for name, *_ in told))
    cause = f"{names}: not as the preset has it{f' in pid {pids}' if pids else ''}"
    write = [f"fabricdoc export-env --node {shlex.quote(node)}"] if node and fix.endswith(":") else []
    return Finding(id=id, severity="error", subject=node, evidence=evidence, cause=cause[:400], fix=(fix, *write))


def _text(one: Delivered) -> str:
    if one.seen is None:
        return "not set"
    return f"unknown: {one.seen.unknown}" if isinstance(one.seen, Unknown) else f"is {one.seen!r}"


def _extras(node: str, workers: Sequence[WorkerDelivery]) -> list[Finding]:
    extra = {name: value for one in workers for name, value in one.extra.items()}
    if not extra:
        return []
    cause = f"{', '.join(extra)}: set there, but not by the preset"
    fix = "take it out (an image's ENV, nccl.conf, a launch line), or measure again with it"
    return [_told("env-not-of-the-preset", node, [f"{name}={value}" for name, value in extra.items()], cause, fix)]


def _unmeasured(node: str, workers: Sequence[WorkerDelivery]) -> list[Finding]:
    unlike = {name: value for one in workers for name, value in one.unlike.items()}
    if not unlike:
        return []
    cause = f"{', '.join(unlike)}: in the environment when it was measured, and absent or another value there"
    values = " ".join(f"{name}={shlex.quote(value)}" for name, value in unlike.items())
    fix = f"set what it was measured with ({values[:200]}), or measure again without"
    lines = [f"measured with {name}={value}" for name, value in unlike.items()]
    return [_told("env-unlike-measured", node, lines, cause, fix)]


def _told(id: str, node: str, lines: Sequence[str], cause: str, fix: str) -> Finding:
    """What is told of a node and fails nothing, a line of evidence for each variable."""
    evidence = tuple(Evidence(file=node, text=line) for line in lines)
    return Finding(id=id, severity="warning", subject=node, evidence=evidence, cause=cause, fix=(fix,))
