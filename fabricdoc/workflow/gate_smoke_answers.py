"""What a smoke level's launches say of the fabric: over which path they went, whether results are exact, how long.

Judges records of launches; makes none. A path is what NCCL's own log shows, read by the one reader; gloo writes no log,
so there the bytes that each port counted meanwhile stand for it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.model.documents import Unknown
from fabricdoc.model.findings import Evidence, Finding, Severity
from fabricdoc.model.gate import GateCheck
from fabricdoc.model.preset import Latency, Preset
from fabricdoc.model.run import Cell, Launch, NodeState, Plan
from fabricdoc.workflow.gate_launches import limits, measured, names_in, values_of

LAUNCH, PATH, EXACT, LATENCY = "smoke-launch", "smoke-path", "smoke-exact", "smoke-latency"
OF_A_PORT = re.compile(r"(\S+) (?:-|to) \S+/\S+$")
Answer = tuple[GateCheck, Finding | None]
_SHOWN = 8


@dataclass(frozen=True)
class Tried:
    """The launches of a smoke level in order, under which plan, and the nodes as `--nodes` takes them.

    `measuring`: bandwidth is measured by this very gate, so that it need not be advised.
    """

    preset: Preset
    plan: Plan
    launches: tuple[Launch, ...]
    nodes: str
    measuring: bool = False

    @property
    def last(self) -> Launch:
        """The launch that counts."""
        return self.launches[-1]

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes in the order of ranks."""
        return tuple(dict.fromkeys(rank.node for rank in self.plan.ranks))


def smoke_answers(tried: Tried) -> list[Answer]:
    """Every check with what to do where it does not hold; a launch that failed leaves nothing else to judge."""
    last = tried.last
    if last.status not in ("ok", "incorrect") and not _went_elsewhere(last):
        return [launch_failed(tried)]
    return [*_paths(tried), _exact(tried), *(latency_answers(tried) if last.status == "ok" else ())]


def _went_elsewhere(launch: Launch) -> bool:
    """Whether a launch failed for its path alone: all ranks did their work, over another network than wanted."""
    return launch.status == "failed" and bool(launch.cells) and launch.proof is not None


def check(id: str, node: str, subject: str, expected: str, seen: str, outcome: str) -> GateCheck:
    """One comparison as the gate's document holds it; a subject such as "p0 - beta/p1" is of a port."""
    place = OF_A_PORT.match(subject)
    port = place[1] if place else ""
    texts = {"expected": expected, "found": seen, "note": subject}
    return GateCheck.model_validate({"id": id, "node": node, "port": port, "outcome": outcome, **texts})


def finding(
    id: str,
    subject: str,
    cause: str,
    fix: Sequence[str],
    evidence: Sequence[Evidence] = (),
    severity: Severity = "error",
) -> Finding:
    """The cause of a check that does not hold."""
    return Finding(id=id, severity=severity, subject=subject, cause=cause, fix=tuple(fix), evidence=tuple(evidence))


def cut_off(tried: Tried) -> Answer:
    """The last launch was ended since the gate's time was nearly over: who held it up is told, no fabric blamed."""
    return launch_failed(
        tried, f" in the {tried.plan.launch_deadline_s:.0f} s that the gate's deadline left it", "failed"
    )


def once_only(answers: Sequence[Answer]) -> list[Answer]:
    """Answers after a launch for which there is no second one: that it took longer may be a moment's disturbance."""
    return [_untold_slow(*one) if (one[0].id, one[0].outcome) == (LATENCY, "differs") else one for one in answers]


def _untold_slow(slow: GateCheck, cause: Finding | None) -> Answer:
    seen = f"unknown: {slow.found} in one launch, and no time was left for another"
    softer = cause.model_copy(update={"severity": "warning"}) if cause is not None else None
    return slow.model_copy(update={"outcome": "unknown", "found": seen}), softer


def of_the_gpu(launch: Launch) -> bool:
    """Whether a launch ended for what its GPU or its memory said, which tells nothing of the links."""
    return launch.status == "failed" and any(word in launch.reason for word in limits()["failed"]["of_the_gpu"])


def launch_failed(tried: Tried, within: str = "", outcome: str = "differs") -> Answer:
    """What a launch that did not come to its end says: where it ended, on which node, and where to look."""
    launch = tried.last
    node = next((rank.node for rank in tried.plan.ranks if rank.rank == launch.rank), "") or _lost(tried)
    where = f" in {launch.phase}" if launch.phase else ""
    below = ["see what lies below it:", f"fabricdoc cables --nodes {tried.nodes}"]
    found = finding(
        LAUNCH,
        node,
        f"with the preset's variables no launch comes to its end{within}{where}: {launch.reason or launch.status}",
        ["see who uses the GPUs, and what they say:", f"on {node}: nvidia-smi"] if of_the_gpu(launch) else below,
        [Evidence(file=node, text=line[:400]) for line in launch.log_tail[-_SHOWN:]],
    )
    return check(LAUNCH, node, "launch", "all ranks start and end", f"{launch.status}{where}", outcome), found


