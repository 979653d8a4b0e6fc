"""Findings: what is wrong or worth knowing, with evidence, cause and fix; what explain and lint say; errors."""

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


class Considered(Frozen):
    """A cause that competes with the verdict: `why` it did not win, what speaks for it, and what was sought in vain."""

    id: str
    why: str
    evidence: tuple[Evidence, ...] = ()
    sought: tuple[str, ...] = ()


class ReadFile(Frozen):
    """A file that was read: what it holds (`kinds`), whose it is ("" where nothing tells), lines, and what was left."""

    name: str
    kinds: tuple[str, ...] = ()
    node: str = ""
    lines: int = 0
    note: str = ""


class Findings(Document):
    """What `explain` and `lint` print: `verdict` is the id of the cause (the first finding), `none`, or `unknown`.

    `considered` are competing causes with what they lack, `collect` is what would decide, `files` what was read.
    """

    kind: ClassVar[str] = "findings"

    verdict: str = "none"
    findings: tuple[Finding, ...] = ()
    considered: tuple[Considered, ...] = ()
    collect: tuple[str, ...] = ()
    files: tuple[ReadFile, ...] = ()


class ErrorDocument(Document):
    """What `--json` prints when a command ends in an error."""

    kind: ClassVar[str] = "error"

    id: str
    message: str
    fix: str = ""
    status: int = 4
