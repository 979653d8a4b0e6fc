"""Which torch this node's python would import, from package metadata; nothing is imported to learn it."""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from .facts import listed, unknown


def import_path(environ: Mapping[str, str]) -> list[str]:
    """Where this python would look for packages if it were not isolated: PYTHONPATH, user site, its own path."""
    ahead = [one for one in environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    return [*ahead, site.getusersitepackages(), *(one for one in sys.path if one)]


def torch_version(path: Iterable[str]) -> Any:
    """Version of the first torch on `path`, from its package metadata; torch is never imported."""
    for folder in path:
        for name in listed(folder):
            if re.fullmatch(r"torch-[^-]+(-py[\d.]+)?\.(dist|egg)-info", name):
                return name.split("-")[1].removesuffix(".dist").removesuffix(".egg")
    return unknown("no package metadata of torch on this python's path")
