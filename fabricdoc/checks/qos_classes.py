"""A lossless class that is not whole: no ECN on it, more than one, global pause in its place, traffic that misses it.

Only where lossless traffic is meant (`qos`). What differs between ports is `qos_pairs`'.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from fabricdoc.checks.differences import SHOWN, named, node_lines
from fabricdoc.checks.limits import checks_data
from fabricdoc.checks.qos import QosPort, ecn, lossless, lossless_groups, numbers
from fabricdoc.checks.qos_pairs import STAYS, ecn_lines
from fabricdoc.checks.variables import Variable, variable, whole_number
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding, Severity

DSCP_SHIFT = 2
"""The traffic class byte is DSCP << 2 plus two ECN bits."""
DSCPS = 64
USUAL = "0,0,0,1,0,0,0,0"
"""PFC on priority 3 alone: what RoCE guides take."""


def check_qos_classes(fabric: Fabric) -> tuple[Finding, ...]:
    """One finding for each way in which lossless classes are hollow, for all ports that have it."""
    classes = {node.name: variable(node, "NCCL_IB_TC") for node in fabric.nodes}
    return tuple(
        finding
        for ports in lossless_groups(fabric)
        for finding in (*ecn_off(ports), *several(ports), *only_pause(ports), *missed(ports, classes))
    )


def ecn_off(ports: list[QosPort]) -> Iterator[Finding]:
    """ecn-off-on-lossless-priority: PFC on a priority where ECN is off."""
    wrong = [(port, off) for port in ports if (off := _without_ecn(port))]
    if wrong:
        yield _finding(
            "ecn-off-on-lossless-priority",
            "warning",
            [(port, f"PFC on priority {numbers(off)}, ECN off there") for port, off in wrong],
            "The lossless priority has PFC but no ECN: congestion then spreads as pause frames through the fabric "
            "instead of slowing the senders that cause it.",
            [(port.node, ecn_lines(port.netdev, [(number, True) for number in off])) for port, off in wrong],
        )


def _without_ecn(port: QosPort) -> tuple[int, ...]:
    on = ecn(port.qos)
    return () if isinstance(on, Unknown) else tuple(one for one in lossless(port.qos) if one < len(on) and not on[one])


def several(ports: list[QosPort]) -> Iterator[Finding]:
    """pfc-on-several-priorities: information for two lossless priorities, a warning for more."""
    wrong = [port for port in ports if len(lossless(port.qos)) > 1]
    if wrong:
        most = max(len(lossless(port.qos)) for port in wrong)
        yield _finding(
            "pfc-on-several-priorities",
            "warning" if most > checks_data("between")["qos"]["lossless_priorities"] else "info",
            [(port, f"PFC on priorities {numbers(lossless(port.qos))}") for port in wrong],
            "PFC is on for more than one priority. Each takes switch buffer from the others, and pauses of ordinary "
            "traffic can hold up RoCE, which needs one lossless priority, usually 3.",
            [(port.node, [_mlnx(port, "--pfc", USUAL)]) for port in wrong],
        )


def only_pause(ports: list[QosPort]) -> Iterator[Finding]:
    """global-pause-only: a port that pauses its whole link among like ports with PFC."""
    wrong = [
        port for port in ports if not isinstance(port.qos.pfc, Unknown) and not lossless(port.qos) and _pauses(port)
    ]
    if wrong:
        yield _finding(
            "global-pause-only",
            "warning",
            [(port, "global pause on, PFC on no priority") for port in wrong],
            "These ports pause the whole link instead of one priority. Behind a switch that is no lossless class: with "
            "global pause alone RoCE was seen to lose packets and stall all ranks until PFC was set.",
            [
                (
                    port.node,
                    [
                        shlex.join(["sudo", "ethtool", "-A", port.netdev, "rx", "off", "tx", "off"]),
                        shlex.join(["sudo", "mlnx_qos", "-i", port.netdev, "--trust", "dscp", "--pfc", USUAL]),
                    ],
                )
                for port in wrong
            ],
        )


def _pauses(port: QosPort) -> bool:
    return port.qos.pause_rx is True or port.qos.pause_tx is True


def missed(ports: list[QosPort], classes: dict[str, Variable | None]) -> Iterator[Finding]:
    """traffic-class-misses-lossless-priority: NCCL_IB_TC is set, yet its packets ride a priority without PFC."""
    wrong = [
        (port, setting, why)
        for port in ports
        if (setting := classes[port.node]) is not None and (why := _miss(port, setting))
    ]
    if wrong:
        yield _finding(
            "traffic-class-misses-lossless-priority",
            "warning",
            [(port, f"{why}; {setting.text()}") for port, setting, why in wrong],
            "NCCL_IB_TC marks NCCL's packets, but this port does not sort that mark into its lossless priority, so the "
            "data is not protected by PFC and is lost under congestion.",
            [(port.node, _matching(port, setting)) for port, setting, _why in wrong],
        )


def _miss(port: QosPort, setting: Variable) -> str:
    """Why the marked packets miss the lossless class; empty where they do not, or it can't be told."""
    if not lossless(port.qos):
        return ""
    if port.qos.trust == "pcp":
        return "trust pcp: the DSCP of a packet is not looked at"
    priorities = port.qos.dscp_priority
    dscp = _dscp(setting)
    if port.qos.trust != "dscp" or isinstance(priorities, Unknown) or dscp is None or dscp >= len(priorities):
        return ""
    priority = priorities[dscp]
    if priority < 0:  # the kernel holds no entry: the firmware's own map decides, which nobody told
        return ""
    off = f"DSCP {dscp} goes to priority {priority}, PFC on priority {numbers(lossless(port.qos))}"
    return "" if priority in lossless(port.qos) else off


def _dscp(setting: Variable) -> int | None:
    """The DSCP of a traffic class; None for what NCCL takes as not set."""
    value = whole_number(setting.value)
    return value >> DSCP_SHIFT if 0 <= value < DSCPS << DSCP_SHIFT else None


def _matching(port: QosPort, setting: Variable) -> list[str]:
    if port.qos.trust == "pcp":
        return [_mlnx(port, "--trust", "dscp")]
    return [_mlnx(port, "--dscp2prio", f"set,{_dscp(setting)},{lossless(port.qos)[0]}")]


def _mlnx(port: QosPort, option: str, value: str) -> str:
    return shlex.join(["sudo", "mlnx_qos", "-i", port.netdev, option, value])


def _finding(
    id: str,
    severity: Severity,
    told: Sequence[tuple[QosPort, str]],
    cause: str,
    lines: Sequence[tuple[str, Sequence[str]]],
) -> Finding:
    return Finding(
        id=id,
        severity=severity,
        subject=named([port.one.place for port, _text in told]),
        evidence=tuple(Evidence(file=port.node, text=f"{port.netdev}: {text}") for port, text in told[:SHOWN]),
        cause=cause,
        fix=(*node_lines(lines), STAYS),
    )
