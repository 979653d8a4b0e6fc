"""`fabricdoc --help` loads nothing heavy: a start-up promise that does not depend on the machine's speed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

HEAVY = {"torch", "pandas", "numpy", "pyroute2", "asyncio", "pydantic"}
# Runs `python -m fabricdoc ARGUMENTS` in this process and then says on stderr what it loaded.
WATCHED = """
import json, os, runpy, sys
os._exit = sys.exit  # how the command leaves at once
sys.argv = ["fabricdoc", *sys.argv[1:]]
try:
    runpy.run_module("fabricdoc", run_name="__main__", alter_sys=True)
finally:
    sys.stderr.write("\\nLOADED " + json.dumps(sorted(sys.modules)) + "\\n")
"""


def loaded_by(*arguments: str, code: str = WATCHED) -> tuple[int, str, set[str]]:
    """(exit status, stdout, top-level modules loaded) of `python -m fabricdoc ARGUMENTS`."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=TREE, capture_output=True, text=True, timeout=60, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("LOADED "), done.stderr
    return done.returncode, done.stdout, {name.split(".")[0] for name in json.loads(last.removeprefix("LOADED "))}


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(word: str) -> None:
    status, stdout, loaded = loaded_by(word)
    assert status == 0
    assert "fabricdoc" in stdout.lower()
    assert not loaded & HEAVY


def test_a_heavy_import_is_seen() -> None:
    _, _, loaded = loaded_by("--help", code=WATCHED.replace("import json,", "import asyncio, json,"))
    assert "asyncio" in loaded
