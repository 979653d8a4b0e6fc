"""Nodes, links and rails: reads nodes through the transport and proves which port meets which.

Public: `begin_scan` and `scan` (nodes to a Fabric), `read_report` (a raw report to a node), `map_cables` (adds proven
links), `proven_by_rdma` (pings them alone), `hear_lldp` (listens for neighbours), `rails_of` (ports that belong
together), `traced` and `selected` (what follows from links, of a saved fabric too), `questions` and `matched` (what a
selector would take). Does not judge
settings (bench, tuning) and changes nothing on a node.
Names load their module when first used, so that a scan can begin before pydantic is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.fabric.asking import begin_scan
    from fabricdoc.fabric.cables import every_kind, map_cables
    from fabricdoc.fabric.hearing_lldp import hear_lldp
    from fabricdoc.fabric.hurry import at_most, within
    from fabricdoc.fabric.image import with_images
    from fabricdoc.fabric.matching import Question, matched, questions
    from fabricdoc.fabric.own_ports import with_own_ports
    from fabricdoc.fabric.rails import Rail, RailPort, rails_of
    from fabricdoc.fabric.rdma_ping import proven_by_rdma
    from fabricdoc.fabric.reaching import check_ports
    from fabricdoc.fabric.report import read_report
    from fabricdoc.fabric.scanning import scan
    from fabricdoc.fabric.selecting import selected
    from fabricdoc.fabric.shared_scan import SharedScan, one_python
    from fabricdoc.fabric.traits import traced

HOMES = {
    "asking": ("begin_scan",),
    "cables": ("every_kind", "map_cables"),
    "hearing_lldp": ("hear_lldp",),
    "hurry": ("at_most", "within"),
    "image": ("with_images",),
    "matching": ("Question", "matched", "questions"),
    "own_ports": ("with_own_ports",),
    "rails": ("Rail", "RailPort", "rails_of"),
    "rdma_ping": ("proven_by_rdma",),
    "reaching": ("check_ports",),
    "report": ("read_report",),
    "scanning": ("scan",),
    "selecting": ("selected",),
    "shared_scan": ("SharedScan", "one_python"),
    "traits": ("traced",),
}

__all__ = [
    "Question",
    "Rail",
    "RailPort",
    "SharedScan",
    "at_most",
    "begin_scan",
    "check_ports",
    "every_kind",
    "hear_lldp",
    "map_cables",
    "matched",
    "one_python",
    "proven_by_rdma",
    "questions",
    "rails_of",
    "read_report",
    "scan",
    "selected",
    "traced",
    "with_images",
    "with_own_ports",
    "within",
]


__getattr__ = opened(__name__, HOMES)
