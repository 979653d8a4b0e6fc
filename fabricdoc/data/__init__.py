"""Stored runs as tables, for notebooks and spreadsheets: rows without any library, DataFrames where pandas is there.

    import fabricdoc.data
    cells = fabricdoc.data.cells()                      # the latest run: a pandas DataFrame, one row per cell
    cells = fabricdoc.data.cells("20260101-120000-ab12", store="runs.sqlite")
    fabricdoc.data.launches(), .samples(), .verdicts(), .runs()

Columns are described in docs/bench.md. Judges nothing and changes nothing: `fabricdoc.tuning` judges. pandas is
imported when a DataFrame is asked for, and not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.data.files import FORMATS, WHAT, export_run
    from fabricdoc.data.frames import cells, launches, runs, samples, verdicts
    from fabricdoc.data.rows import cell_rows, launch_rows, sample_rows, verdict_rows

HOMES = {
    "files": ("FORMATS", "WHAT", "export_run"),
    "frames": ("cells", "launches", "runs", "samples", "verdicts"),
    "rows": ("cell_rows", "launch_rows", "sample_rows", "verdict_rows"),
}

__all__ = [
    "FORMATS",
    "WHAT",
    "cell_rows",
    "cells",
    "export_run",
    "launch_rows",
    "launches",
    "runs",
    "sample_rows",
    "samples",
    "verdict_rows",
    "verdicts",
]


__getattr__ = opened(__name__, HOMES)
