"""fabric.toml: the nodes of a fabric, kept in a file of the working folder or the user's configuration.

Reads and checks only; writing it is `fabricdoc init`'s work. Every complaint names the file and the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import expanded, home_folder, is_folder, parse_toml, read_text
from fabricdoc.sudo import sudo_owner
from fabricdoc.transport.grammar import BOXED
from fabricdoc.transport.nodes import NodeSpec, check_unique, default_name
from fabricdoc.transport.nodesets import check_count, expand

MEND = "mend it, or write it anew: fabricdoc init --force"
FILE_NAME = "fabric.toml"
MAX_BYTES = 1024 * 1024
_TEXTS = ("name", "target", "role", "user", "python", "image", "container")
_NODE_KEYS = (*_TEXTS, "ports", "env")
_TOP_KEYS = ("node", "ssh", "clustershell")
_SSH_KEYS = ("config",)
_TREE_KEYS = ("tree", "topology")


@dataclass(frozen=True)
class Config:
    """What fabric.toml says: its nodes in order, where it lies (None: there is none), a file for `ssh -F` or "".

    `tree` is whether ClusterShell's topology.conf counts, and `topology` a file of that kind to take ("": its own).
    """

    nodes: tuple[NodeSpec, ...] = ()
    path: Path | None = None
    ssh_config: str = ""
    tree: bool = False
    topology: str = ""


def load_config(path: Path | None = None) -> Config:
    """Read `path`, else fabric.toml of the working folder, else of the XDG configuration folder, else nothing.

    Raises InputError with file and line for an unreadable or malformed file, or for a `path` that is not there.
    """
    if path is None:
        path = next((place for place in _places() if _stands(place)), None)
    return Config() if path is None else _read(path)


def _stands(place: Path) -> bool:
    """Whether something is there that is meant to be read: a link to nowhere or a pipe is told, never passed over."""
    return os.path.lexists(place) and not is_folder(place)


def as_configured(spec: NodeSpec, config: Config) -> NodeSpec:
    """A node that a document names (a preset, a stored run), with what the file says of it.

    The document has its name, target and python, and those count. All else is the file's: user, ssh's configuration,
    environment, role, image and container, ports. Of a node that the file knows at another target only role, image and
    container hold (of a container, none).
    """
    if config.tree:
        from fabricdoc.transport.topology import routed

        return routed((_as_told(spec, config),), config)[0]
    return _as_told(spec, config)


def _as_told(spec: NodeSpec, config: Config) -> NodeSpec:
    known = next((node for node in config.nodes if node.name == spec.name), None)
    if known is None:
        return replace(spec, ssh_config=config.ssh_config)
    if known.target == spec.target:
        return replace(known, python=spec.python, ports=spec.ports or known.ports)
    image, container = ("", "") if spec.where.kind in BOXED else (known.image, known.container)
    return replace(spec, ssh_config=config.ssh_config, role=known.role, image=image, container=container)


def _places() -> tuple[Path, ...]:
    home = config_home()
    return (Path(FILE_NAME), *([home / "fabricdoc" / FILE_NAME] if home else []))


def config_home() -> Path | None:
    """The XDG configuration folder; under sudo that of the user who called it; None for a user without a home."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    if given.startswith("/"):
        return Path(given)
    caller = sudo_owner()
    home = caller.home if caller else home_folder()
    return home / ".config" if home else None


def _read(path: Path) -> Config:
    text = read_text(path, str(path), fix=MEND, limit=MAX_BYTES)
    try:
        content = parse_toml(text)
    except ValueError as error:
        raise InputError(f"{path}:{_toml_line(str(error), text)}: not TOML: {error}", fix=MEND) from error
    return _Reader(path, text).config(content)


def _toml_line(message: str, text: str) -> int:
    match = re.search(r"at line (\d+)", message)
    return int(match[1]) if match else text.count("\n") + 1


