"""Remarks as the findings of a document of kind findings, in plain dictionaries: no model is loaded for them.

A test holds them against the models. Evidence is verbatim; of a line with a secret in it, or of a very long one, it is
the part around the setting, and what is secret is masked where that part holds it too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fabricdoc.nccl.complaints import Severity
from fabricdoc.nccl.lint_output import SHOWN_LINE, harmless
from fabricdoc.nccl.lint_settings import Place, Remark
from fabricdoc.nccl.masking import masked

ORDER: tuple[Severity, ...] = ("error", "warning", "info")
_FIX = re.compile(r"""(?:- |export |ENV |Environment=)?"?[A-Z][A-Z0-9_]*(?:=|"?: ")|"?value"?: \"""", re.ASCII)
"""A fix that is a line to write, in one of the forms of files."""


def by_severity(remarks: Sequence[Remark]) -> tuple[Remark, ...]:
    """Errors first, in their order otherwise."""
    return tuple(sorted(remarks, key=lambda one: ORDER.index(one.complaint.severity)))


def as_findings(remarks: Sequence[Remark]) -> dict[str, Any]:
    """`verdict` and `findings` of the document: the worst first, and `none` where there is nothing to say."""
    ordered = by_severity(remarks)
    return {
        "verdict": ordered[0].complaint.id if ordered else "none",
        "findings": [_finding(remark) for remark in ordered],
    }


def _finding(remark: Remark) -> dict[str, Any]:
    complaint = remark.complaint
    whose = f"{remark.node}: " if remark.node else ""
    named = remark.text.rfind(complaint.name, 0, remark.column - 1 + len(complaint.name))
    place = Place(remark.file, remark.line, named + 1 if named >= 0 else remark.column, remark.text)
    return {
        "id": complaint.id,
        "severity": complaint.severity,
        "subject": harmless(f"{whose}{complaint.name}"),
        "evidence": [_evidence(one) for one in (place, *remark.also)],
        "cause": harmless(complaint.message),
        "fix": [harmless(complaint.fix)] if complaint.fix else [],
        "confidence": "certain" if _FIX.match(complaint.fix) or complaint.severity == "error" else "likely",
    }


def _evidence(place: Place) -> dict[str, Any]:
    return {"file": _utf8(place.file), "line": place.line, "text": _utf8(verbatim(place))}


def verbatim(place: Place) -> str:
    """The line as it is, or the part of it around the setting that holds no secret and is not too long."""
    text = place.text.strip()
    if len(text) <= SHOWN_LINE and masked(text) == text:
        return text
    part = place.text[place.column - 1 :][:SHOWN_LINE]
    word = re.split(r"\s(?=-{1,2}\w|[A-Za-z_]\w*=)", part, maxsplit=1)[0].strip()
    return masked(word) if masked(word) != word else word


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
