"""Variables of a node that switch RoCE off, slow NCCL down or endanger it, or are written wrongly.

Selectors, GID pins and interfaces have families of their own. A whole env file is for lint to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from fabricdoc.checks.limits import checks_data, limit
from fabricdoc.checks.platforms import is_gb10
from fabricdoc.checks.ports import roce_ports
from fabricdoc.checks.variables import Variable, variable, whole_number
from fabricdoc.checks.wording import of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding, Severity
from fabricdoc.nccl import reject_unsafe

EXPANDABLE = re.compile(r"expandable_segments\s*:\s*true", re.IGNORECASE)
QUOTES = "\"'"
PREFIXES = ("NCCL_", "GLOO_", "UCX_")


def check_environment(fabric: Fabric) -> tuple[Finding, ...]:
    """RoCE switched off, protocols forced, retries cut, debugging left on, quotes kept, settings shadowed or risky."""
    return of_nodes(fabric, switched_off, protocols, retries, traces, blocking, remapping, quotes, shadowed, risky)


def _finding(
    node: Node, hint: Variable, id: str, severity: Severity, cause: str, *fix: str, evidence: tuple[str, ...] = ()
) -> Finding:
    where = f"on {node.name}: unset {hint.name}" if hint.source == "environment" else _in_file(node, hint)
    return Finding(
        id=id,
        severity=severity,
        subject=f"{node.name}: {hint.name}",
        evidence=seen(node, hint.text(), *evidence),
        cause=cause,
        fix=fix or (where,),
        confidence="likely",
    )


def _in_file(node: Node, hint: Variable) -> str:
    return f"on {node.name}: take {hint.name} out of {hint.source}"


def switched_off(node: Node) -> Iterator[Finding]:
    """NCCL_IB_DISABLE, or NCCL_NET=Socket, on a node with usable HCAs."""
    ports = roce_ports(node)
    disable, net = variable(node, "NCCL_IB_DISABLE"), variable(node, "NCCL_NET")
    socket = net if net and net.value.lower() == "socket" else None
    hint = disable if disable and whole_number(disable.value) else socket
    if ports and hint is not None:
        yield _finding(
            node,
            hint,
            "ib-disabled-by-env",
            "error",
            f"RoCE is switched off by {hint.name} although {ports[0].hca.name} is active: NCCL runs over TCP, about "
            "four times slower for a model on two nodes.",
            evidence=(f"active HCAs: {', '.join(one.hca.name for one in ports[:16])}",),
        )


def protocols(node: Node) -> Iterator[Finding]:
    """LL128 forced on GB10, where NCCL does not enable it, and LL forced for every size."""
    hint = variable(node, "NCCL_PROTO")
    if hint is None or not roce_ports(node):
        return
    if is_gb10(node) and "LL128" in (reject_unsafe({hint.name: hint.value}) or ""):
        yield _finding(
            node,
            hint,
            "ll128-forced-on-unsupported-path",
            "error",
            "LL128 relies on 128-byte stores that stay whole, which NCCL does not count on over this path. Forced, by "
            "name or by excluding others, it can corrupt data silently.",
        )
    elif hint.value.strip().upper() == "LL":
        yield _finding(
            node,
            hint,
            "nccl-proto-ll-forced",
            "warning",
            "LL is the fastest protocol up to about 16 KB and collapses above 64 KB (6.9 instead of 0.3 ms at 1 MB). "
            "Forced, it serves large messages too.",
        )


def retries(node: Node) -> Iterator[Finding]:
    """A timeout or retry count so low that one lost packet ends a connection."""
    for name, family in (("NCCL_IB_TIMEOUT", "ib_timeout"), ("NCCL_IB_RETRY_CNT", "ib_retry_cnt")):
        hint = variable(node, name)
        value = whole_number(hint.value) if hint else -1
        if hint and 0 <= value < limit("environment", family) and roce_ports(node):
            yield _finding(
                node,
                hint,
                "ib-timeout-or-retry-too-low",
                "warning",
                f"With {name}={value} a connection is given up after very few or very short retries: one lost packet "
                "or a short pause ends the job with status 12. NCCL's defaults are 20 and 7.",
                evidence=(f"told below {limit('environment', family):g}",),
            )


def traces(node: Node) -> Iterator[Finding]:
    """NCCL_DEBUG=TRACE left on."""
    hint = variable(node, "NCCL_DEBUG")
    if hint and hint.value.strip().upper() == "TRACE":
        yield _finding(
            node,
            hint,
            "nccl-trace-left-on",
            "warning",
            "TRACE writes lines for single operations (in builds that have it) and slows small collectives. INFO is "
            "enough to see what NCCL chose.",
            f"on {node.name}: export NCCL_DEBUG=INFO, or unset it",
        )


def blocking(node: Node) -> Iterator[Finding]:
    """CUDA_LAUNCH_BLOCKING, whatever its value (spark facts P48: 0 was seen to serialise too)."""
    hint = variable(node, "CUDA_LAUNCH_BLOCKING")
    if hint and roce_ports(node):
        yield _finding(
            node,
            hint,
            "cuda-launch-blocking-set",
            "warning",
            "Every kernel launch waits for its end, NCCL's too: nothing overlaps. It was seen to serialise with the "
            "value 0 as well, so unset it rather than set it to 0.",
        )


def remapping(node: Node) -> Iterator[Finding]:
    """PyTorch's expandable segments on GB10 (spark facts 5.4)."""
    for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        hint = variable(node, name)
        if hint and EXPANDABLE.search(hint.value) and is_gb10(node):
            yield _finding(
                node,
                hint,
                "expandable-segments-on-gb10",
                "warning",
                "PyTorch then remaps memory that NCCL has registered with the NIC. On unified memory a node was seen "
                "to go dark; fabricdoc's own ranks run without it.",
            )


