"""The zip of the probes that travels to a node: built in memory, once, the same bytes for the same sources.

Holds every .py file of `fabricdoc.probes` under `probes/`. Nothing is written to a disk, here or there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_EPOCH = (1980, 1, 1, 0, 0, 0)


@cache
def probe_zip() -> bytes:
    """The probes as one deflated zip."""
    return build_zip(probe_sources())


def probe_sources() -> dict[str, str]:
    """Path in the zip (`probes/scan.py`) to text, for every module of the probes."""
    folder = files("fabricdoc.probes")
    return {f"probes/{item.name}": item.read_text("utf-8") for item in folder.iterdir() if item.name.endswith(".py")}


def build_zip(sources: Mapping[str, str]) -> bytes:
    """A zip of the given paths and texts, sorted and undated, so that equal sources give equal bytes."""
    import zipfile
    from io import BytesIO

    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(sources):
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), sources[path], zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()
