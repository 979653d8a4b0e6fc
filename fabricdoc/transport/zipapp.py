"""The zip of one probe that travels to a node: built in memory, once, the same bytes for the same sources.

Holds that probe's module of `fabricdoc.probes` and every module it imports, under `probes/`. Nothing is written to a
disk, here or there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from fabricdoc.files import own_folder

_EPOCH = (1980, 1, 1, 0, 0, 0)
_ALWAYS = ("__init__", "__main__")
_RELATIVE = re.compile(r"^[ ]*from \.(\w*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


@cache
def probe_zip(module: str) -> bytes:
    """Probe `module` (`scan`, `agent`, ...) and all it needs as one deflated zip."""
    sources = probe_sources()
    needed = {f"probes/{name}.py" for name in needed_modules(sources, module)}
    return build_zip({path: text for path, text in sources.items() if path in needed})


def needed_modules(sources: Mapping[str, str], module: str) -> set[str]:
    """Names of the modules that `module` imports, however indirectly and wherever in its text; itself included."""
    needed, ahead = set[str](), [*_ALWAYS, module]
    while ahead:
        name = ahead.pop()
        if name not in needed and (text := sources.get(f"probes/{name}.py")) is not None:
            needed.add(name)
            ahead += _imported(text)
    return needed


def _imported(text: str) -> list[str]:
    """The probes a module's text names in its relative imports."""
    found = []
    for source, names in _RELATIVE.findall(text):
        found += [source] if source else re.findall(r"\w+", names)
    return found


def probe_sources() -> dict[str, str]:
    """Path in the zip (`probes/scan.py`) to text, for every module of the probes."""
    folder = own_folder("probes")
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


def build_bytecode(sources: Mapping[str, str], comment: bytes) -> bytes:
    """A zip of bytecode of this python (PEP 552, unchecked), by module name; `comment` at most 65535 bytes."""
    import zipfile
    from importlib.util import MAGIC_NUMBER, source_hash
    from io import BytesIO
    from marshal import dumps

    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, text in sorted(sources.items()):
            path, source = f"probes/{name}.py", text.encode()
            head = MAGIC_NUMBER + (1).to_bytes(4, "little") + source_hash(source)
            archive.writestr(zipfile.ZipInfo(f"{path}c", _EPOCH), head + dumps(compile(source, path, "exec")))
        archive.comment = comment
    return buffer.getvalue()
