"""Files made a fabric: documents as they are, texts through the formats, merged into nodes.

The nodes come first-named first. What could not be used is a note, and every fact of a text keeps its place. Links are
only what a document holds: no text proves which port meets which. Judgement is in `checks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricdoc.dumps import files, saved
from fabricdoc.dumps.told import Note, Sources
from fabricdoc.errors import InputError
from fabricdoc.model.documents import Fact, utc_now
from fabricdoc.model.fabric import Fabric, FailedNode, Link, Node
from fabricdoc.model.findings import Finding

NOT_PROVEN = "text files don't prove which port meets which"


@dataclass(frozen=True)
class Replay:
    """What files hold: nodes and what a scan said then, notes on the files, and where every fact of a text stands.

    `sources` has an entry for each node that was made from text: the path of a fact (fabricdoc.dumps.told) to its file
    and line.
    """

    nodes: tuple[Node, ...]
    failed: tuple[FailedNode, ...]
    links: Fact[tuple[Link, ...]]
    findings: tuple[Finding, ...]
    notes: tuple[Note, ...]
    sources: dict[str, Sources]
    created: str

    def fabric(self) -> Fabric:
        """The fabric as it was saved or told, with the findings of then."""
        return Fabric(
            created=self.created, nodes=self.nodes, failed=self.failed, links=self.links, findings=self.findings
        )


def read_dumps(paths: Sequence[Path]) -> Replay:
    """Everything at or below `paths`. InputError for a path that is not there or where nothing at all can be used."""
    sources, notes = files.listed(paths)
    documents = saved.Saved()
    for source in sources:
        text = files.load(source)
        note = text if isinstance(text, Note) else documents.add(source.name, text)
        notes += [note] if note else []
    notes += saved.missing(one.name for one in sources)
    replay = _together(documents, notes)
    if not replay.nodes and not replay.failed:
        raise _nothing(paths, replay.notes)
    return replay


def _together(documents: saved.Saved, notes: Sequence[Note]) -> Replay:
    created = documents.created[0] if len(documents.created) == 1 else utc_now()
    return Replay(
        nodes=tuple(documents.nodes.values()),
        failed=tuple(documents.failed),
        links=documents.all_links(),
        findings=tuple(documents.findings),
        notes=tuple(notes),
        sources={},
        created=created,
    )


def _nothing(paths: Sequence[Path], notes: Sequence[Note]) -> InputError:
    first = next((f": {note.file} {note.message}" for note in notes), "")
    return InputError(
        f"nothing in {', '.join(map(str, paths))} tells of a node{first}",
        fix="name a folder that `fabricdoc scan --save` wrote, or files with the output of ibv_devinfo, show_gids, ...",
        id="nothing-readable",
    )
