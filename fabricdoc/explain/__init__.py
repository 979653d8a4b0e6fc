"""From logs, dumps and settings to the cause: reads files, holds rules against what they tell, gives one verdict.

Public: `explain_files`. It asks no node and changes nothing; what NCCL's lines mean is `fabricdoc.nccl`'s, what tools
write is `fabricdoc.dumps`', the words of causes and fixes are data (presets/causes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.explain.explaining import explain_files

HOMES = {"explaining": ("explain_files",)}

__all__ = ["explain_files"]


__getattr__ = opened(__name__, HOMES)
