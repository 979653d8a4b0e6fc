"""The one home of NCCL's rules: reading its logs, its variables, its versions, what must never be tried.

Data (the table of log lines, the catalogue of variables) lives in presets/nccl. This room starts nothing and
measures nothing.
"""

from fabricdoc.nccl.catalogue import Variable, catalogue, nearest
from fabricdoc.nccl.merge import merge_proofs, path_problem
from fabricdoc.nccl.proof import read_proof
from fabricdoc.nccl.reader import Event, LogReader, read_events
from fabricdoc.nccl.safety import RING_TREE, reject_unsafe
from fabricdoc.nccl.versions import parse_conditions, parse_release, satisfies

__all__ = [
    "RING_TREE",
    "Event",
    "LogReader",
    "Variable",
    "catalogue",
    "merge_proofs",
    "nearest",
    "parse_conditions",
    "parse_release",
    "path_problem",
    "read_events",
    "read_proof",
    "reject_unsafe",
    "satisfies",
]
