"""Read the user's current settings on every node: from a file, a process or a container, by the `settings` probe.

A relative path is a file here and counts for every node; an absolute one is looked for on every node first. A node
that lacks what is named is named in the error. Decides nothing about the settings (`bench.current` does).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricdoc.bench import CurrentSource, read_file, settings_of
from fabricdoc.errors import FabricdocError, InputError, NodeError, UsageError
from fabricdoc.files import is_file
from fabricdoc.transport import NodeSpec, ask

DEADLINE_S = 25.0
MOST_VALUES = 256
MOST_TEXT = 4096


def read_on_nodes(source: CurrentSource, specs: Sequence[NodeSpec]) -> dict[str, dict[str, str]]:
    """The communication variables of every node, by its name.

    InputError where a file has none or is not everywhere, UsageError for a node without a pid or container of its own,
    NodeError where a process or container can't be read.
    """
    if source.kind == "file" and not Path(source.value).is_absolute():
        return dict.fromkeys((spec.name for spec in specs), read_file(Path(source.value)).values)
    _refuse_unnamed(source, specs)
    found = {spec.name: _asked(spec, source) for spec in specs}
    if source.kind == "file":
        return _of_files(source, found)
    problems = {name: str(one["problem"]) for name, one in found.items() if "problem" in one}
    if problems:
        raise _unreadable(source, found, problems)
    values = {name: _values(one) for name, one in found.items()}
    if not any(values.values()):
        raise InputError(f"{source} sets no communication variable on any node", fix="is it the server's process?")
    return values


def _refuse_unnamed(source: CurrentSource, specs: Sequence[NodeSpec]) -> None:
    names = [spec.name for spec in specs]
    if strange := [node for node in source.nodes if node not in names]:
        raise UsageError(f"--current names {strange[0]!r}, which is no node of this bench ({', '.join(names)})")
    if missing := [name for name in names if source.of(name) is None]:
        raise UsageError(f"--current names no {source.kind} for {missing[0]}", fix=f"add {missing[0]}=... to it")


def _asked(spec: NodeSpec, source: CurrentSource) -> dict[str, Any]:
    request = {"do": "read", "kind": source.kind, "value": source.of(spec.name)}
    (answer,) = ask([spec], "settings", request, deadline_s=DEADLINE_S)
    if answer.error is not None:
        raise answer.error
    return answer.message or {"problem": "the probe gave no answer"}


def _unreadable(
    source: CurrentSource, found: Mapping[str, Mapping[str, Any]], problems: Mapping[str, str]
) -> FabricdocError:
    """One error for all nodes that lack it: what each lacks, and what to do."""
    told = "; ".join(f"{name}: {problem[:200]}" for name, problem in problems.items())
    if any(one.get("denied") for one in found.values()):
        return NodeError(told, fix="only its owner and root may read it: connect as that user", id="current-unreadable")
    example = ",".join(f"{name}=..." for name in found)
    fix = f"name one for each node: --current {source.kind}:{example}" if not source.nodes else "see what runs there"
    return NodeError(f"--current {source}: {told}", fix=fix, id="current-missing")


def _of_files(source: CurrentSource, found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """The file of each node; where no node has it, the one here."""
    path = Path(source.value)
    missing = [name for name, one in found.items() if one.get("missing")]
    if len(missing) == len(found) and is_file(path):
        return dict.fromkeys(found, read_file(path).values)
    problems = {name: str(one["problem"])[:200] for name, one in found.items() if "problem" in one}
    if problems:
        raise InputError(
            "; ".join(f"{name}: {problem}" for name, problem in problems.items()),
            fix="put it on every node, or give a relative path to take one file for all",
        )
    values = {name: _values(one) for name, one in found.items()}
    if not any(values.values()):
        raise InputError(f"{path} sets no communication variable", fix="name the env file your server starts with")
    return values


def _values(message: Mapping[str, Any]) -> dict[str, str]:
    """What a node said, held to the allow-list and to texts of a sane length again: it is not trusted."""
    raw = message.get("values")
    pairs = raw.items() if isinstance(raw, dict) else ()
    texts = [(name, value) for name, value in pairs if isinstance(name, str) and isinstance(value, str)]
    return settings_of((name, value[:MOST_TEXT]) for name, value in texts[:MOST_VALUES]).values
