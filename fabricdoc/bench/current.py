"""The user's current settings as a candidate: what his server has on every node today, judged beside the others.

`parse_current` reads the words of --current; the settings come from a file here or, by the `settings` probe, from a
file, a process or a container of each node. Variables that would break the measuring itself (log level, rendezvous)
are left out; what must not run is not run, and the reason is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from fabricdoc.bench.candidate_values import needs_fresh_agent, unequal
from fabricdoc.bench.ground import not_read, strangers
from fabricdoc.bench.settings_text import PREFIXES, Settings, read_settings
from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import read_text
from fabricdoc.model.run import Candidate, NotOffered
from fabricdoc.nccl import catalogue, reject_unsafe

Kind = Literal["file", "pid", "container"]
OURS = ("NCCL_COMM_ID", "NCCL_CONF_FILE", "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE")
"""What the bench decides itself (where ranks meet), or what would write files of the user's server again."""
MAX_PID = 1 << 22
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", re.ASCII)


class CurrentSource(NamedTuple):
    """Where the current settings are: one `value` for every node, or one per node in `nodes`."""

    kind: Kind
    value: str = ""
    nodes: Mapping[str, str] = {}

    def of(self, node: str) -> str | None:
        """The file, pid or container on that node; None where none is named for it."""
        return self.nodes.get(node) if self.nodes else self.value

    def __str__(self) -> str:
        """As it is written on the command line."""
        said = ",".join(f"{node}={value}" for node, value in self.nodes.items()) or self.value
        return said if self.kind == "file" else f"{self.kind}:{said}"


def parse_current(text: str) -> CurrentSource:
    """FILE, pid:N or container:NAME; pid and container also per node, as pid:alpha=12,beta=34. Raises UsageError."""
    kind, colon, rest = text.partition(":")
    if not colon or kind not in ("pid", "container"):
        if not text or "\0" in text:
            raise UsageError(f"--current {text!r}: no file, pid or container is named", fix=_FORMS)
        return CurrentSource("file", text)
    found: Kind = "pid" if kind == "pid" else "container"
    if "=" not in rest:
        return CurrentSource(found, _checked(found, rest, text))
    nodes = [part.partition("=")[::2] for part in rest.split(",") if part]
    if len({node for node, _ in nodes}) < len(nodes) or not all(node for node, _ in nodes):
        raise UsageError(f"--current {text}: each node is named once", fix=_FORMS)
    return CurrentSource(found, nodes={node: _checked(found, value, text) for node, value in nodes})


_FORMS = "write --current serve.env, --current pid:4711, --current container:vllm, or pid:NODE=4711,NODE=1234"


def _checked(kind: Kind, value: str, text: str) -> str:
    number = int(value) if kind == "pid" and value.isascii() and value.isdecimal() and len(value) < 10 else 0
    if kind == "pid" and not 0 < number <= MAX_PID:
        raise UsageError(f"--current {text}: {value[:40]!r} is no process number", fix=_FORMS)
    if kind == "container" and not _NAME.fullmatch(value):
        raise UsageError(f"--current {text}: {value[:40]!r} is no name or id of a container", fix=_FORMS)
    return value


def read_file(path: Path) -> Settings:
    """The communication variables of a settings file here. InputError where there are none, or it can't be read."""
    settings = read_settings(read_text(path, str(path), fix="name an env file with KEY=value lines"))
    if not settings.values:
        raise InputError(
            f"{path} sets no communication variable ({', '.join(PREFIXES[:3])}...)",
            fix="name the env file your server starts with",
        )
    return settings


def current_candidate(source: CurrentSource, nodes: Mapping[str, Mapping[str, str]]) -> Candidate:
    """The candidate from the variables of every node: equal ones common, the others per node."""
    kept = {node: {name: value for name, value in own.items() if _is_taken(name)} for node, own in nodes.items()}
    rows = list(kept.values())
    common = {name: value for name, value in rows[0].items() if all(row.get(name) == value for row in rows)}
    own = {node: {name: value for name, value in row.items() if name not in common} for node, row in kept.items()}
    return Candidate(
        name="current",
        role="current",
        variables=common,
        node_variables={node: values for node, values in own.items() if values},
        on_base=False,
        why=f"as in {source}",
        source=f"read on {', '.join(nodes)}",
        set_name="current",
        fresh_agent=needs_fresh_agent(name for row in rows for name in row),
    )


def _is_taken(name: str) -> bool:
    entry = catalogue().get(name)
    return name not in OURS and (entry is None or entry.area != "debug")


def left_out(nodes: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """The names that are not taken over: log settings and what the bench decides itself."""
    return tuple(sorted({name for own in nodes.values() for name in own if not _is_taken(name)}))


def refused(current: Candidate, names: Sequence[str]) -> NotOffered | None:
    """Why the current settings must not be run (they could corrupt data, or hang every rank), or None."""
    own = {node: current.node_variables.get(node, {}) for node in names}
    reason = next((why for values in own.values() if (why := reject_unsafe(current.variables | values))), None)
    if reason is None and (differs := unequal(current.variables, own)):
        reason = f"{differs[0]} must be equal on all ranks, and is {differs[1]}: ranks would hang or mix up messages"
    return None if reason is None else NotOffered(name="current", set_name="current", reason=reason)


def remarks(current: Candidate, versions: Sequence[str]) -> tuple[str, ...]:
    """What of the current settings has no effect with the loaded NCCL: unknown names, not yet or no longer read."""
    names = dict.fromkeys([*current.variables, *(name for own in current.node_variables.values() for name in own)])
    unread = [reason for name in names for version in versions if (reason := not_read(name, version))]
    return (*strangers(names), *unread)
