"""Lint: settings judged before a launch, at their line and column.

`read_source` takes a file apart as its reader would, `lint_unit` judges what one process gets together: an environment
and NCCL's own files below it. The judgement of values is `contradictions.check_variables`', the same that candidates
get. Which files belong together is `lint_units`' matter, what several nodes or a scan show `lint_nodes`' and
`lint_scan`'s. Reads text, no files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.contradictions import check_variables
from fabricdoc.nccl.lint_commands import shell_lines
from fabricdoc.nccl.lint_documents import yaml_lines
from fabricdoc.nccl.lint_formats import detect_format
from fabricdoc.nccl.lint_json import json_lines
from fabricdoc.nccl.lint_lines import conf_lines, docker_lines, systemd_lines
from fabricdoc.nccl.lint_refusals import refused
from fabricdoc.nccl.lint_settings import (
    FIRST_WINS,
    LONGEST,
    MOST_SETTINGS,
    Format,
    Remark,
    Setting,
    remark_on,
)
from fabricdoc.nccl.values import ANY, Nccl
from fabricdoc.nccl.versions import Release

Parser = Callable[[list[str], "Release | None"], Iterator[Setting]]
_PARSERS: Mapping[Format, Parser] = {
    "docker": docker_lines,
    "shell": shell_lines,
    "command": shell_lines,
    "nccl.conf": conf_lines,
    "systemd": systemd_lines,
    "yaml": yaml_lines,
    "json": json_lines,
}
MOST_BRANCHES = 64
ONCE = frozenset({"carriage-return-kept"})
"""What is true of a whole file and is told at its first line only."""


class Source(NamedTuple):
    """A file taken apart; `node` is whose it is ("" where nothing says), `cut` that it holds more than was read.

    `refused` says why its reader takes nothing of it.
    """

    file: str
    form: Format
    settings: tuple[Setting, ...]
    node: str = ""
    cut: bool = False
    refused: tuple[Remark, ...] = ()

    def parts(self) -> tuple[Source, ...]:
        """The same file once for each environment in it.

        A branch or a command of a script has what is exported outside of it, too (of thousands, the first ones).
        """
        groups: dict[int, list[Setting]] = {}
        for setting in self.settings:
            groups.setdefault(setting.scope, []).append(setting)
        common = groups.get(0, []) if self.form in ("shell", "command") else []
        return tuple(
            self._replace(settings=(*(common if scope and place < MOST_BRANCHES else ()), *group))
            for place, (scope, group) in enumerate(groups.items())
        )


class Entry(NamedTuple):
    """A setting and the file it stands in."""

    file: str
    setting: Setting


def settings_of(
    name: str, text: str, form: Format | None = None, release: Release | None = None
) -> tuple[Setting, ...]:
    """The variables a file sets, as its reader takes them. Raises ValueError for JSON that is none."""
    return read_source(name, text, form, release).settings


def read_source(
    name: str,
    text: str,
    form: Format | None = None,
    release: Release | None = None,
    node: str = "",
    encoding: str = "utf-8",
) -> Source:
    """A file taken apart; `detect_format` tells a format that is not given. Raises ValueError for JSON that is none.

    `encoding` is what the text was decoded from, as `refused` takes it.
    """
    form = form or detect_format(name, text)
    body = text if form == "nccl.conf" else text.removeprefix("\ufeff")
    lines = body.split("\n")
    if form != "json":
        lines = [line[:LONGEST] for line in lines]
    found = tuple(islice(_PARSERS[form](lines, release), MOST_SETTINGS + 1))
    why = refused(name, form, body, encoding)
    return Source(name, form, found[:MOST_SETTINGS], node, cut=len(found) > MOST_SETTINGS, refused=why)


def lint_text(name: str, text: str, form: Format | None = None, release: Release | None = None) -> tuple[Remark, ...]:
    """Everything wrong with the settings of one file, in the order of its lines. Raises ValueError as `settings_of`."""
    source = read_source(name, text, form, release)
    remarks = [one for part in source.parts() or (source,) for one in lint_unit([part], Nccl(release))]
    return in_order(remarks)


def in_order(remarks: Sequence[Remark]) -> tuple[Remark, ...]:
    """Remarks file by file and line by line, each once; what is true of a whole file once."""
    remarks = list(dict.fromkeys(remarks))
    files = {file: place for place, file in enumerate(dict.fromkeys(one.file for one in remarks))}
    ordered = sorted(remarks, key=lambda one: (files[one.file], one.line, one.column))
    first = {(one.file, one.complaint.id): one for one in reversed(ordered) if one.complaint.id in ONCE}
    return tuple(one for one in ordered if one.complaint.id not in ONCE or first[one.file, one.complaint.id] is one)


def winners(layers: Sequence[Source]) -> dict[str, Entry]:
    """What one process gets of files, the strongest file first: every variable with the line that wins."""
    found: dict[str, Entry] = {}
    for source in layers:
        here: dict[str, Entry] = {}
        for setting in source.settings:
            if source.form not in FIRST_WINS or setting.name not in here:
                here[setting.name] = Entry(source.file, setting)
        found = here | found
    return found


def lint_unit(layers: Sequence[Source], nccl: Nccl = ANY, node: str = "") -> tuple[Remark, ...]:
    """What is wrong with the settings that one process gets together, from files given strongest first.

    First how lines are written and what a stronger line hides, then the values that win and how they play together.
    """
    last = winners(layers)
    remarks: list[Remark] = [remark for source in layers for remark in source.refused]
    written: set[tuple[str, str, int]] = set()
    for source in layers:
        for setting in source.settings:
            for complaint in setting.wrong:
                written.add((complaint.id, source.file, setting.line))
                remarks.append(remark_on(setting, complaint, source.file, node=node))
            remarks += _hidden(Entry(source.file, setting), last, node)
    for complaint in check_variables({name: entry.setting.value for name, entry in last.items()}, nccl=nccl):
        entry = last[complaint.name]
        if (complaint.id, entry.file, entry.setting.line) not in written:
            also = tuple(last[name].setting.place(last[name].file) for name in complaint.others if name in last)
            remarks.append(remark_on(entry.setting, complaint, entry.file, also, node))
    return tuple(remarks)


def _hidden(entry: Entry, last: Mapping[str, Entry], node: str) -> Iterator[Remark]:
    """A variable that another line of the same file, or a stronger file, sets too: which line wins."""
    winner, setting = last[entry.setting.name], entry.setting
    if winner.setting is setting or not setting.name.startswith("NCCL_"):
        return
    if winner.file == entry.file and winner.setting.scope != setting.scope:
        return  # one of them stands in a branch, and need not be read
    same = winner.setting.value == setting.value
    also = (winner.setting.place(winner.file),)
    if winner.file == entry.file:
        message = f"line {winner.setting.line} sets {setting.name} too, and wins"
        complaint = Complaint("duplicate-variable", setting.name, message, "keep one of the two")
        yield remark_on(setting, complaint, entry.file, also, node)
    elif not same:
        place = f"{winner.file}:{winner.setting.line}"
        message = f"{place} sets {setting.name}={winner.setting.value[:60]} and wins: this line does nothing"
        complaint = Complaint("nccl-setting-shadowed", setting.name, message, "keep one of the two")
        yield remark_on(setting, complaint, entry.file, also, node)
