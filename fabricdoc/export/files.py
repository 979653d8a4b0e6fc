"""One file per node of a preset, in a folder: all of them or none, never half a file.

Under sudo the files are the calling user's. Nothing is judged here; what a file holds comes from `render`.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fabricdoc.errors import ToolError, UsageError
from fabricdoc.export.render import render
from fabricdoc.export.rules import format_named
from fabricdoc.model.preset import Preset
from fabricdoc.sudo import Owner, sudo_owner

SUFFIXES = {"env": ".env", "bash": ".sh", "docker": ".docker", "json": ".json"}
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


def write_all(preset: Preset, folder: Path, fmt: str = "env", env: Mapping[str, str] | None = None) -> list[Path]:
    """Write NODE.env (or .sh, .docker, .json) for every node into `folder`, made when missing; the paths written.

    Everything is rendered before anything is written. UsageError as `render`, or for a node whose name can't
    be a file's; ToolError when the folder can't be written. `env` (default os.environ) tells about sudo.
    """
    format_named(fmt)
    texts = {_file_name(node.name) + SUFFIXES[fmt]: render(preset, node, fmt) for node in preset.nodes}
    owner = sudo_owner(env)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_write(folder / name, text, owner) for name, text in texts.items()]
    except OSError as error:
        reason = error.strerror or str(error)
        raise ToolError(f"can't write into {folder}: {reason}", fix="name another folder with -o DIR") from error


def _file_name(node: str) -> str:
    if not _FILE_NAME.match(node):
        raise UsageError(
            f"node {node!r} can't name a file", fix=f"write it to a file of your own: --node {node!r} > FILE"
        )
    return node


def _write(target: Path, text: str, owner: Owner | None) -> Path:
    """A new file beside the target, then renamed over it: a link put there in between is replaced, not followed."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            os.fchmod(stream.fileno(), 0o644)
            if owner is not None:
                os.fchown(stream.fileno(), owner.uid, owner.gid)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return target
