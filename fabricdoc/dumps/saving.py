"""A fabric written as a folder of JSON documents that can be read again anywhere: all of it or nothing.

    DIR/fabric.json               links, failed nodes and findings (kind fabric, without nodes)
    DIR/nodes/1-of-2-NAME.json    a document of kind fabric with one node

The folder is made beside its place and renamed to it, so a reader never meets half a dump. A folder that is there
already is replaced only when it holds a dump of ours and nothing else. Nothing is judged here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from fabricdoc.errors import ToolError, UsageError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.sudo import Owner, sudo_owner

MAIN = "fabric.json"
NODES = "nodes"
NODE_FILE = re.compile(r"(\d{1,7})-of-(\d{1,7})-[A-Za-z0-9._-]{1,80}\.json")
IN_MAIN = Unknown(unknown=f"one node of a dump: its links are in {MAIN}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]")


def save(fabric: Fabric, folder: Path, *, anonymize: bool = False, env: Mapping[str, str] | None = None) -> list[Path]:
    """Write `fabric` to `folder` (made with its parents); the paths of the files, the main one first.

    With `anonymize`, names, addresses and ids are replaced first (fabricdoc.dumps.anonymizing). UsageError as
    `check_folder`; ToolError where the disk refuses. Under sudo the files are the calling user's (`env` tells).
    """
    place = check_folder(folder)
    if anonymize:
        from fabricdoc.dumps.anonymizing import anonymized

        fabric = anonymized(fabric)
    texts = documents(fabric)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        try:
            _fill(made, texts, sudo_owner(env))
            _move(made, place)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ToolError(
            f"can't write the dump {folder}: {reason}", fix="name another folder with --save DIR"
        ) from error
    return [place / name for name in texts]


def check_folder(folder: Path) -> Path:
    """The absolute place of a dump to be written; UsageError where something foreign is there already."""
    place = Path(os.path.realpath(folder))
    try:
        if not place.exists() or (place.is_dir() and (not any(place.iterdir()) or _is_ours(place))):
            return place
    except OSError as error:
        raise ToolError(
            f"can't look into {folder}: {error.strerror}", fix="name another folder with --save DIR"
        ) from error
    what = "holds other things than a dump of fabricdoc" if place.is_dir() else "is no folder"
    raise UsageError(f"{folder} {what}: it is left alone", fix="name a new folder with --save DIR", id="folder-foreign")


def documents(fabric: Fabric) -> dict[str, str]:
    """File name -> JSON text, the main document first."""
    texts = {MAIN: _text(fabric.model_copy(update={"nodes": ()}))}
    width = len(str(len(fabric.nodes)))
    for number, node in enumerate(fabric.nodes, 1):
        word = _NOT_IN_NAMES.sub("_", node.name)[:80] or "_"
        name = f"{NODES}/{number:0{width}}-of-{len(fabric.nodes)}-{word}.json"
        texts[name] = _text(Fabric(fabricdoc=fabric.fabricdoc, created=fabric.created, nodes=(node,), links=IN_MAIN))
    return texts


def _text(document: Fabric) -> str:
    """ASCII only, so that no encoding harms it on its way."""
    text = document.model_dump_json(by_alias=True, indent=1)
    return (text if text.isascii() else json.dumps(json.loads(text), indent=1)) + "\n"


def _is_ours(place: Path) -> bool:
    """Whether a folder is a dump of ours and nothing else: its main document, and node files by our names."""
    inside = {entry.name for entry in place.iterdir()}
    nodes = place / NODES
    if MAIN not in inside or not inside <= {MAIN, NODES} or nodes.is_symlink() or (place / MAIN).is_symlink():
        return False
    if nodes.exists() and not all(NODE_FILE.fullmatch(entry.name) and entry.is_file() for entry in nodes.iterdir()):
        return False
    return _is_fabric(place / MAIN)


def _is_fabric(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8") as stream:
            head = stream.read(200)
    except (OSError, UnicodeDecodeError):
        return False
    return re.match(r'\s*\{\s*"schema":\s*"fabricdoc/fabric/\d+"', head) is not None


def _fill(made: Path, texts: Mapping[str, str], owner: Owner | None) -> None:
    for name, text in texts.items():
        path = made / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
    for path in (made, *made.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
        if owner is not None:
            os.chown(path, owner.uid, owner.gid, follow_symlinks=False)


def _move(made: Path, place: Path) -> None:
    """Put the new folder in its place; an old dump steps aside first and comes back where that fails."""
    if not place.exists() or not any(place.iterdir()):
        made.rename(place)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{place.name}.old.", dir=place.parent))
    place.rename(aside)
    try:
        made.rename(place)
    except BaseException:
        with suppress(OSError):
            aside.rename(place)
        raise
    shutil.rmtree(aside, ignore_errors=True)
