"""Shared libraries as a process started here would find them: NCCL, its plugins, the providers of libibverbs.

Searched as the dynamic loader does (ld.so(8): LD_PRELOAD, LD_LIBRARY_PATH, /etc/ld.so.cache, the default folders),
and beside them the copy that a torch from a wheel brings (nvidia/nccl/lib among python's packages). Nothing is loaded:
a version is read from the file's own text. Which of them a server uses is told by that server alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from .facts import attempt, clean, exists, listed, load, unknown
from .library_file import nccl_version, sha256
from .loader_cache import cached

NCCL = "libnccl.so.2"
VERBS = "libibverbs.so.1"
PLUGIN = re.compile(r"libnccl-(net|tuner|profiler|env|gin)[^/]{0,128}\.so(\.\d+)*")
PROVIDER = re.compile(r"lib([\w+.-]{1,64})-rdmav\d{1,4}\.so")
DRIVERS = "/etc/libibverbs.d"
DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
WHEEL = "nvidia/nccl/lib"
MAX_FOLDERS = 64
MAX_FOUND = 16
NO_VERSION = "a plugin's file does not say its version"


class Search:
    """Where libraries are looked for: `root` stands before every path, `packages` are python's folders."""

    def __init__(self, root: str, environ: Mapping[str, str], packages: Iterable[str] = ()) -> None:
        self.root = root
        self.packages = [f"{folder}/{WHEEL}" for folder in packages if folder.startswith("/")][:MAX_FOLDERS]
        self.preload = [one for one in re.split(r"[ :]+", environ.get("LD_PRELOAD", "")) if one.startswith("/")]
        wanted = environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")
        self.folders = [one for one in wanted if one.startswith("/")][:MAX_FOLDERS]
        self._cached: dict[str, str] | None = None

    @property
    def cache(self) -> dict[str, str]:
        """Name to path of the loader's cache, read once; empty where there is none."""
        if self._cached is None:
            self._cached = cached(f"{self.root}/etc/ld.so.cache")
        return self._cached

    def find(self, name: str) -> list[str]:
        """Every file of that name in the loader's order, then python's packages'; one file under two names is one."""
        preloaded = [one for one in self.preload if one.rpartition("/")[2] == name]
        from_cache = [self.cache[name]] if name in self.cache else []
        folders = [*self.folders, *DEFAULT_FOLDERS]
        return self._present(
            [
                *preloaded,
                *(f"{folder}/{name}" for folder in self.folders),
                *from_cache,
                *(f"{folder}/{name}" for folder in (*folders[len(self.folders) :], *self.packages)),
            ]
        )

    def matching(self, pattern: re.Pattern[str]) -> list[str]:
        """Every file on the loader's way whose name fits, in the same order."""
        in_folders = [f"{one}/{name}" for one in self.folders for name in self._fitting(one, pattern)]
        from_cache = [path for name, path in sorted(self.cache.items()) if pattern.fullmatch(name)]
        rest = [f"{one}/{name}" for one in DEFAULT_FOLDERS for name in self._fitting(one, pattern)]
        return self._present([*in_folders, *from_cache, *rest])

    def _fitting(self, folder: str, pattern: re.Pattern[str]) -> list[str]:
        return [name for name in listed(self.root + folder) if pattern.fullmatch(name)]

    def _present(self, paths: list[str]) -> list[str]:
        seen: dict[str, str] = {}
        for path in paths:
            if exists(self.root + path):
                seen.setdefault(os.path.realpath(self.root + path), path)
        return list(seen.values())[:MAX_FOUND]


def libnccl(search: Search, *, hashed: bool) -> list[dict[str, Any]]:
    """model.host.Library of each libnccl.so.2, the one found first first; `hashed` also takes the file's SHA-256."""
    return [
        {
            "path": clean(path),
            "version": attempt(lambda file=search.root + path: nccl_version(file)),  # type: ignore[misc]
            "sha256": _hash(search.root + path, hashed),
        }
        for path in search.find(NCCL)
    ]


def _hash(file: str, hashed: bool) -> Any:
    return attempt(lambda: sha256(file)) if hashed else unknown('not asked for (the request\'s "hash")')


def nccl_plugins(search: Search) -> list[dict[str, Any]]:
    """model.host.Library of each NCCL plugin that a process started here could load by name."""
    return [
        {"path": clean(path), "version": unknown(NO_VERSION), "sha256": unknown("not asked for")}
        for path in search.matching(PLUGIN)
    ]


def providers(search: Search) -> Any:
    """The driver libraries that libibverbs would load: beside it, and named in /etc/libibverbs.d where that is there.

    rdma-core (libibverbs/dynamic_driver.c) loads lib<driver>-rdmav<N>.so from the folder `libibverbs` next to the
    library for each line "driver <driver>"; without that folder of settings all that are there are listed.
    """
    found = search.find(VERBS)
    if not found:
        return unknown(f"{VERBS} is not on the loader's way")
    real = os.path.realpath(search.root + found[0]).removeprefix(search.root)
    beside = dict.fromkeys(file.rpartition("/")[0] for file in (found[0], real))
    names = sorted({name for one in beside for name in listed(f"{search.root}{one}/libibverbs")})
    named = registered(search.root)
    fitting = [(name, match[1]) for name in names if (match := PROVIDER.fullmatch(name))]
    return [name for name, driver in fitting if named is None or driver in named][: MAX_FOUND * 4]


def registered(root: str) -> set[str] | None:
    """The drivers that /etc/libibverbs.d names; None where it has no files."""
    files = [name for name in listed(root + DRIVERS) if name.endswith(".driver")]
    if not files:
        return None
    named: set[str] = set()
    for file in files[:MAX_FOLDERS]:
        try:
            lines = load(f"{root}{DRIVERS}/{file}").splitlines()
        except OSError:
            continue
        words = [line.split() for line in lines]
        named |= {
            two[1].rpartition("/")[2].removeprefix("lib") for two in words if len(two) == 2 and two[0] == "driver"
        }
    return named
