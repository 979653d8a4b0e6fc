"""The HCAs of a node as a table: port, state, rate, path MTU, the GID NCCL takes, the PCIe link; below it, the cages.

Which GID NCCL takes and which HCAs share a cage was worked out before (`nccl`, `fabric`); here it is only shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Cage, Gid, Hca, Node, PcieFunction, Port
from fabricdoc.report.cells import DIM, WARN, Column, Name, Words, indent, line, table
from fabricdoc.report.reasons import Reasons, state_style
from fabricdoc.report.text import UNKNOWN, fact_text, rate_text

if TYPE_CHECKING:
    from rich.console import RenderableType

NO_HCA = "no RDMA device (that is a fact, not an error)"


GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""PCIe generation by GT/s per lane (PCI Express base specification)."""


def render_hcas(node: Node, reasons: Reasons) -> list[RenderableType]:
    """A row per port of every HCA, then the cages with more than one; having none is a fact, not an error."""
    hcas = node.hcas
    if isinstance(hcas, Unknown):
        return [indent(line(("RDMA  ", DIM), (f"unknown: {hcas.unknown}", WARN)))]
    if not hcas:
        return [indent(line(("RDMA  ", DIM), NO_HCA))]
    columns = [
        Column("HCA", flex=True),
        Column("port", flex=True),
        Column("state"),
        Column("rate"),
        Column("MTU", right=True),
        Column("GID", flex=True),
        *([] if isinstance(node.pcie, Unknown) else [Column("PCIe", drop=1)]),
    ]
    rows = [_hca_row(node, hca, port, reasons) for hca in hcas for port in hca.ports]
    return [table(columns, rows), *render_cages(node.cages)]


def render_cages(cages: tuple[Cage, ...]) -> list[RenderableType]:
    """`cage p0  rocep1s0f0 + roceP2p1s0f0` for every connector that several HCAs share."""
    shared = [cage for cage in cages if len(cage.hcas) > 1]
    return [
        indent(line((f"cage {cage.id.rpartition('/')[2]}  ", DIM), " + ".join(cage.hcas), (f"  by {cage.by}", DIM)))
        for cage in shared
    ]


def _hca_row(node: Node, hca: Hca, port: Port, reasons: Reasons) -> list[Words | RenderableType]:
    facts = {"state": port.state, "rate": port.rate_gbps, "active MTU": port.active_mtu, "GIDs": port.gids}
    for what, fact in facts.items():
        reasons.note(fact, f"{what} of {hca.name}")
    state = fact_text(port.state)
    gids = UNKNOWN if isinstance(port.gids, Unknown) else _gid_text(_taken(node, hca, port, port.gids))
    return [
        Name(hca.name if len(hca.ports) == 1 else f"{hca.name}:{port.number}"),
        Name(fact_text(port.netdev)),
        (state, state_style(state == "ACTIVE", state)),
        fact_text(port.rate_gbps, lambda gbps: rate_text(gbps * 1000)),
        fact_text(port.active_mtu),
        gids,
        *([] if isinstance(node.pcie, Unknown) else [_pcie_text(node.pcie, hca)]),
    ]


def _taken(node: Node, hca: Hca, port: Port, gids: tuple[Gid, ...]) -> Gid | None:
    """The GID that NCCL takes on this port; in a document that does not say, the one it would look for first."""
    chosen = {(one.hca, one.port): one.index for one in node.nccl_gids}.get((hca.name, port.number))
    named = next((gid for gid in gids if gid.index == chosen), None)
    liked = lambda gid: ("v2" in fact_text(gid.type), gid.ipv4 is not None, not gid.link_local, -gid.index)  # noqa: E731
    return named or max(gids, key=liked, default=None)


def _gid_text(gid: Gid | None) -> str:
    if gid is None:
        return "none"
    kind = fact_text(gid.type)
    return f"{gid.index}: {gid.ipv4 or gid.gid}" + ("" if kind == UNKNOWN else f" ({kind.removeprefix('RoCE ')})")


def _pcie_text(functions: tuple[PcieFunction, ...], hca: Hca) -> Words:
    """`Gen5 x4`, in the colour of a warning where the link is narrower or slower than it could be."""
    found = next((one for one in functions if one.address == hca.pci), None)
    if found is None or isinstance(found.current_width, Unknown) or isinstance(found.current_speed_gts, Unknown):
        return UNKNOWN
    generation = GENERATIONS.get(found.current_speed_gts)
    speed = f"Gen{generation}" if generation else f"{found.current_speed_gts:g} GT/s"
    return (f"{speed} x{found.current_width}", WARN if _reduced(found) else "")


def _reduced(function: PcieFunction) -> bool:
    pairs = (
        (function.current_width, function.max_width),
        (function.current_speed_gts, function.max_speed_gts),
    )
    return any(now < most for now, most in pairs if not isinstance(now, Unknown) and not isinstance(most, Unknown))
