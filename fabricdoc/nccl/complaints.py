"""What is wrong with a setting: one `Complaint` per thing, with the id that lint and candidates share.

The ids and their severity are here, what makes them true is in `values`, `lists` and `contradictions`.
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
    "duplicate-variable": "info",
    "must-agree-differs": "error",
}


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing wrong: `culprit` is the part of the value it is about ("" the whole), `fix` a line to write instead.

    `others` are further variables that have part in it (a contradiction).
    """

    id: str
    name: str
    message: str
    fix: str = ""
    culprit: str = ""
    others: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """How bad it is; an unknown id is a warning."""
        return SEVERITIES.get(self.id, "warning")
