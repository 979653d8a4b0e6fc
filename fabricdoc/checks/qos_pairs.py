"""How ports sort traffic, held against one another: trust, PFC, DSCP map, ECN.

Only where lossless traffic is meant (`qos`): a cable without a switch needs no PFC. Whether a class that all share is
whole is `qos_classes`'; whether packets were lost is told by counters, elsewhere.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fabricdoc.checks.differences import SHOWN, Told, difference
from fabricdoc.checks.majority import Odd, Place, split_ports
from fabricdoc.checks.qos import QosPort, ecn, lossless_groups, numbers
from fabricdoc.model.documents import Fact
from fabricdoc.model.fabric import Fabric, Qos
from fabricdoc.model.findings import Finding

STAYS = "and keep it over a reboot (a systemd unit that runs the same line): these settings are lost otherwise"
BOTH = ("give these ports one QoS setting: trust dscp, PFC and ECN on one priority", STAYS)
Names = dict[Place, str]


class Setting(NamedTuple):
    """A part of `Qos` that like ports share; `fix` gets an odd port and its interface's name."""

    id: str
    fact: str
    read: Callable[[Qos], Fact[Any]]
    show: Callable[[Any], str]
    fix: Callable[[Odd[Place, Any], str], Sequence[str]]
    cause: str


def check_qos_pairs(fabric: Fabric) -> tuple[Finding, ...]:
    """One warning for each setting in which like ports differ."""
    return tuple(finding for ports in lossless_groups(fabric) for finding in _of_group(ports))


def _of_group(ports: list[QosPort]) -> Iterator[Finding]:
    netdevs = {port.one.place: port.netdev for port in ports}
    for setting in SETTINGS:
        found = split_ports((port.one.place, setting.read(port.qos)) for port in ports)
        if found is not None:
            yield difference(_told(setting, netdevs), found)


def _told(setting: Setting, netdevs: Names) -> Told:
    def one(odd: Odd[Place, Any]) -> tuple[str, ...]:
        return (f"on {odd.key.node}:", *setting.fix(odd, netdevs[odd.key]), STAYS)

    return Told(setting.id, "warning", setting.fact, setting.cause, one, BOTH, show=setting.show)


def _mlnx(option: str, text: str, netdev: str) -> str:
    return shlex.join(["sudo", "mlnx_qos", "-i", netdev, option, text])


def _switches(on: Sequence[bool]) -> str:
    return ",".join(str(int(one)) for one in on)


def _priorities(on: Sequence[bool]) -> str:
    return numbers([number for number, one in enumerate(on) if one])


def ecn_lines(netdev: str, changes: Sequence[tuple[int, bool]]) -> list[str]:
    """The lines that switch ECN of single priorities on or off at both points of an interface."""
    return [
        f"echo {int(on)} | sudo tee {shlex.quote(f'/sys/class/net/{netdev}/ecn/{side}/enable/{number}')}"
        for number, on in changes
        for side in ("roce_np", "roce_rp")
    ]


def _ecn_changes(odd: Odd[Place, Any], netdev: str) -> list[str]:
    pairs = enumerate(zip(odd.usual, odd.value, strict=False))
    return ecn_lines(netdev, [(number, on) for number, (on, was) in pairs if on != was])


def _map_changes(odd: Odd[Place, Any], netdev: str) -> list[str]:
    pairs = enumerate(zip(odd.usual, odd.value, strict=False))
    changed = [f"set,{dscp},{usual}" for dscp, (usual, own) in pairs if usual != own]
    lines = [_mlnx("--dscp2prio", change, netdev) for change in changed[:SHOWN]]
    return [*lines, *([f"and {len(changed) - SHOWN} more entries as on {odd.like.node}"] if changed[SHOWN:] else [])]


def _map(priorities: Sequence[int]) -> str:
    changed = [f"{dscp} to {priority}" for dscp, priority in enumerate(priorities) if priority != dscp >> 3]
    text = ", ".join(changed[:SHOWN]) + (" ..." if changed[SHOWN:] else "")
    return f"by the upper three bits{', but ' if text else ''}{text}"


SETTINGS = (
    Setting(
        "qos-trust-differs",
        "trust",
        lambda qos: qos.trust,
        str,
        lambda odd, netdev: [_mlnx("--trust", "dscp", netdev) if odd.usual == "dscp" else BOTH[0]],
        "Ports of one kind trust different marks. With pcp an untagged packet has no mark at all, so RoCE rides the "
        "default priority there, which has no PFC, and is lost under congestion.",
    ),
    Setting(
        "qos-pfc-differs",
        "PFC on priority",
        lambda qos: qos.pfc,
        _priorities,
        lambda odd, netdev: [_mlnx("--pfc", _switches(odd.usual), netdev) if any(odd.usual) else BOTH[0]],
        "Ports of one kind have PFC on different priorities. A port that does not pause for what its peers take as "
        "lossless drops packets, and NCCL waits for the retransmissions on all ranks.",
    ),
    Setting(
        "qos-dscp-map-differs",
        "DSCP to priority",
        lambda qos: qos.dscp_priority,
        _map,
        _map_changes,
        "Ports of one kind sort the same DSCP into different priorities, so one packet is lossless at one end and not "
        "at the other.",
    ),
    Setting(
        "qos-ecn-differs",
        "ECN on priority",
        ecn,
        _priorities,
        _ecn_changes,
        "Ports of one kind have ECN for RoCE on different priorities. Those without it neither slow down nor ask "
        "others to, and fill the switch that all share.",
    ),
)
