"""Findings: what is wrong or worth knowing, with evidence, cause and fix; and the error document."""

from typing import ClassVar, Literal

from fabricdoc.model.documents import Document, Frozen

Severity = Literal["error", "warning", "info"]


class Evidence(Frozen):
    """One piece of evidence: a file (or node name), a line number or null, and the text verbatim."""

    file: str
    line: int | None = None
    text: str


class Finding(Frozen):
    """A stable id from presets/findings.csv, what it is about, why it happens and what to do."""

    id: str
    severity: Severity
    subject: str
    evidence: tuple[Evidence, ...] = ()
    cause: str = ""
    fix: tuple[str, ...] = ()
    confidence: Literal["certain", "likely", "possible"] = "certain"


class ErrorDocument(Document):
    """What `--json` prints when a command ends in an error."""

    kind: ClassVar[str] = "error"

    id: str
    message: str
    fix: str = ""
    status: int = 4
