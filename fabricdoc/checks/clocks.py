"""The nodes' clocks held against one another. What time it really is nobody asks."""

from __future__ import annotations

from fabricdoc.checks.differences import SHOWN, named
from fabricdoc.checks.limits import checks_data
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding


def check_clocks(fabric: Fabric) -> tuple[Finding, ...]:
    """clock-skew: nodes further from the middle one than the limit; both where there are two.

    Offsets are against the machine that asked, so one that is wrong itself makes no finding.
    """
    offsets = {node.name: node.clock_offset_s for node in fabric.nodes if isinstance(node.clock_offset_s, float)}
    most = float(checks_data("between")["clock"]["offset_s"])
    if not offsets or max(offsets.values()) - min(offsets.values()) <= most:
        return ()
    middle = sorted(offsets.values())[(len(offsets) - 1) // 2]
    wrong = {name: offset for name, offset in offsets.items() if abs(offset - middle) > most}
    if len(offsets) == 2 or not wrong:
        wrong = offsets
    return (_finding(wrong, offsets, most),)


def _finding(wrong: dict[str, float], offsets: dict[str, float], most: float) -> Finding:
    names = list(wrong)
    usual = next((name for name in offsets if name not in wrong), None)
    like = [Evidence(file=usual, text=_text(offsets[usual]))] if usual else []
    return Finding(
        id="clock-skew",
        severity="warning",
        subject=named(names),
        evidence=(*like, *(Evidence(file=name, text=_text(wrong[name])) for name in names[:SHOWN])),
        cause=f"The clocks of the nodes differ by more than {most:g} s. Logs of ranks can't be merged by time, and Ray "
        "and TLS refuse or misjudge what looks too old.",
        fix=(
            f"on {named(names, SHOWN)}:",
            "sudo timedatectl set-ntp true",
            "and see that a time server can be reached: timedatectl timesync-status",
        ),
    )


def _text(offset: float) -> str:
    return f"clock {offset:+.1f} s against the machine that asked"
