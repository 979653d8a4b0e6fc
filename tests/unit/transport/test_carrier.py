"""What travels to a gateway: runs where nothing of ours is, on the oldest python, and sends on what it got."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from fabricdoc.transport.answer import Question
from fabricdoc.transport.carrier import build_carrier, leaf_of

pytestmark = pytest.mark.unit

QUESTION = Question("scan", {"do": "scan"}, 10.0, (), b"sources of the probe", b"bytecode of the probe")
IMPORT = """
import sys
sys.path[:] = [sys.argv[1], *(path for path in sys.path if path and "site-packages" not in path)]
from probes.__main__ import run
import fabricdoc.transport.relay as relay
print(relay.__file__, callable(run), sorted(name for name in sys.modules if "ClusterShell" in name))
"""


def names(data: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(data)).namelist()


def test_it_sends_on_what_it_was_given() -> None:
    assert leaf_of(build_carrier(QUESTION)) == (QUESTION.payload, QUESTION.packed)


def test_bytecode_of_another_python_is_left() -> None:
    other = build_carrier(QUESTION).replace(MAGIC_NUMBER.hex().encode(), b"00000000")
    assert leaf_of(other) == (QUESTION.payload, b"")


def test_without_bytecode_there_is_none() -> None:
    carrier = build_carrier(replace(QUESTION, packed=b""))
    assert leaf_of(carrier) == (QUESTION.payload, b"")
    assert not any("packed" in name for name in names(carrier))


def test_equal_questions_give_equal_bytes() -> None:
    assert build_carrier(QUESTION) == build_carrier(replace(QUESTION, request={"do": "another"}))


def test_another_zip_is_refused() -> None:
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    with pytest.raises(KeyError):
        leaf_of(buffer.getvalue())
    with pytest.raises(zipfile.BadZipFile):
        leaf_of(b"no zip")


def test_it_holds_this_room_and_no_other() -> None:
    rooms = {name.split("/")[1] for name in names(build_carrier(QUESTION)) if name.startswith("fabricdoc/")}
    assert rooms == {"__init__.py", "doors.py", "errors.py", "files.py", "sudo.py", "transport", "probes"}


@pytest.mark.long
@pytest.mark.parametrize("python", [sys.executable, *map(str, Path.home().glob(".pyenv/versions/3.10.*/bin/python"))])
def test_it_runs_where_nothing_of_ours_is(python: str, tmp_path: Path) -> None:
    place = tmp_path / "carrier"
    place.write_bytes(build_carrier(QUESTION))
    words = [python, "-I", "-c", IMPORT, str(place)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.stdout.strip() == f"{place}/fabricdoc/transport/relay.py True []", done.stderr
