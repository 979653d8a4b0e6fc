"""Files made a fabric: documents as they are, texts through the formats, merged into nodes.

The nodes come first-named first. What could not be used is a note, and every fact of a text keeps its place. Links are
only what a document holds: no text proves which port meets which. Judgement is in `checks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricdoc.dumps import files, saved
from fabricdoc.dumps.sources import Facts
from fabricdoc.dumps.texts import FromTexts, Texts
from fabricdoc.dumps.told import Note, Sources
from fabricdoc.errors import InputError
from fabricdoc.model.documents import Fact, Unknown, utc_now
from fabricdoc.model.fabric import Fabric, FailedNode, Link, Node
from fabricdoc.model.findings import Finding

NOT_PROVEN = "text files don't prove which port meets which"


@dataclass(frozen=True)
class Replay:
    """What files hold: nodes and what a scan said then, notes on the files, and where every fact of a text stands.

    `facts` has an entry for each node that was made from text: its facts by their paths (fabricdoc.dumps.told), with
    their values and places.
    """

    nodes: tuple[Node, ...]
    failed: tuple[FailedNode, ...]
    links: Fact[tuple[Link, ...]]
    findings: tuple[Finding, ...]
    notes: tuple[Note, ...]
    facts: dict[str, Facts]
    created: str

    @property
    def sources(self) -> dict[str, Sources]:
        """Node -> path of a fact -> where it stands."""
        return {name: about.places for name, about in self.facts.items()}

    def fabric(self) -> Fabric:
        """The fabric as it was saved or told, with the findings of then."""
        return Fabric(
            created=self.created, nodes=self.nodes, failed=self.failed, links=self.links, findings=self.findings
        )

    def placed(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """The findings with the lines of texts that their evidence was read from (see `placing`)."""
        from fabricdoc.dumps.placing import placed

        return placed(findings, self.facts) if self.facts else tuple(findings)


def read_dumps(paths: Sequence[Path]) -> Replay:
    """Everything at or below `paths`. InputError for a path that is not there or where nothing at all can be used."""
    sources, notes = files.listed(paths)
    documents, texts = saved.Saved(), Texts()
    for source in sources:
        text = files.load(source)
        if isinstance(text, Note):
            notes.append(text)
        elif saved.is_document(text):
            note = documents.add(source.name, text)
            notes += [note] if note else []
        else:
            texts.add(source, text)
    told = texts.nodes()
    notes += [*saved.missing(one.name for one in sources), *told.notes]
    replay = _together(documents, told, notes)
    if not replay.nodes and not replay.failed:
        raise _nothing(paths, replay.notes)
    return replay


def _together(documents: saved.Saved, told: FromTexts, notes: Sequence[Note]) -> Replay:
    twice = [node.name for node in told.nodes if node.name in documents.nodes]
    left_out = (
        Note("contradiction", name, "is told of by texts and by a document; the document is used") for name in twice
    )
    links = documents.all_links() if documents.links or not told.nodes else Unknown(unknown=NOT_PROVEN)
    return Replay(
        nodes=(*documents.nodes.values(), *(node for node in told.nodes if node.name not in twice)),
        failed=tuple(documents.failed),
        links=links,
        findings=tuple(documents.findings),
        notes=(*notes, *left_out),
        facts={name: facts for name, facts in told.facts.items() if name not in twice},
        created=documents.created[0] if len(documents.created) == 1 else utc_now(),
    )


def _nothing(paths: Sequence[Path], notes: Sequence[Note]) -> InputError:
    first = next((f"; {note.file}: {note.message}" for note in notes), "")
    return InputError(
        f"nothing in {', '.join(map(str, paths))} tells of a node{first}",
        fix="name a folder that `fabricdoc scan --save` wrote, or files with the output of ibv_devinfo, show_gids, ...",
        id="nothing-readable",
    )
