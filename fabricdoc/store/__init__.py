"""Where runs live: one SQLite file, written as things happen, safe against a kill at any moment.

Each launch goes in with its samples in one transaction; what was acknowledged is there after kill -9. This room
keeps documents and samples; it does not judge them, print them, or decide what is measured next.
"""

from __future__ import annotations

from fabricdoc.store.gates import GateSummary, gate_named, keep_gate, last_gate, list_gates, load_gate, new_gate_id
from fabricdoc.store.imported import keep_imported, read_nccl_tests
from fabricdoc.store.packing import SampleKey
from fabricdoc.store.place import default_path
from fabricdoc.store.rescue import rescue
from fabricdoc.store.runs import KILLED_REASON, RunStore, RunSummary

__all__ = [
    "KILLED_REASON",
    "GateSummary",
    "RunStore",
    "RunSummary",
    "SampleKey",
    "default_path",
    "gate_named",
    "keep_gate",
    "keep_imported",
    "last_gate",
    "list_gates",
    "load_gate",
    "new_gate_id",
    "read_nccl_tests",
    "rescue",
]
