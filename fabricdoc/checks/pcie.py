"""The PCIe links of a node's HCAs: trained down, too narrow for the port, with errors, or gone.

NCCL plans with the highest speed and width, so a link that trained down is invisible to it. GPUs' own links are
left out (they slow down when idle), ACS and IOMMU are `gpudirect`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from fabricdoc.checks.limits import limit
from fabricdoc.checks.platforms import functions_by_address, functions_of, gb10, is_gb10, pci_id
from fabricdoc.checks.ports import hcas_of
from fabricdoc.checks.wording import commands, of_nodes, plain, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Hca, Node, PcieFunction
from fabricdoc.model.findings import Finding, Severity


class PciLink(NamedTuple):
    """GT/s per lane and lanes of a PCIe link; None where unknown."""

    speed: float | None
    width: int | None

    def gbps(self) -> float:
        """What it carries in Gbit/s before packet headers; 0 where unknown. 8b/10b below 8 GT/s, else 128b/130b."""
        if not self.speed or not self.width:
            return 0.0
        return self.speed * self.width * (128 / 130 if self.speed >= 8 else 0.8)

    def text(self) -> str:
        """ "32 GT/s x4" """
        return f"{f'{self.speed:g}' if self.speed else '?'} GT/s x{self.width or '?'}"


def check_pcie(fabric: Fabric) -> tuple[Finding, ...]:
    """Links of HCAs that trained down or are too narrow, errors on them, devices that fell off the bus."""
    return of_nodes(fabric, gone, trained_down, too_narrow, errors)


def gone(node: Node) -> Iterator[Finding]:
    """A function whose config space reads all ones."""
    for one in functions_of(node):
        if one.gone:
            yield Finding(
                id="pcie-device-gone",
                severity="error",
                subject=f"{node.name}/{one.address}",
                evidence=seen(node, f"{one.address}: config space reads all ones"),
                cause="The device does not answer on the bus any more: it lost power or its link. Nothing on this node "
                "can use it until it is initialised again.",
                fix=(f"look for the reason on {node.name}: sudo dmesg --level=err,warn", "reboot the node"),
            )


def slots(node: Node) -> Iterator[tuple[str, list[Hca], PcieFunction]]:
    """Each PCI slot with HCAs (no VFs): its address without the function, the HCAs, and the first one's function."""
    functions = functions_by_address(node)
    found: dict[str, list[Hca]] = defaultdict(list)
    for hca in hcas_of(node):
        if hca.physical_function is None and isinstance(hca.pci, str) and hca.pci in functions:
            found[hca.pci.rpartition(".")[0]].append(hca)
    for slot, hcas in found.items():
        yield slot, hcas, functions[str(hcas[0].pci)]


def current(function: PcieFunction) -> PciLink:
    """The link as it runs now."""
    speed, width = function.current_speed_gts, function.current_width
    return PciLink(None if isinstance(speed, Unknown) else speed, None if isinstance(width, Unknown) else width)


def possible(node: Node, function: PcieFunction) -> PciLink:
    """What the link could be: GB10's wiring for its own card, else the least that the device and its slot can do."""
    if is_gb10(node) and pci_id(function) == gb10().card:
        return PciLink(gb10().speed_gts, gb10().width)
    parent = functions_by_address(node).get(function.upstream[-1]) if function.upstream else None
    both = [function, parent] if parent else [function]
    speeds = [one.max_speed_gts for one in both if isinstance(one.max_speed_gts, float) and one.max_speed_gts > 0]
    widths = [one.max_width for one in both if isinstance(one.max_width, int) and one.max_width > 0]
    return PciLink(min(speeds, default=None), min(widths, default=None))


def port_gbps(hcas: list[Hca]) -> float:
    """The fastest active port of these HCAs, in Gbit/s."""
    active = (port.rate_gbps for hca in hcas for port in hca.ports if port.state == "ACTIVE")
    return max((rate for rate in active if not isinstance(rate, Unknown)), default=0.0)


def trained_down(node: Node) -> Iterator[Finding]:
    """A link below what it could be: an error where that is less than the port needs, else information."""
    for slot, hcas, function in slots(node):
        now, best = current(function), possible(node, function)
        narrow = bool(now.width and best.width and now.width < best.width)
        slow = bool(now.speed and best.speed and now.speed < best.speed)
        if narrow or slow:
            needed = min(port_gbps(hcas), best.gbps())
            severity: Severity = "error" if now.gbps() < needed else "info"
            yield _trained_down(
                node, slot, hcas, (now, best), "pcie-width-low" if narrow else "pcie-speed-low", severity
            )