def _lost(tried: Tried) -> str:
    """The node that the reason begins with, else the first."""
    reason = tried.last.reason
    return next((name for name in tried.names if reason.startswith(f"{name}: ")), tried.names[0])


def _paths(tried: Tried) -> Iterator[Answer]:
    for name in tried.names:
        yield _path_of_nccl(tried, name) if tried.plan.backend == "nccl" else _path_of_gloo(tried, name)


def _path_of_nccl(tried: Tried, node: str) -> Answer:
    """The network that was wanted, and every HCA of an exact list among those NCCL took."""
    values, proof = values_of(tried.preset, node), tried.last.proof
    wanted = values.get("NCCL_NET", "")
    listed = values.get("NCCL_IB_HCA", "")
    hcas = names_in(listed) if listed.startswith("=") and wanted.lower() != "socket" else []
    expected = " on ".join(filter(None, [wanted or "any network", ", ".join(hcas)]))
    if proof is None or proof.grade != "seen":
        why = "no rank left a log" if proof is None else _unread(proof.network)
        return check(PATH, node, "path", expected, f"unknown: {why}", "unknown"), _untold(node, why)
    network = proof.network if isinstance(proof.network, str) else ""
    if wanted and network.lower() != wanted.lower():
        return _other_network(tried, node, expected, network or _unread(proof.network))
    mine = {rank.rank for rank in tried.plan.ranks if rank.node == node}
    taken = list(dict.fromkeys(hca.name for hca in proof.hcas if hca.rank in mine))
    lost = [name for name in hcas if not any(name in one.split("+") for one in taken)]
    seen = " on ".join(filter(None, [network, ", ".join(taken)]))
    if not lost or not taken:
        return check(PATH, node, "path", expected, seen, "ok"), None
    return check(PATH, node, "path", expected, seen, "differs"), _hca_not_taken(tried, node, lost, taken)


def _unread(network: object) -> str:
    return network.unknown if isinstance(network, Unknown) else "the log shows no channel"


def _untold(node: str, why: str) -> Finding:
    cause = f"NCCL's log on {node} does not show over what the ranks talked: {why}"
    fix = "look whether the preset, nccl.conf or the image sets NCCL_DEBUG or NCCL_DEBUG_FILE: they take the log away"
    return finding(PATH, node, cause, [fix], severity="warning")


def _other_network(tried: Tried, node: str, expected: str, network: str) -> Answer:
    cause = f"on {node} NCCL ran over {network}, the preset wants {expected}"
    evidence = [Evidence(file=node, text=line) for line in (tried.last.proof.warnings if tried.last.proof else ())]
    fix = ["see what NCCL has there (libibverbs, /dev/infiniband, the ports' state):"]
    fix.append(f"fabricdoc scan --nodes {tried.nodes}")
    return (
        check(PATH, node, "path", expected, network, "differs"),
        finding(PATH, node, cause, fix, evidence[:_SHOWN]),
    )


def _hca_not_taken(tried: Tried, node: str, lost: Sequence[str], taken: Sequence[str]) -> Finding:
    cause = f"on {node} NCCL took {', '.join(taken)} and passed over {', '.join(lost)} without a word"
    fix = [f"look at the state and the GIDs of {', '.join(lost)}:", f"fabricdoc scan --nodes {tried.nodes}"]
    return finding(PATH, f"{node}/{lost[0]}", cause, fix)


def _path_of_gloo(tried: Tried, node: str) -> Answer:
    """The named interfaces must have carried what the ranks sent, by their own counters."""
    names = names_in(values_of(tried.preset, node).get("GLOO_SOCKET_IFNAME", ""))
    counted = next((state.port_bytes for state in tried.last.states if state.node == node), {})
    expected = f"over {', '.join(names)}" if names else "any interface"
    known = [name for name in names if name in counted]
    if names and not known:
        why = f"no counter of {', '.join(names)} was read"
        return check(PATH, node, "path", expected, f"unknown: {why}", "unknown"), _untold(node, why)
    least = max((cell.size * cell.calls for cell in tried.last.cells), default=0) // 2
    moved = {name: sum(counts) for name, counts in counted.items()}
    mine = sum(moved[name] for name in known)
    seen = ", ".join(f"{moved[name]} bytes over {name}" for name in known) or "not asked"
    if not names or mine >= least:
        return check(PATH, node, "path", expected, seen, "ok"), None
    busiest = max(moved, key=lambda name: moved[name], default="")
    cause = f"on {node} the ranks' bytes did not go over {', '.join(names)} but over {busiest or 'none of its ports'}"
    fix = [f"look which route leads to the other node: ip route, on {node}"]
    return check(PATH, node, "path", expected, seen, "differs"), finding(PATH, f"{node}/{names[0]}", cause, fix)


