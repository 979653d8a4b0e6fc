"""The HCAs of a node as a table: port, state, rate, path MTU and the GID that matters most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Gid, Hca, Port
from fabricdoc.report.cells import DIM, WARN, Column, Name, Words, indent, line, table
from fabricdoc.report.reasons import Reasons, state_style
from fabricdoc.report.text import UNKNOWN, fact_text, rate_text

if TYPE_CHECKING:
    from rich.console import RenderableType

NO_HCA = "no RDMA device (that is a fact, not an error)"


def render_hcas(hcas: Fact[tuple[Hca, ...]], reasons: Reasons) -> list[RenderableType]:
    """A row per port of every HCA; having none is a fact, not an error."""
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
    ]
    rows = [_hca_row(hca, port, reasons) for hca in hcas for port in hca.ports]
    return [table(columns, rows)]


def _hca_row(hca: Hca, port: Port, reasons: Reasons) -> list[Words | RenderableType]:
    facts = {"state": port.state, "rate": port.rate_gbps, "active MTU": port.active_mtu, "GIDs": port.gids}
    for what, fact in facts.items():
        reasons.note(fact, f"{what} of {hca.name}")
    state = fact_text(port.state)
    gids = UNKNOWN if isinstance(port.gids, Unknown) else _gid_text(port.gids)
    return [
        Name(hca.name if len(hca.ports) == 1 else f"{hca.name}:{port.number}"),
        Name(fact_text(port.netdev)),
        (state, state_style(state == "ACTIVE", state)),
        fact_text(port.rate_gbps, lambda gbps: rate_text(gbps * 1000)),
        fact_text(port.active_mtu),
        gids,
    ]


def _gid_text(gids: tuple[Gid, ...]) -> str:
    """The GID NCCL would look for first: a RoCE v2 entry with an IPv4 address, else a routable one, else any."""
    if not gids:
        return "none"
    best = max(
        gids, key=lambda gid: ("v2" in fact_text(gid.type), gid.ipv4 is not None, not gid.link_local, -gid.index)
    )
    kind = fact_text(best.type)
    return f"{best.index}: {best.ipv4 or best.gid}" + ("" if kind == UNKNOWN else f" ({kind.removeprefix('RoCE ')})")
