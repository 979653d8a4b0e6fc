"""The `lab` document: the standing labs as `fabricdoc lab list --json` shows them. No behaviour."""

from __future__ import annotations

from typing import ClassVar

from fabricdoc.lab.spec import LabState
from fabricdoc.model.documents import Document


class LabDocument(Document):
    """The labs that stand, by name: who holds each, its spec and its nodes."""

    kind: ClassVar[str] = "lab"

    labs: tuple[LabState, ...] = ()
