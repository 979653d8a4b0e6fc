"""Whether a node's GPUs run as they should: clock caps, a power clamp, heat, and who uses them.

The slowest node sets the pace of every collective. All of it is one look at one moment; memory is `memory`'s.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.gpudirect import gpus_of
from fabricdoc.checks.limits import limit
from fabricdoc.checks.platforms import is_gb10
from fabricdoc.checks.ports import hcas_of
from fabricdoc.checks.wording import commands, of_nodes, seen
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Counters, Fabric, Gpu, Node
from fabricdoc.model.findings import Finding

HEAT = "thermal"


def check_gpus(fabric: Fabric) -> tuple[Finding, ...]:
    """Capped, clamped, hot and busy GPUs, on nodes that have HCAs."""
    return of_nodes(fabric, capped, clamped, hot, spinning, in_use)


def _fabric_gpus(node: Node) -> tuple[Gpu, ...]:
    """A laptop's GPU is nobody's business here: only nodes with HCAs count."""
    return gpus_of(node) if hcas_of(node) else ()


def _number(fact: Fact[int] | Fact[float]) -> float | None:
    return None if isinstance(fact, Unknown) else float(fact)


def capped(node: Node) -> Iterator[Finding]:
    """A GPU whose clock somebody capped and left so."""
    for gpu in _fabric_gpus(node):
        cap, most = _number(gpu.sm_clock_cap_mhz), _number(gpu.sm_clock_max_mhz)
        if cap and most and cap < most * limit("gpu", "clock_cap_share"):
            yield Finding(
                id="gpu-clock-capped",
                severity="warning",
                subject=f"{node.name}/GPU {gpu.index}",
                evidence=seen(node, f"GPU {gpu.index}: SM clock capped at {cap:.0f} MHz of {most:.0f} MHz"),
                cause="A clock cap (nvidia-smi -ac or -lgc) stays over jobs until it is taken away. This GPU computes "
                "more slowly, and every node waits for it.",
                fix=commands(
                    node, *(["sudo", "nvidia-smi", "-i", str(gpu.index), reset] for reset in ("-rac", "-rgc"))
                ),
            )


def clamped(node: Node) -> Iterator[Finding]:
    """GB10 that is busy but stays below clock and power without a reason: its power supply negotiated too little."""
    for gpu in _fabric_gpus(node) if is_gb10(node) else ():
        clock, power, cap = (_number(one) for one in (gpu.sm_clock_mhz, gpu.power_w, gpu.sm_clock_cap_mhz))
        if clock is None or power is None or not _busy(gpu) or _throttled(gpu):
            continue
        low, weak = limit("gpu", "wedge_clock_mhz"), limit("gpu", "wedge_power_w")
        if clock < low and power < weak and not (cap is not None and cap < low):
            yield Finding(
                id="gpu-power-clamp",
                severity="error",
                subject=f"{node.name}/GPU {gpu.index}",
                evidence=seen(
                    node,
                    f"GPU {gpu.index}: {gpu.utilization_percent} % busy, {clock:.0f} MHz, {power:.0f} W, no throttle "
                    f"reason (told below {low:.0f} MHz and {weak:.0f} W)",
                ),
                cause="The USB-C power supply negotiated too little, and the GPU is held at about a third of its "
                "clock without telling a throttle reason.",
                fix=(
                    f"unplug the power of {node.name} at the wall for a minute, not only its button, and start again",
                    "use the supply that came with it; if it stays so, the box needs a repair",
                ),
                confidence="likely",
            )


def _busy(gpu: Gpu) -> bool:
    used = _number(gpu.utilization_percent)
    return used is not None and used >= limit("gpu", "busy_percent")


def _throttled(gpu: Gpu) -> bool:
    """A reason that explains a low clock; one that says nothing or that the GPU is idle explains none."""
    reasons = () if isinstance(gpu.throttle_reasons, Unknown) else gpu.throttle_reasons
    return any("thermal" in one.lower() or "slowdown" in one.lower() or "brake" in one.lower() for one in reasons)


def hot(node: Node) -> Iterator[Finding]:
    """A GPU that is near its limit or slowed down by heat."""
    for gpu in _fabric_gpus(node):
        heat = _number(gpu.temperature_c)
        reasons = () if isinstance(gpu.throttle_reasons, Unknown) else gpu.throttle_reasons
        slowed = [one for one in reasons if HEAT in one.lower()]
        too_hot = is_gb10(node) and heat is not None and heat >= limit("gpu", "hot_c")
        if slowed or too_hot:
            told = f"{heat:.0f} C" if heat is not None else "temperature unknown"
            yield Finding(
                id="gpu-too-hot",
                severity="warning",
                subject=f"{node.name}/GPU {gpu.index}",
                evidence=seen(node, f"GPU {gpu.index}: {told}, throttle reasons: {', '.join(slowed) or 'none'}"),
                cause="Heat slows this GPU down or is about to: a GB10 board shuts down at 90 to 94 C. Every node "
                "waits for the slowest.",
                fix=(f"give {node.name} air: free its vents, put it apart from others, clean its fans",),
            )


def spinning(node: Node) -> Iterator[Finding]:
    """GB10: busy at little power and full clock while its ports move nothing: a collective that waits for ever."""
    for gpu in _fabric_gpus(node) if is_gb10(node) else ():
        power, clock = _number(gpu.power_w), _number(gpu.sm_clock_mhz)
        if power is None or clock is None or not _busy(gpu) or power > limit("gpu", "spinning_power_w"):
            continue
        if clock >= limit("gpu", "wedge_clock_mhz") and _ports_silent(node):
            yield Finding(
                id="gpu-spinning",
                severity="warning",
                subject=f"{node.name}/GPU {gpu.index}",
                evidence=seen(
                    node,
                    f"GPU {gpu.index}: {gpu.utilization_percent} % busy at {power:.0f} W and {clock:.0f} MHz",
                    f"ports sent nothing in {node.watched_s:g} s",
                    *_users(gpu),
                ),
                cause="The GPU is busy at the power of waiting, and nothing goes over the ports: a rank spins in a "
                "collective whose peer is gone.",
                fix=(f"on {node.name}: look at the processes above, and end the ones left over from a job",),
                confidence="likely",
            )


def _ports_silent(node: Node) -> bool:
    """Whether the ports were watched and sent no RDMA data (counters that stay 0 or unchanged are left out)."""
    counters: Fact[tuple[Counters, ...]] = node.counters
    if isinstance(counters, Unknown) or node.watched_s <= 0:
        return False
    ports = [one for one in counters if one.source == "port"]
    return bool(ports) and not any(one.deltas.get("port_xmit_data") for one in ports)


def _users(gpu: Gpu) -> list[str]:
    tenants = () if isinstance(gpu.tenants, Unknown) else gpu.tenants
    named = [(one.pid, one.name if isinstance(one.name, str) else "?", one.container) for one in tenants]
    return [f"GPU {gpu.index}: pid {pid} {name}{f' in {box}' if box else ''}" for pid, name, box in named[:8]]


def in_use(node: Node) -> Iterator[Finding]:
    """Processes that use the GPUs; information, since measuring is refused meanwhile."""
    users = [text for gpu in _fabric_gpus(node) for text in _users(gpu)]
    if users:
        yield Finding(
            id="gpu-in-use",
            severity="info",
            subject=node.name,
            evidence=seen(node, *users[:16]),
            cause="Other processes use these GPUs. What is measured meanwhile is not what the fabric can do, so a "
            "bench is refused until they are gone.",
            fix=(f"on {node.name}: end them, or measure when they have ended",),
        )
