"""Files of a preset in a folder: one per node and one of what all share, or those of a launcher; all or none of them.

Under sudo the files are the calling user's. Nothing is judged here; what a file holds comes from `render`.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fabricdoc.errors import ToolError, UsageError
from fabricdoc.export.choose import COMMON, common_part
from fabricdoc.export.formats import FAMILIES, Format, format_named
from fabricdoc.export.rendering import checked, render
from fabricdoc.model.preset import NodePreset, Preset
from fabricdoc.sudo import Owner, sudo_owner

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


def write_all(
    preset: Preset,
    folder: Path,
    fmt: str = "env",
    env: Mapping[str, str] | None = None,
    only: NodePreset | None = None,
) -> list[Path]:
    """Write the format's files into `folder`, made when missing; the paths written.

    A node's format gives NODE.env (or .sh, ...) for every node, whole in itself, and common.env with what all of
    several nodes share; a launcher's gives its files (see FAMILIES). `only` narrows it to one node. Everything is
    rendered before anything is written. UsageError as `render`, or for a node whose name can't be a file's; ToolError
    when the folder can't be written. `env` (default os.environ) tells about sudo.
    """
    texts: dict[str, tuple[str, int]] = {}
    for name in FAMILIES.get(fmt, (fmt,)):
        texts |= _texts(preset, format_named(name), only)
    owner = sudo_owner(env)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_write(folder / name, text, mode, owner) for name, (text, mode) in texts.items()]
    except OSError as error:
        reason = error.strerror or str(error)
        raise ToolError(f"can't write into {folder}: {reason}", fix="name another folder with -o DIR") from error


def _texts(preset: Preset, wanted: Format, only: NodePreset | None) -> dict[str, tuple[str, int]]:
    """File name -> text and mode, of one format."""
    mode = 0o755 if wanted.runs else 0o644
    if wanted.scope != "node":
        return {wanted.file: (render(preset, only, wanted.name), mode)}
    nodes = preset.nodes if only is None else (only,)
    found = {_file_name(node.name) + wanted.file: (render(preset, node, wanted.name), mode) for node in nodes}
    if wanted.with_common and len(nodes) > 1:
        if COMMON in {node.name for node in nodes}:
            raise UsageError(
                f"a node is called {COMMON!r}, as the file of what all nodes share is",
                fix=f"write each node's to a file of your own: --node {COMMON} > FILE",
                id="node-name",
            )
        found[COMMON + wanted.file] = (wanted.write(checked(preset, common_part(preset), wanted)), mode)
    return found


def _file_name(node: str) -> str:
    if not _FILE_NAME.match(node):
        raise UsageError(
            f"node {node!r} can't name a file", fix=f"write it to a file of your own: --node {node!r} > FILE"
        )
    return node


def _write(target: Path, text: str, mode: int, owner: Owner | None) -> Path:
    """A new file beside the target, then renamed over it: a link put there in between is replaced, not followed."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            os.fchmod(stream.fileno(), mode)
            if owner is not None:
                os.fchown(stream.fileno(), owner.uid, owner.gid)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return target
