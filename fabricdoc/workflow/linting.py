"""Lint, put together: read the files, decide which NCCL is meant, judge what each process gets, and then all of them.

With a scan the settings are also held against its nodes. Files are read within bounds, whatever bytes they hold;
nothing is run and no node is asked. Without a scan nothing is said about names that this machine does not have.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import is_file, read_bytes
from fabricdoc.model.naming import node_word
from fabricdoc.nccl import (
    FORMATS,
    Format,
    Nccl,
    Remark,
    Source,
    Unit,
    arranged,
    as_findings,
    by_severity,
    catalogue,
    chosen_nccl,
    harmless,
    in_order,
    lint_unit,
    lint_units_together,
    read_source,
    shown_lines,
    unread_files,
)

if TYPE_CHECKING:
    from fabricdoc.model.fabric import Fabric

MOST_BYTES = 8 << 20
"""Bytes of a file of settings that are read; a larger one is none."""
MOST_REMARKS = 500
"""Remarks that are told, the worst first: nobody mends more at a time, and hostile files have thousands."""
STDIN = "-"
NO_SETTINGS = "no settings were found in it"


class Linted(NamedTuple):
    """What lint found: remarks errors first, the files as a document tells of them, and what they were judged for."""

    remarks: tuple[Remark, ...]
    files: tuple[dict[str, Any], ...]
    told: tuple[str, ...]
    after: tuple[str, str] | None
    settings: int = 0

    @property
    def has_errors(self) -> bool:
        """Whether anything found is an error."""
        return any(remark.complaint.severity == "error" for remark in self.remarks)

    def payload(self) -> dict[str, Any]:
        """The document of kind findings without its header."""
        return as_findings(self.remarks) | {"considered": [], "collect": [], "files": list(self.files)}

    def shown(self, width: int) -> list[tuple[str, ...]]:
        """For each remark its line, and the pointer under the culprit."""
        return [shown_lines(remark, width) for remark in self.remarks]


def lint_files(
    words: Sequence[str], form: str = "", nccl: str = "", scan: Sequence[Path] = (), node: str = ""
) -> Linted:
    """Judge the files that the words name (`-` is standard input, `NODE=FILE` says whose a file is).

    `nccl` is as `chosen_nccl` takes it, `scan` files of a scan, `node` the scan's node that every file is for.
    Errors: InputError for what can't be read, UsageError for a format or a node that there is not.
    """
    if form and form not in FORMATS:
        raise UsageError(f"there is no format {form!r}", fix=f"--format is one of {', '.join(FORMATS)}")
    fabric = _fabric(scan) if scan else None
    meant = _nccl_of(fabric) if fabric is not None and not nccl else chosen_nccl(nccl, os.environ)
    sources = tuple(_source(word, form, meant, node) for word in dict.fromkeys(words))
    units = arranged(sources)
    remarks = [remark for unit in units for remark in _of_unit(unit, units, meant)]
    if len(units) > 1:
        remarks += lint_units_together(units)
    if fabric is not None:
        from fabricdoc.nccl import judge_scan

        remarks += judge_scan(units, fabric, node, meant)
    ordered = by_severity(in_order(remarks))
    found = ordered[:MOST_REMARKS]
    told = (*_empty(sources), *_told(meant, fabric, len(ordered) - len(found)))
    count = sum(len(source.settings) for source in sources)
    after = _after(found, words, scan, fabric) if count or found else None
    return Linted(found, tuple(map(_told_of, sources)), told, after, count)


def _of_unit(unit: Unit, units: Sequence[Unit], meant: Nccl) -> list[Remark]:
    whose = unit.name if len(units) > 1 and any(source.node for source in unit.layers) else ""
    return [*lint_unit(unit.layers, meant, whose), *unread_files(unit)]


def _source(word: str, form: str, meant: Nccl, node: str) -> Source:
    whose, file = _split(word)
    wanted: Format | None = next((one for one in FORMATS if one == form), None)
    text, encoding = _text(file)
    try:
        return read_source("<stdin>" if file == STDIN else file, text, wanted, meant.release, whose or node, encoding)
    except ValueError as error:
        raise InputError(f"{harmless(file)} is no JSON: {error}", fix="--format says how it is to be read") from error


def _split(word: str) -> tuple[str, str]:
    """(node, file) of `NODE=FILE`; a file whose own name has `=` in it is taken as it is."""
    node, equals, file = word.partition("=")
    return ("", word) if not equals or not node or is_file(Path(word)) or "/" in node else (node, file)


def _text(file: str) -> tuple[str, str]:
    """The text, and what it was decoded from: `utf-8`, `utf-16`, or `utf-8?` where bytes of it were none."""
    data = (
        sys.stdin.buffer.read(MOST_BYTES + 1) if file == STDIN else read_bytes(Path(file), harmless(file), MOST_BYTES)
    )
    if len(data) > MOST_BYTES:
        raise InputError(
            f"{harmless(file)} is longer than {MOST_BYTES >> 20} MiB: no file of settings",
            fix="name the env file itself",
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), "utf-16"
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), "utf-8?"


def _fabric(scan: Sequence[Path]) -> Fabric:
    """The scan's nodes and links; those read from other tools' text can't be asked again, and have no target."""
    from fabricdoc.dumps import read_dumps

    for path in scan:
        if not os.path.lexists(path):
            fix = f"name what `fabricdoc scan --save DIR` wrote; to write it now: fabricdoc scan --save {_quoted(path)}"
            raise InputError(f"--scan {harmless(str(path))}: there is no such file or folder", fix=fix)
    read = read_dumps(scan)
    fabric = read.fabric()
    nodes = tuple(node.model_copy(update={"target": ""}) if node.name in read.facts else node for node in fabric.nodes)
    return fabric.model_copy(update={"nodes": nodes})


