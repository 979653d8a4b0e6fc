"""Lint: settings judged before a launch, at their line and column.

A file's format is told by its name, then by its lines; `*.env` is a file for docker --env-file unless something else is
said. The judgement of values is `contradictions.check_variables`', the same that candidates get. Reads text, no files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.contradictions import check_variables
from fabricdoc.nccl.lint_commands import shell_lines
from fabricdoc.nccl.lint_documents import json_lines, yaml_lines
from fabricdoc.nccl.lint_lines import conf_lines, docker_lines, systemd_lines
from fabricdoc.nccl.lint_settings import MAX_TEXT, MOST_SETTINGS, Format, Remark, Setting, column_of
from fabricdoc.nccl.variables import must_agree
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
_BY_NAME: Sequence[tuple[str, Format]] = (
    (r"(?:.*[./-])?nccl\.conf(?:\..*)?", "nccl.conf"),
    (r".*\.(?:env|env\..*)|\.?env(?:-file|file)?(?:\..*)?", "docker"),
    (r".*\.(?:ya?ml)", "yaml"),
    (r".*\.(?:sh|bash|zsh|slurm|sbatch)|\.?(?:bashrc|profile|bash_profile|zshrc)", "shell"),
    (r".*\.(?:service|socket|unit)|override\.conf", "systemd"),
    (r".*\.json", "json"),
)
LONGEST = 32768
"""Characters of a line that are read: more than any environment may hold in one variable of NCCL's."""

_LAUNCHER = re.compile(r"(?:^|\s)(?:docker|podman|mpirun|mpiexec|srun|torchrun|vllm|python3?)\s")
_ASSIGNMENT = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)


def detect_format(name: str, text: str) -> Format:
    """How a file is read: by its name, else by what its lines look like."""
    base = name.replace("\\", "/").rpartition("/")[2].lower()
    for pattern, form in _BY_NAME:
        if re.fullmatch(pattern, base):
            return form
    lines = [line.strip() for line in text.splitlines()[:400] if line.strip() and not line.lstrip().startswith("#")]
    if text.startswith("#!") or any(re.match(r"export\s+\w+=", line) for line in lines):
        return "shell"
    if any(line.startswith(("[Service]", "[Unit]", "Environment=")) for line in lines):
        return "systemd"
    if text.lstrip()[:1] in ("{", "["):
        return "json"
    if any(_LAUNCHER.search(line) for line in lines):
        return "command"
    if any(re.match(r"(?:services|environment|apiVersion|kind|env):", line) for line in lines):
        return "yaml"
    return "docker" if lines and all(_ASSIGNMENT.match(line) for line in lines) else "shell"


def settings_of(
    name: str, text: str, form: Format | None = None, release: Release | None = None
) -> tuple[Setting, ...]:
    """The variables a file sets, as its reader takes them. Raises ValueError for JSON that is none."""
    lines = [line[:LONGEST] for line in text.removeprefix("\ufeff").split("\n")]
    found = _PARSERS[form or detect_format(name, text)](lines, release)
    return tuple(setting for setting, _ in zip(found, range(MOST_SETTINGS), strict=False))


def lint_text(name: str, text: str, form: Format | None = None, release: Release | None = None) -> tuple[Remark, ...]:
    """Everything wrong with the settings of one file, in the order of its lines. Raises ValueError as `settings_of`."""
    settings = settings_of(name, text, form, release)
    scopes: dict[int, list[Setting]] = {}
    for setting in settings:
        scopes.setdefault(setting.scope, []).append(setting)
    remarks = [remark for scope in scopes.values() for remark in _scope(name, scope, release)]
    return tuple(sorted(remarks, key=lambda remark: (remark.line, remark.column)))


def _scope(name: str, settings: Sequence[Setting], release: Release | None) -> Iterator[Remark]:
    """What is wrong with the settings that one process gets together."""
    last = {setting.name: setting for setting in settings}
    written: set[tuple[str, int]] = set()
    for setting in settings:
        for complaint in (*setting.wrong, *_again(setting, last)):
            written.add((complaint.id, setting.line))
            yield _remark(name, complaint, setting)
    for complaint in check_variables({setting.name: setting.value for setting in last.values()}, release):
        setting = last[complaint.name]
        if (complaint.id, setting.line) not in written:
            yield _remark(name, complaint, setting)


def _again(setting: Setting, last: Mapping[str, Setting]) -> Iterator[Complaint]:
    """A variable that a later line sets anew."""
    winner = last[setting.name]
    if winner is not setting and setting.name.startswith("NCCL_"):
        message = f"line {winner.line} sets {setting.name} again, and wins"
        yield Complaint("duplicate-variable", setting.name, message, "keep one of the two")


def _remark(file: str, complaint: Complaint, setting: Setting) -> Remark:
    text = setting.text.removesuffix("\r")[:MAX_TEXT]
    after = 0 if complaint.id == "export-kept" else setting.column - 1
    part = complaint.culprit if complaint.culprit and complaint.culprit in text[after:] else setting.name
    width = len(part) if part in text else 0
    return Remark(complaint, file, setting.line, column_of(text, part, after), width, text)


def lint_pair(files: Mapping[str, Mapping[str, str]]) -> tuple[Complaint, ...]:
    """What differs between nodes and must agree; `files` holds each node's variables by the node's or file's name."""
    names = dict.fromkeys(name for variables in files.values() for name in variables if must_agree(name))
    return tuple(one for name in names for one in _differs(name, files))


def _differs(name: str, files: Mapping[str, Mapping[str, str]]) -> Iterator[Complaint]:
    values = {file: variables.get(name, "not set") for file, variables in files.items()}
    if len(set(values.values())) > 1:
        told = ", ".join(f"{value} ({file})" for file, value in list(values.items())[:8])
        yield Complaint("must-agree-differs", name, f"{name} must be equal on all ranks, and is {told}", "set it alike")