def _exact(tried: Tried) -> Answer:
    last = tried.last
    sizes = ", ".join(f"{size} B" for size in sorted({cell.size for cell in last.cells}))
    subject = f"results of {sizes}" if sizes else "results"
    if last.status != "incorrect":
        return check(EXACT, "", subject, "bit-exact", "bit-exact", "ok"), None
    forced = [
        f"{name}={value}"
        for name, value in values_of(tried.preset, tried.names[0]).items()
        if name in ("NCCL_PROTO", "NCCL_ALGO")
    ]
    fix = [f"do not start with {' and '.join(forced)}: measure again without it" if forced else "measure again:"]
    fix.append(f"fabricdoc bench --nodes {tried.nodes}")
    cause = f"an all-reduce under the preset's variables gave wrong sums: {last.reason}"
    seen = last.reason.removeprefix("results were not bit-exact: ")
    return check(EXACT, "", subject, "bit-exact", seen, "differs"), finding(EXACT, ", ".join(tried.names), cause, fix)


def latency_answers(tried: Tried, id: str = LATENCY) -> Iterator[Answer]:
    """Of every all-reduce the fastest launch's median against the highest that was measured, widened."""
    known = {_key(one): one for one in measured(tried.preset, "all_reduce")}
    for key, cell in best_cells(tried.launches).items():
        yield _compared(tried, cell, known.get(key), id)


def best_cells(launches: Sequence[Launch]) -> dict[tuple[str, int, str, bool], Cell]:
    """The cell with the lowest median of each view, size, dtype and form of all-reduces over the good launches."""
    best: dict[tuple[str, int, str, bool], Cell] = {}
    for launch in launches:
        for cell in (one for one in launch.cells if launch.status == "ok" and one.op == "all_reduce"):
            key = (cell.view, cell.size, cell.dtype, cell.in_place)
            if key not in best or cell.median_us < best[key].median_us:
                best[key] = cell
    return best


def _key(one: Latency) -> tuple[str, int, str, bool]:
    return one.view, one.size, one.dtype, one.in_place


def bound_of(preset: Preset, known: Latency) -> float:
    """What a median may be at most, in microseconds."""
    tolerances: Mapping[str, float] = limits()["latency"]["tolerance"]
    return known.high_us * (1.0 + float(tolerances[preset.backend]))


def _compared(tried: Tried, cell: Cell, known: Latency | None, id: str) -> Answer:
    subject = f"{cell.op} of {cell.size} B ({cell.view})"
    seen = f"{cell.median_us:.1f} µs"
    if known is None:
        return check(id, "", subject, "not measured by the preset", seen, "ok"), None
    bound = bound_of(tried.preset, known)
    told = f"at most {bound:.1f} µs ({known.low_us:.1f} to {known.high_us:.1f} measured, {known.launches} launches)"
    if cell.median_us <= bound:
        return check(id, "", subject, told, seen, "ok"), None
    return check(id, "", subject, told, seen, "differs"), _slow(tried, cell, known, id)


def _slow(tried: Tried, cell: Cell, known: Latency, id: str) -> Finding:
    count, bound = len(tried.launches), bound_of(tried.preset, known)
    times = f"{cell.median_us / known.median_us:.1f} times"
    cause = (
        f"an all-reduce of {cell.size} B takes {cell.median_us:.1f} µs in {'both' if count > 1 else 'the'} launch"
        f"{'es' if count > 1 else ''}, {times} what was measured ({known.median_us:.1f} µs; limit {bound:.1f} µs)"
    )
    deeper = _deeper(tried)
    again = f"{'or ' if deeper else ''}measure again, if this is what the fabric is now:"
    fix = [*deeper, again, f"fabricdoc bench --nodes {tried.nodes}"]
    disturbed = [Evidence(file=state.node, text=text) for state in tried.last.states for text in _disturbing(state)]
    return finding(id, ", ".join(tried.names), cause, fix, disturbed[:_SHOWN])


def _deeper(tried: Tried) -> list[str]:
    """The level that tells the slow part, unless it is the one that was asked."""
    if tried.measuring:
        return []
    preset = tried.preset.run or tried.preset.name
    return [
        "look for the slow part: bandwidth per rail and direction, clocks, other users:",
        shlex.join(["fabricdoc", "gate", "--level", "full", "--preset", preset]),
    ]


def slow_only(answers: Iterable[GateCheck]) -> bool:
    """Whether nothing speaks against going deeper: all holds, but that it takes longer than it did."""
    return all(one.outcome == "ok" or (one.id == LATENCY and one.outcome == "differs") for one in answers)


def with_bandwidth(slow: Finding, shown: Sequence[Finding]) -> Finding:
    """A latency's finding with what the bandwidth showed (`shown`) to be mended first; as it is where that is well."""
    first = next((one for one in shown if one.severity == "error"), None)
    if slow.id != LATENCY or first is None:
        return slow
    return slow.model_copy(update={"fix": (f"first what the bandwidth shows, {first.subject}:", *first.fix)})


def _disturbing(state: NodeState) -> Iterator[str]:
    if not isinstance(state.throttled, Unknown) and state.throttled:
        yield f"the GPU was held back: {', '.join(state.throttled)}"
    yield from (f"{name} grew by {count}" for name, count in sorted(state.port_errors.items()))
