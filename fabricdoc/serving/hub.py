"""Where a model named in a launch line has its config on this machine: a folder, or the Hugging Face cache.

Looks only, downloads nothing. Cache layout: huggingface_hub (models--ORG--NAME/refs, snapshots).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fabricdoc.errors import UsageError
from fabricdoc.files import home_folder, is_file

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?", re.ASCII)
REVISION = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
MOST_SNAPSHOTS = 256


def config_of(model: str, environ: Mapping[str, str], root: str = "") -> Path:
    """The config.json of that model. UsageError where it is not on this machine, saying where it was looked for.

    `root` is in front of every path: the root folder of a process in a container.
    """
    if model.startswith(("/", "./", "../", "~")):
        folder = Path(root + model) if model.startswith("/") else Path(model).expanduser()
        for file in (folder / "config.json", folder):
            if is_file(file):
                return file
        raise _absent(model, f"{folder} has no config.json")
    if not NAME.fullmatch(model):
        raise _absent(model[:80], "the launch line names no model that can be looked up")
    cache = _cache(environ, root)
    for snapshot in _snapshots(cache / f"models--{model.replace('/', '--')}"):
        if is_file(snapshot / "config.json"):
            return snapshot / "config.json"
    local = Path(root + "/" + model if root else model) / "config.json"
    if is_file(local):
        return local
    raise _absent(model, f"{cache} has no snapshot of it")


def _cache(environ: Mapping[str, str], root: str) -> Path:
    if environ.get("HF_HUB_CACHE"):
        return Path(root + environ["HF_HUB_CACHE"])
    if environ.get("HF_HOME"):
        return Path(root + environ["HF_HOME"]) / "hub"
    home = environ.get("HOME") or (str(home_folder() or "/") if not root else "/root")
    return Path(root + home) / ".cache" / "huggingface" / "hub"


def _snapshots(repository: Path) -> list[Path]:
    """The snapshot that refs/main names first, then the others by age, newest first."""
    try:
        named = (repository / "refs" / "main").read_text(encoding="utf-8")[:200].strip()
    except (OSError, ValueError):
        named = ""
    try:
        folders = sorted((repository / "snapshots").iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)
    except OSError:
        folders = []
    first = [repository / "snapshots" / named] if REVISION.fullmatch(named) else []
    return [*first, *folders[:MOST_SNAPSHOTS]]


def _absent(model: str, why: str) -> UsageError:
    return UsageError(
        f"the config of {model!r} is not on this machine: {why}",
        fix="name it: fabricdoc profile derive config.json --from ...",
        id="config-absent",
    )
