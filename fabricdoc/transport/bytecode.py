"""The zip of a probe as bytecode, for nodes whose python reads ours: it starts without compiling some 50 modules.

Kept in the user's cache folder as one file per probe and python, believed only while it is this user's own and every
source is as it was. Where nothing may be kept it is made once for this process: a node that imports sources from a zip
compiles each of them twice (zipimport, 3.10 to 3.13). Wherever anything else is in the way, the sources travel: this
room never fails. Another machine's python is asked first whether it reads our bytecode.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from fabricdoc.files import cache_folder, own_folder
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.targets import is_boxed, python_of, reached_by
from fabricdoc.transport.zipapp import build_bytecode, needed_modules, probe_sources, probe_zip

MOST_BYTES = 8 << 20
WITH_SOURCES = ("agent",)
"""Probes that show source lines in what they report, and whose own start counts for nothing beside torch's."""


def packed_for(node: NodeSpec, module: str, inside: Sequence[str] = ()) -> bytes:
    """Compressed bytecode for a node whose python may be like ours; empty where `payload_for` knows better, or none.

    It halves the probe's start there (0.38 s of processor time against 0.18 s for a scan, on a shared machine).
    """
    if module in WITH_SOURCES or _is_ours(node, module, inside):
        return b""
    return _packed(module)


@cache
def _packed(module: str) -> bytes:
    import zlib

    data = _compiled(module)
    return zlib.compress(data, 1) if data else b""


def _is_ours(node: NodeSpec, module: str, inside: Sequence[str]) -> bool:
    """Whether the python that runs this probe is this very one."""
    elsewhere = inside or is_boxed(node, module)
    return not elsewhere and reached_by(node) in ("local", "netns") and python_of(node) == sys.executable


def payload_for(node: NodeSpec, module: str, inside: Sequence[str] = ()) -> bytes:
    """What to send `node` so that it can run probe `module`: bytecode where its python is ours, else sources.

    `inside` is a command that runs another python in that one's place.
    """
    ours = _is_ours(node, module, inside) and module not in WITH_SOURCES
    return (ours and _compiled(module)) or probe_zip(module)


@cache
def _compiled(module: str) -> bytes:
    """The bytecode of a probe, from the cache or made, and kept there where it may be; empty where none can be made."""
    try:
        folder, key = _folder(), _key()
        if not key:
            return b""
        if folder is None:
            return _made(key, module)
        path = folder / f"probe-{module}-{sys.implementation.cache_tag}.zip"
        return _kept(path, key) or _make(path, key, module)
    except OSError:
        return b""


def _folder() -> Path | None:
    """The cache folder; None under sudo (it may be another user's) and for who wants no bytecode written."""
    if sys.dont_write_bytecode or (os.geteuid() == 0 and "SUDO_UID" in os.environ):
        return None
    return cache_folder()


def _key() -> bytes:
    """What the bytecode depends on: this python, and name, size and time of every source; empty for no real files."""
    folder = own_folder("probes")
    if not isinstance(folder, Path):
        return b""
    facts = [(e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in os.scandir(folder) if e.name.endswith(".py")]
    return f"{sys.version} {sorted(facts)}".encode()


def _kept(path: Path, key: bytes) -> bytes:
    """A kept zip whose comment is `key`, if it is this user's own file and nobody else may write it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    about = os.fstat(handle)
    if about.st_uid != os.geteuid() or about.st_mode & 0o022 or not stat.S_ISREG(about.st_mode):
        os.close(handle)
        return b""
    with os.fdopen(handle, "rb") as stream:
        data = stream.read(MOST_BYTES)
    return data if data.endswith(len(key).to_bytes(2, "little") + key) else b""


def _made(key: bytes, module: str) -> bytes:
    sources = probe_sources()
    if f"probes/{module}.py" not in sources:
        return b""
    needed = needed_modules(sources, module)
    return build_bytecode({name: sources[f"probes/{name}.py"] for name in needed}, key)


def _make(path: Path, key: bytes, module: str) -> bytes:
    data = _made(key, module)
    if not data:
        return b""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
    return data