def quotes(node: Node) -> Iterator[Finding]:
    """Values that begin and end with a quote: an env file's quotes became part of them."""
    for source, values in _sources(node):
        for name, value in values.items():
            if len(value) > 1 and value[0] in QUOTES and value[-1] == value[0] and name.startswith(PREFIXES):
                hint = Variable(name, value, source)
                yield _finding(
                    node,
                    hint,
                    "env-file-quotes-kept",
                    "error",
                    "The quotes are part of the value: docker --env-file and nccl.conf keep them. NCCL then looks for "
                    "names that begin with a quote, or reads no number.",
                    f"on {node.name}: write {name}={value[1:-1]} without quotes ({source})",
                )


def shadowed(node: Node) -> Iterator[Finding]:
    """A variable with two different values in the environment and NCCL's files: information, which one wins."""
    first: dict[str, Variable] = {}
    for source, values in _sources(node):
        for name, value in values.items():
            winner = first.setdefault(name, Variable(name, value, source))
            if winner.value != value and name.startswith("NCCL_"):
                lost = Variable(name, value, source)
                yield _finding(
                    node,
                    winner,
                    "nccl-setting-shadowed",
                    "info",
                    f"Two places set {name}, and NCCL takes the one from the {_place(winner)}: what a process uses is "
                    "not what the other place says.",
                    f"on {node.name}: keep one of the two",
                    evidence=(f"{lost.text()} is not used",),
                )


def risky(node: Node) -> Iterator[Finding]:
    """Settings that were seen to freeze ranks (presets/checks/environment.toml), on nodes with usable HCAs."""
    for row in checks_data("environment")["risky"] if roce_ports(node) else ():
        wanted: dict[str, str] = row["set"]
        found = [hint for name in wanted if (hint := variable(node, name))]
        if len(found) == len(wanted) and all(hint.value == wanted[hint.name] for hint in found):
            yield Finding(
                id="nccl-setting-risky",
                severity="warning",
                subject=f"{node.name}: {found[0].name}",
                evidence=seen(node, *(hint.text() for hint in found)),
                cause=row["cause"],
                fix=(f"on {node.name}: unset {' '.join(hint.name for hint in found)}, or take them out of the file",),
                confidence="possible",
            )


def _sources(node: Node) -> tuple[tuple[str, Mapping[str, str]], ...]:
    """(source, variables) in the order in which they win."""
    files = () if isinstance(node.host.nccl_conf, Unknown) else node.host.nccl_conf
    return (("environment", node.host.environment), *((file.path, file.values) for file in files))


def _place(hint: Variable) -> str:
    return "environment" if hint.source == "environment" else f"file {hint.source}"
