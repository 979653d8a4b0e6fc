"""The zip that travels to a gateway of a tree: this room's own modules, and the probe that its nodes are to run.

Built in memory and sent as every probe is, so nothing is installed on a gateway, nothing is written to its disk, and
it needs no more than a node does: python3 of 3.10 or later. Reading it there is here too.
"""

from __future__ import annotations

from importlib.util import MAGIC_NUMBER
from io import BytesIO
from pathlib import Path

from fabricdoc.transport.answer import Question
from fabricdoc.transport.zipapp import build_zip, probe_sources

_PAYLOAD = "leaf/payload"
_PACKED = "leaf/packed-"
# modules of the package that this room needs; their other users stay here
_OTHERS = ("__init__", "doors", "errors", "files", "sudo")
# the loader's entry (`run(module, nonce)`), in the place where a probe has its own
_ENTRY = """from fabricdoc.probes.wire import Wire
from fabricdoc.transport.relay import main
def run(module, nonce):
    return main(Wire(nonce))
"""


def build_carrier(question: Question) -> bytes:
    """The zip for a gateway: `payload` and `packed` of the question are what it sends on."""
    room = Path(__file__).parent
    modules = [*room.glob("*.py"), *(room.parent / f"{name}.py" for name in _OTHERS)]
    sources = {f"fabricdoc/{path.relative_to(room.parent)}": path.read_text("utf-8") for path in modules}
    sources |= {f"fabricdoc/{folder}/__init__.py": "" for folder in ("transport", "probes")}
    sources |= {"fabricdoc/probes/wire.py": probe_sources()["probes/wire.py"]}
    sources |= {"probes/__init__.py": "", "probes/__main__.py": _ENTRY}
    return _with_leaf(build_zip(sources), question)


def _with_leaf(data: bytes, question: Question) -> bytes:
    """The zip with the nodes' probe in it, which is compressed already."""
    import zipfile

    buffer = BytesIO(data)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_PAYLOAD), question.payload)
        if question.packed:
            archive.writestr(zipfile.ZipInfo(_PACKED + MAGIC_NUMBER.hex()), question.packed)
    return buffer.getvalue()


def leaf_of(carrier: bytes) -> tuple[bytes, bytes]:
    """The probe in such a zip, as sources and as bytecode (b"" where that is of another python than this one).

    Raises KeyError, or zipfile.BadZipFile, for another zip.
    """
    import zipfile

    with zipfile.ZipFile(BytesIO(carrier)) as archive:
        packed = _PACKED + MAGIC_NUMBER.hex()
        names = archive.namelist()
        return archive.read(_PAYLOAD), archive.read(packed) if packed in names else b""
