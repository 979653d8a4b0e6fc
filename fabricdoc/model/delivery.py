"""The delivery document: did the variables of a preset reach the processes that serve, and what did NCCL read?"""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import NOT_READ, Document, Fact, Frozen
from fabricdoc.model.findings import Finding
from fabricdoc.model.host import ConfFile

Outcome = Literal["delivered", "differs", "left-out", "missing", "overridden", "unknown"]
"""`left-out`: absent, and a line that whoever writes the variables may leave out (export-env --no-strict)."""


class Arrival(Frozen):
    """What was seen of one process: its first environment, NCCL's files as it would open them, NCCL's own log.

    `pid` is null where only a log told of it. `library` is the libnccl it has loaded, null where it has none. `echoed`
    are the variables its log says it read, with the values as NCCL took them.
    """

    node: str
    pid: int | None = None
    name: str = ""
    source: str = ""
    library: Fact[str | None] = NOT_READ
    environ: Fact[dict[str, str]] = NOT_READ
    files: Fact[tuple[ConfFile, ...]] = NOT_READ
    echoed: Fact[dict[str, str]] = NOT_READ


class Delivered(Frozen):
    """One variable at one process: wanted by the preset, seen, and where (`by`: environment, file, NCCL's log)."""

    name: str
    wanted: str
    outcome: Outcome
    seen: Fact[str | None]
    by: str = ""


class WorkerDelivery(Frozen):
    """One process and all its variables.

    `extra` are NCCL's variables there that the preset does not hold and the measurement did not run with as they are;
    `unlike` are those that the measurement inherited, with the values it had, and that are absent or others there.
    """

    node: str
    pid: int | None
    name: str
    source: str
    library: Fact[str | None]
    variables: tuple[Delivered, ...] = ()
    extra: dict[str, str] = {}
    unlike: dict[str, str] = {}


class UnseenNode(Frozen):
    """A node of the preset of which no process was seen, and why."""

    node: str
    reason: str


class Delivery(Document):
    """`answer` decides the exit status: delivered 0, not-delivered 1, could-not-tell 3."""

    kind: ClassVar[str] = "delivery"

    preset: str
    answer: Literal["delivered", "not-delivered", "could-not-tell"]
    reason: str
    workers: tuple[WorkerDelivery, ...] = ()
    unseen: tuple[UnseenNode, ...] = ()
    findings: tuple[Finding, ...] = ()
