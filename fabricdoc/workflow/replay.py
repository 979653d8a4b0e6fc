"""A fabric from files, judged like a fresh one: the checks of this version on the facts of then.

Findings that only frames on the wire could make are kept as they were saved; all others are made again. What the files
hold that could not be used is a finding too. No node is asked.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from fabricdoc.checks import judged
from fabricdoc.dumps import Note, Replay, read_dumps, save
from fabricdoc.errors import InputError
from fabricdoc.fabric import selected, traced
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding, Severity

SHOWN_NOTES = 8
EXPLAINED = re.compile(
    r"\bNCCL (?:INFO|WARN|ERROR|TRACE|version)\b|^\s*(?:export\s+|-e\s+)?(?:NCCL|TORCH_NCCL|GLOO|UCX)_\w+\s*="
)
"""How lines begin or look that NCCL logs, and that set a variable."""
ABOUT: dict[str, tuple[str, Severity, str, str]] = {
    "unreadable": (
        "dump-unreadable",
        "warning",
        "A file could not be used, so what it tells is not in this answer.",
        "send it again as plain text or as `fabricdoc scan --save` wrote it",
    ),
    "unrecognised": (
        "dump-not-recognised",
        "info",
        "These lines are the output of no tool that fabricdoc reads, so nothing was taken from them.",
        "keep the command before its output, as in `$ ibv_devinfo -v`",
    ),
    "explained": (
        "dump-not-recognised",
        "info",
        "These lines are NCCL's log or settings: a scan takes nothing from them, `explain` reads them, with the rest.",
        "",
    ),
    "contradiction": (
        "dump-contradiction",
        "warning",
        "The files tell one thing in two ways: they were taken at different times, or of different nodes. The first "
        "one is used.",
        "give the files of one moment, each node's in a folder of its own",
    ),
}


def replay_fabric(paths: Sequence[Path], progress: Callable[[str], None] = lambda _: None) -> Fabric:
    """The fabric that the files at or below `paths` tell of, with findings. InputError where they tell of none."""
    progress(f"reading {', '.join(map(str, paths))}")
    try:
        read = read_dumps(paths)
    except InputError as error:
        if error.id != "nothing-readable":
            raise
        fix = f"{error.fix}; logs and env files: {_explain(paths)}"
        raise InputError(error.message, fix=fix, id=error.id) from error
    told = judged(selected(traced(read.fabric())))
    return told.model_copy(update={"findings": (*read.placed(told.findings), *note_findings(read, paths))})


def note_findings(read: Replay, paths: Sequence[Path] = ()) -> tuple[Finding, ...]:
    """One finding per kind of note, with the files and lines meant as evidence; `paths` are what was named."""
    groups: dict[str, list[Note]] = defaultdict(list)
    for note in read.notes:
        groups["explained" if note.kind == "unrecognised" and _is_explained(note) else note.kind].append(note)
    return tuple(_finding(kind, groups[kind], paths) for kind in ABOUT if kind in groups)


def _is_explained(note: Note) -> bool:
    """Whether lines that no tool wrote are NCCL's log or settings, which `explain` reads."""
    return EXPLAINED.search(note.text) is not None


def _explain(paths: Sequence[Path]) -> str:
    return f"fabricdoc explain {' '.join(shlex.quote(str(path)) for path in paths) or 'PATH...'}"


def _finding(kind: str, notes: Sequence[Note], paths: Sequence[Path] = ()) -> Finding:
    id, severity, cause, fix = ABOUT[kind]
    fix = fix or _explain(paths)
    files = list(dict.fromkeys(note.file for note in notes))
    shown = [Evidence(file=note.file, line=note.first, text=_words(note)) for note in notes[:SHOWN_NOTES]]
    hidden = notes[SHOWN_NOTES:]
    rest = [Evidence(file=hidden[0].file, text=f"and {len(hidden)} more places from here on")] if hidden else []
    subject = files[0] if len(files) == 1 else f"{len(files)} files"
    return Finding(id=id, severity=severity, subject=subject, evidence=(*shown, *rest), cause=cause, fix=(fix,))


def _words(note: Note) -> str:
    lines = f"lines {note.first}-{note.last}: " if note.last is not None and note.last != note.first else ""
    return f"{lines}{note.message}{f': {note.text}' if note.text else ''}"


def save_fabric(fabric: Fabric, folder: Path, *, anonymize: bool) -> tuple[str, str]:
    """Write the fabric as a dump; the command that reads it again, and what for. Errors as `fabricdoc.dumps.save`."""
    save(fabric, folder, anonymize=anonymize)
    return f"fabricdoc scan --from {shlex.quote(str(folder))}", "see this again anywhere"
