"""Nodes, links and rails: reads nodes through the transport and proves which port meets which.

Public: `scan` (nodes to a Fabric), `read_report` (a raw report to a Node), `map_cables` (adds proven links),
`rails_of` (ports that belong together).
Does not judge settings (bench, tuning) and changes nothing on a node.
"""

from fabricdoc.fabric.cables import map_cables
from fabricdoc.fabric.rails import Rail, RailPort, rails_of
from fabricdoc.fabric.report import read_report
from fabricdoc.fabric.scan import scan

__all__ = ["Rail", "RailPort", "map_cables", "rails_of", "read_report", "scan"]
