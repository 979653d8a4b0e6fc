"""What tests of single families share: the ids a check finds, and one finding that is whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from fabricdoc.checks import load_catalogue
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding

Check = Callable[[Fabric], Iterable[Finding]]


def ids(check: Check, fabric: Fabric) -> list[tuple[str, str, str]]:
    """(id, severity, subject) of all findings, each checked to be whole."""
    return [(found.id, found.severity, found.subject) for found in map(whole, check(fabric))]


def only(check: Check, fabric: Fabric, id: str) -> Finding:
    """The one finding of that id; AssertionError for none or several."""
    (found,) = [whole(one) for one in check(fabric) if one.id == id]
    return found


def texts(finding: Finding) -> list[str]:
    """The texts of its evidence."""
    return [piece.text for piece in finding.evidence]


def whole(finding: Finding) -> Finding:
    """The finding itself; AssertionError where a part of it is missing or its words are unfinished."""
    assert finding.id in load_catalogue(), finding.id
    assert finding.evidence and all(piece.file and piece.text for piece in finding.evidence), finding.id
    first = finding.cause.split()[0]
    assert finding.cause.endswith(".") and (first[0].isupper() or re.search(r"\d|_", first)), finding.cause
    assert finding.fix and all(finding.fix), finding.id
    joined = " ".join((finding.subject, finding.cause, *finding.fix, *texts(finding)))
    assert not re.search(r"\{[a-z_.]+\}|unknown='", joined), joined
    return finding