class _Reader:
    """Turns the parsed tables into a Config; `path` and `text` are for the complaints."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def config(self, data: Mapping[str, Any]) -> Config:
        self._check_keys(data, _TOP_KEYS, None)
        ssh_config = self._ssh(data.get("ssh", {}))
        tree, topology = self._tree(data.get("clustershell", {}))
        tables = data.get("node", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self._complaint("node is not a list of tables: write [[node]]", None, "node")
        nodes: list[NodeSpec] = []
        names: set[str] = set()
        for number, table in enumerate(tables):
            nodes += self._nodes(number, table, ssh_config)
            try:
                check_count(len(nodes), str(self._path))
                names.update(node.name for node in nodes[len(names) :])
                if len(names) < len(nodes):
                    check_unique(nodes)
            except UsageError as error:
                raise self._complaint(error.message, number, "name", error.fix) from error
        return Config(tuple(nodes), self._path, ssh_config, tree, topology)

    def _ssh(self, table: object) -> str:
        if not isinstance(table, dict):
            raise self._complaint("ssh is not a table: write [ssh]", None, "ssh")
        self._check_keys(table, _SSH_KEYS, None)
        return self._file(table, "ssh", "config")

    def _tree(self, table: object) -> tuple[bool, str]:
        """Whether nodes are asked through the gateways of a topology, and the file that has it."""
        if not isinstance(table, dict):
            raise self._complaint("clustershell is not a table: write [clustershell]", None, "clustershell")
        self._check_keys(table, _TREE_KEYS, None)
        tree = table.get("tree", False)
        if not isinstance(tree, bool):
            raise self._complaint("clustershell.tree is neither true nor false", None, "tree")
        return tree, self._file(table, "clustershell", "topology")

    def _file(self, table: Mapping[str, Any], name: str, key: str) -> str:
        """A file that a table names, beside fabric.toml where it is not named from the root; "" for none."""
        path = table.get(key, "")
        if not isinstance(path, str):
            raise self._complaint(f"{name}.{key} is not a text", None, key)
        return str(self._path.absolute().parent / expanded(Path(path))) if path else ""

    def _nodes(self, number: int, table: Mapping[str, Any], ssh_config: str) -> list[NodeSpec]:
        """The nodes of one table: several where its name and target are node sets (of one size, side by side)."""
        self._check_keys(table, _NODE_KEYS, number)
        self._check_types(number, table)
        try:
            sets = {key: expand(table[key]) for key in ("name", "target") if key in table}
        except UsageError as error:
            raise self._complaint(error.message, number, self._guilty(error.message, table), error.fix) from error
        if len({len(texts) for texts in sets.values()}) > 1:
            message = f"{len(sets['name'])} names for {len(sets['target'])} targets"
            raise self._complaint(message, number, "name", "write node sets of one size for name and target")
        count = len(next(iter(sets.values()), ("",)))
        rows = [{**table, **{key: texts[at] for key, texts in sets.items()}} for at in range(count)]
        return [self._node(number, row, ssh_config) for row in rows]

    def _node(self, number: int, table: Mapping[str, Any], ssh_config: str) -> NodeSpec:
        values = {key: value for key, value in table.items() if key in _TEXTS}
        values["ports"] = tuple(table.get("ports", ()))
        values["env"] = dict(table.get("env", {}))
        if "name" not in values and "target" not in values:
            raise self._complaint("a node needs a name or a target", number, "")
        values.setdefault("target", values.get("name", ""))
        try:
            values.setdefault("name", default_name(values["target"]))
            return NodeSpec(**values, ssh_config=ssh_config)
        except UsageError as error:
            raise self._complaint(error.message, number, self._guilty(error.message, table), error.fix) from error

    def _check_types(self, number: int, table: Mapping[str, Any]) -> None:
        for key, value in table.items():
            if key in _TEXTS and not isinstance(value, str):
                raise self._complaint(f"{key} is not a text", number, key)
        ports = table.get("ports", [])
        if not isinstance(ports, list) or not all(isinstance(port, str) for port in ports):
            raise self._complaint("ports is not a list of texts", number, "ports")
        env = table.get("env", {})
        if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
            raise self._complaint("env is not a table of texts", number, "env")

    def _check_keys(self, table: Mapping[str, Any], known: Collection[str], number: int | None) -> None:
        for key in table:
            if key not in known:
                raise self._complaint(f"unknown key {key!r}{_nearest(key, known)}", number, key)

    @staticmethod
    def _guilty(message: str, table: Mapping[str, Any]) -> str:
        """The key whose value the message quotes, for the line number; the node's first line otherwise."""
        texts = [(key, value) for key, value in table.items() if isinstance(value, str) and value]
        return next((key for key, value in texts if repr(value) in message), "")

    def _complaint(self, message: str, number: int | None, key: str, fix: str = "") -> InputError:
        return InputError(f"{self._path}:{line_of(self._text, number, key)}: {message}", fix=fix or MEND)


def _nearest(key: str, known: Collection[str]) -> str:
    from fabricdoc.near import nearest_names

    close = nearest_names(key, known, 1)
    return f", did you mean {close[0]!r}?" if close else f"; known here: {', '.join(known)}"


def line_of(text: str, number: int | None, key: str) -> int:
    """The line, from 1, of `key` in the `number`th (from 0) `[[node]]` table; None means anywhere in the file.

    Falls back to the table's header, then to line 1: tables written inline have no lines of their own.
    """
    lines = text.splitlines()
    headers = [at for at, line in enumerate(lines) if re.match(r"\s*\[\[\s*node\s*\]\]", line)]
    start, end = 0, len(lines)
    if number is not None and number < len(headers):
        start = headers[number]
        end = headers[number + 1] if number + 1 < len(headers) else len(lines)
    wanted = re.compile(rf"\s*\[*\s*(?:node\.)?[\"']?{re.escape(key)}[\"']?\s*[=.\]]") if key else None
    return next((at + 1 for at in range(start, end) if wanted and wanted.match(lines[at])), start + 1)
