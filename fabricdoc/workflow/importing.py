"""Output of nccl-tests into the store, as a run with an id like any other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabricdoc.model.run import Run
from fabricdoc.store import RunStore, keep_imported, read_nccl_tests
from fabricdoc.workflow.planning import new_run_id


def import_nccl_tests(store: RunStore, files: Sequence[Path]) -> Run:
    """Read the files, store them as one run, and return it as it was stored. Raises InputError or StoreError."""
    run = read_nccl_tests(files, new_run_id())
    keep_imported(store, run)
    return store.load(run.id)
