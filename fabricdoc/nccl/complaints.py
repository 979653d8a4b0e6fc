"""What is wrong with a setting: one `Complaint` per thing, with the id that lint and candidates share.

The ids and their usual severity are here; what makes them true is in `values`, `lists`, `hazards` and `contradictions`,
and for what only several files or a scan show, in the modules `lint_*`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]

SEVERITIES: Mapping[str, Severity] = {
    "unknown-variable": "warning",
    "does-nothing": "warning",
    "bad-value": "error",
    "out-of-range": "error",
    "selector-space": "error",
    "ll128-forced-by-exclusion": "error",
    "ll128-forced-by-name": "error",
    "algo-without-function-form": "error",
    "gid-index-pinned": "warning",
    "contradiction": "warning",
    "debug-left-on": "warning",
    "removed-variable": "warning",
    "not-yet-in-this-version": "warning",
    "empty-value": "info",
    "dangerous-value": "warning",
    "env-file-quotes-kept": "error",
    "export-kept": "error",
    "comment-kept": "error",
    "carriage-return-kept": "error",
    "space-around-equals": "error",
    "refused-by-its-reader": "error",
    "value-not-text": "error",
    "duplicate-variable": "info",
    "nccl-setting-shadowed": "info",
    "must-agree-differs": "error",
    "selector-matches-nothing": "error",
    "selector-matches-too-much": "warning",
    "cuda-launch-blocking-set": "warning",
    "nccl-proto-ll-forced": "warning",
    "ib-timeout-or-retry-too-low": "warning",
    "ib-disabled-by-env": "error",
    "wrong-gid-index": "error",
    "gid-index-link-local": "error",
    "gid-index-drifted": "error",
    "gid-index-differs-between-nodes": "error",
    "gid-index-differs-between-hcas": "error",
}


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing wrong: `culprit` is the part of the value it is about ("" the whole), `fix` a line to write instead.

    `others` are further variables that have part in it (a contradiction). `level` is how bad this one is, where that is
    not the usual of its id.
    """

    id: str
    name: str
    message: str
    fix: str = ""
    culprit: str = ""
    others: tuple[str, ...] = ()
    level: Severity | None = None

    @property
    def severity(self) -> Severity:
        """How bad it is; an unknown id is a warning."""
        return self.level or SEVERITIES.get(self.id, "warning")