def _trained_down(
    node: Node, slot: str, hcas: list[Hca], links: tuple[PciLink, PciLink], id: str, severity: Severity
) -> Finding:
    now, best = links
    names = ", ".join(hca.name for hca in hcas)
    return Finding(
        id=id,
        severity=severity,
        subject=f"{node.name}/{hcas[0].name}",
        evidence=seen(
            node,
            f"{slot} ({names}): {now.text()}, {now.gbps():.0f} Gb/s; should be {best.text()}, {best.gbps():.0f} Gb/s",
            f"BIOS {plain(node.host.bios)}",
        ),
        cause=f"The PCIe link of {names} trained below what device and slot can do. NCCL plans with the highest values "
        "and does not see it, so everything looks right and the port carries less than its neighbours.",
        fix=(
            *commands(node, ["sudo", "lspci", "-s", slot, "-vv"]),
            "update the BIOS (early GB10 boards of OEMs wired one domain with two lanes) and the NIC's firmware"
            if is_gb10(node)
            else "reseat the card, check the slot's wiring and its bifurcation in the BIOS",
            "then power the node off fully, and on again",
        ),
    )


def too_narrow(node: Node) -> Iterator[Finding]:
    """A slot that can't carry one port even when it trains fully (not GB10, where a cage has two links)."""
    if is_gb10(node):
        return
    for slot, hcas, function in slots(node):
        best, rate = possible(node, function), port_gbps(hcas)
        if 0 < best.gbps() < rate:
            yield Finding(
                id="pcie-slot-too-narrow",
                severity="warning",
                subject=f"{node.name}/{hcas[0].name}",
                evidence=seen(node, f"{slot}: {best.text()}, {best.gbps():.0f} Gb/s at most; port {rate:g} Gb/s"),
                cause=f"The slot of {hcas[0].name} carries less than its port: the port's speed can never be reached "
                "on this node.",
                fix=(f"move the card of {hcas[0].name} to a slot with more lanes, or plan with the slot's speed",),
            )


def errors(node: Node) -> Iterator[Finding]:
    """AER totals of HCAs and the bridges above them, by severity; corrected ones only where they are many."""
    fabric = {address for _slot, _hcas, one in slots(node) for address in (one.address, *one.upstream)}
    fabric |= {str(hca.pci) for hca in hcas_of(node)}
    counted = [one for one in functions_of(node) if one.address in fabric and one.aer]
    for kind, severity in (("fatal", "error"), ("nonfatal", "warning"), ("correctable", "warning")):
        hit = [one for one in counted if one.aer.get(kind, 0) > 0]
        if kind == "correctable":
            hit = [one for one in hit if _many(node, one.aer[kind])]
        if hit:
            yield _aer(node, kind, "error" if severity == "error" else "warning", hit)


def _many(node: Node, count: int) -> bool:
    uptime = node.host.uptime_s
    if count < limit("pcie", "correctable") or isinstance(uptime, Unknown):
        return False
    return count * 3600 / max(uptime, 3600.0) >= limit("pcie", "correctable_per_hour")


def _aer(node: Node, kind: str, severity: Severity, hit: list[PcieFunction]) -> Finding:
    told = f", told from {limit('pcie', 'correctable_per_hour'):g} an hour" if kind == "correctable" else ""
    return Finding(
        id=f"pcie-aer-{kind}",
        severity=severity,
        subject=f"{node.name}/{hit[0].address}",
        evidence=seen(node, *(f"{one.address}: {one.aer[kind]} {kind} errors since boot{told}" for one in hit[:16])),
        cause=_AER_CAUSES[kind],
        fix=(
            *commands(node, ["sudo", "dmesg", "--level=err,warn"], ["sudo", "lspci", "-s", hit[0].address, "-vvv"]),
            "reseat card and cable; if it comes back after a cold start, the board, slot or card is at fault",
        ),
        confidence="certain" if kind == "fatal" else "likely",
    )


_AER_CAUSES = {
    "fatal": "The PCIe link above an HCA failed and had to be reset. Connections over it were lost, and nodes were "
    "seen to lock up after such a reset.",
    "nonfatal": "Transactions to or from an HCA failed on the PCIe bus. Transfers may have ended with an error.",
    "correctable": "The PCIe link of an HCA repeats packets all the time: its signal is bad, and what is repeated "
    "takes bandwidth and time.",
}
