"""Make the environment this checkout runs in, outside the tree, and start a command in it.

    python3 tools/env.py LAYER [ARGS...]    run ARGS with the layer's python (none: print that python's path)
    python3 tools/env.py --remove           delete every environment made here
    python3 tools/env.py --install          fabricdoc as a command of the user's (--uninstall: away again)

Three layers, each a virtual environment that sees the ones below it: `run` (what fabricdoc needs), `torch` (what
the demo measures with), `dev` (what the tests need). They hold dependencies only, never the tree, and lie in
`$XDG_CACHE_HOME/fabricdoc/env-<hash of pyproject's lists and of this Python>`, so clones share them. A layer is
built under another name and renamed when it is whole; a lock makes a second caller wait.

Standard library only, and nothing here installs a system package or writes into the tree.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import install
import pip_call
import torch_source
from environment import build, cache_home, is_foreign, locked, ready, site_packages
from pip_call import Stop, say

TREE = Path(__file__).resolve().parent.parent
LAYERS = ("run", "torch", "dev")
RECIPE = 1  # raise it when this file builds environments differently
# Imported once after the install: a broken layer is found here and not later, and torch gets the byte code it needs.
WARM = {
    "run": "import pydantic, pyroute2, rich.live, rich.progress, rich.table, tomlkit, typer",
    "torch": "import torch, torch.distributed",
    "dev": "import hypothesis, jsonschema, mypy, pytest",
}


def requirements(pyproject: Mapping[str, Any]) -> dict[str, list[str]]:
    """What each layer installs: pyproject's dependencies, our torch, and its dev group with the build backend."""
    return {
        "run": list(pyproject["project"]["dependencies"]),
        "torch": [f"torch=={torch_source.VERSION}"],
        "dev": [*pyproject["dependency-groups"]["dev"], *pyproject["build-system"]["requires"]],
    }


def key(wanted: Mapping[str, Sequence[str]]) -> str:
    """A hash of everything that decides what the environment holds: 16 hex digits."""
    facts = [RECIPE, wanted, sys.version, platform.machine(), os.path.realpath(sys.executable)]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def borrow(python: Path, folders: Sequence[str]) -> None:
    """Let an environment see the packages in `folders` too, after its own."""
    (site_packages(python.parent.parent) / "fabricdoc-layers.pth").write_text("".join(f"{one}\n" for one in folders))


def fill_layer(layer: str, folder: Path, wanted: Sequence[str], minimum: tuple[int, ...], python: Path) -> list[str]:
    """Install one layer into the environment of `python`; returns the folders it borrows from outside `folder`."""
    below = LAYERS[: LAYERS.index(layer)][::-1]
    outside = [path for name in below for path in json.loads((folder / name / "complete").read_text())]
    seen = [str(site_packages(folder / name)) for name in below]
    found = torch_source.find_installed(minimum) if layer == "torch" else None
    if found:
        say(f"using the torch {found.version} that {sys.executable} has")
        outside = [*found.folders, *outside]
    borrow(python, [*seen, *outside])
    if not found:
        pip = pip_call.pip_for(python)
        if layer == "torch":
            torch_source.install(pip)
        else:
            pip_call.install(pip, wanted)
    pip_call.check_call([str(python), "-P", "-c", WARM[layer]], "the new environment does not work", deadline_s=300)
    return outside


def ensure(layer: str) -> Path:
    """The python of `layer`, built now (with the layers below it) if it isn't there. Errors: Stop."""
    pyproject = tomllib.loads((TREE / "pyproject.toml").read_text())
    wanted = requirements(pyproject)
    minimum = torch_source.minimum_version(pyproject["project"]["optional-dependencies"]["bench"])
    folder = cache_home() / f"env-{key(wanted)}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in LAYERS[: LAYERS.index(layer) + 1]:
        if ready(folder / name):
            continue
        with locked(folder / "lock"):
            if not ready(folder / name):
                say(f"preparing {folder / name} (once)")
                began = time.monotonic()
                build(folder / name, partial(fill_layer, name, folder, wanted[name], minimum))
                say(f"prepared in {time.monotonic() - began:.0f} s")
    return folder / layer / "bin" / "python"


def execute(python: Path, arguments: Sequence[str]) -> None:
    """Become `python ARGUMENTS` with the tree importable; root leaves no cache file in another user's tree.

    Bytecode is written whatever the caller's shell says: the tests start hundreds of processes from this tree.
    """
    variables = dict(os.environ, PYTHONPATH=str(TREE))
    for name in ("PYTHONHOME", "PYTHONDONTWRITEBYTECODE"):
        variables.pop(name, None)
    if is_foreign(TREE):
        caches = cache_home()
        for name in ("PYTHONPYCACHEPREFIX", "MYPY_CACHE_DIR", "RUFF_CACHE_DIR", "HYPOTHESIS_STORAGE_DIRECTORY"):
            variables[name] = str(caches / name.lower())
    os.execve(python, [str(python), *arguments], variables)


def remove_all() -> None:
    """Delete every environment of the cache folder (those of other checkouts too: they are made again)."""
    for folder in cache_home().glob("env-*"):
        with locked(folder / "lock", deadline_s=5):
            shutil.rmtree(folder)
        say(f"removed {folder}")


def main(arguments: Sequence[str]) -> int:
    """The command line; returns 0, 2 for wrong words, 4 when the environment could not be made, 130 on Ctrl-C."""
    try:
        jobs: dict[str, Callable[[], None]] = {
            "--remove": remove_all,
            "--install": partial(install.install, TREE),
            "--uninstall": install.uninstall,
        }
        if len(arguments) == 1 and arguments[0] in jobs:
            jobs[arguments[0]]()
            return 0
        if not arguments or arguments[0] not in LAYERS:
            say(f"usage: tools/run {'|'.join(LAYERS)} [ARGS...]")
            return 2
        python = ensure(arguments[0])
        if len(arguments) > 1:
            execute(python, arguments[1:])
        sys.stdout.write(f"{python}\n")
        return 0
    except (Stop, subprocess.SubprocessError, OSError) as error:
        say(str(error))
        return 4
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