def _nccl_of(fabric: Fabric) -> Nccl:
    from fabricdoc.nccl import nccl_of

    return nccl_of(fabric)


def _told_of(source: Source) -> dict[str, Any]:
    count = len(source.settings)
    note = f"{count} setting{'s' if count > 1 else ''} read" if count else NO_SETTINGS
    note = f"only the first {count} settings were judged" if source.cut else note
    last = max((setting.line for setting in source.settings), default=0)
    name = source.file.encode("utf-8", "replace").decode("utf-8")
    return {"name": name, "kinds": [source.form], "node": source.node, "lines": last, "note": note}


def _empty(sources: Sequence[Source]) -> Iterator[str]:
    """Files in which there was nothing to judge, and as what those without a setting were read."""
    for source in sources:
        if not source.settings:
            yield f"no settings found in {harmless(source.file)}, read as {source.form} (--format says otherwise)"
        elif not any(one.name.startswith("NCCL_") or one.name in catalogue() for one in source.settings):
            yield f"no setting in {harmless(source.file)} is NCCL's, or of a program around it that is judged here"


def _told(meant: Nccl, fabric: Fabric | None, left_out: int) -> tuple[str, ...]:
    told = [f"{left_out} more remarks are left out"] if left_out else []
    if fabric is not None:
        nodes = [node.name for node in fabric.nodes]
        told.append(f"held against the scan of {', '.join(nodes[:8])}{' and more' if len(nodes) > 8 else ''}")
    if meant.told:
        told.append(f"judged for {meant.told}")
    return tuple(told)


def _after(
    remarks: Sequence[Remark], words: Sequence[str], scan: Sequence[Path], fabric: Fabric | None
) -> tuple[str, str] | None:
    """The command worth running next, and why."""
    named = [word for word in words if word != STDIN]
    if not named:
        return None
    files = " ".join(shlex.quote(word) for word in named)
    if any(remark.complaint.severity == "error" for remark in remarks):
        held = "".join(f" --scan {shlex.quote(str(path))}" for path in scan)
        return f"fabricdoc lint {files}{held}", "look again, once it is mended"
    if fabric is None:
        return f"fabricdoc scan --save scan; fabricdoc lint {files} --scan scan", "hold the names against the node"
    if len(fabric.nodes) < 2 or not all(node.target for node in fabric.nodes):
        return None
    nodes = ",".join(shlex.quote(node_word(node.name, node.target)) for node in fabric.nodes)
    current = shlex.quote(_split(named[0])[1])
    return f"fabricdoc bench --nodes {nodes} --current {current}", "measure these settings beside base"


def _quoted(path: Path) -> str:
    return shlex.quote(harmless(str(path)))
