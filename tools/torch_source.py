"""Where torch comes from: the one this Python has, a CPU build, or (only when asked) a build with CUDA.

The demo and the lab tests need any torch; the CPU build is about 200 MB, the usual one brings gigabytes of CUDA
libraries. So what pip would take is found out first, and a big download is never started without a yes:
on a terminal by asking, elsewhere by TORCH=yes, or TORCH_INDEX=<address of an index with CPU builds>.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pip_call import Stop, clean_environ, own_group, say
from pip_call import install as pip_install

VERSION = "2.13.0"
LOOK_DEADLINE_S = 300.0
_TAKEN = re.compile(r"\s*(Processing|Downloading|Using cached)\s+(?:\S*/)?(torch-\S+\.whl)(?:\s+\((.+)\))?\s*$")
_LOOK = "import json, sys, torch; sys.stdout.write(chr(10) + json.dumps([torch.__version__, torch.__file__, sys.path]))"


@dataclass(frozen=True)
class Installed:
    """A torch that the chosen Python can import: its version, and the package folders it needs, in order."""

    version: str
    folders: tuple[str, ...]


@dataclass(frozen=True)
class Offer:
    """What pip would take: the file's name, whether it lies on this machine, and its size as pip words it."""

    file: str
    local: bool
    size: str = ""

    @property
    def is_small(self) -> bool:
        """Whether taking it needs no question: on this disk already, or a CPU build."""
        return self.local or "+cpu" in self.file.replace("%2B", "+")


def minimum_version(bench: Sequence[str]) -> tuple[int, ...]:
    """The lowest torch that the extra `bench` allows, from its `torch>=2.9`."""
    for requirement in bench:
        match = re.fullmatch(r"torch>=(\d+)\.(\d+)", requirement)
        if match:
            return int(match[1]), int(match[2])
    raise Stop("pyproject.toml: the extra bench has no torch>=X.Y")


def find_installed(minimum: tuple[int, ...]) -> Installed | None:
    """The torch this Python imports by itself, if it is new enough and works; else None."""
    if importlib.util.find_spec("torch") is None:
        return None
    variables = clean_environ()
    if "PYTHONPATH" in os.environ:
        variables["PYTHONPATH"] = os.environ["PYTHONPATH"]
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _LOOK],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
            cwd="/",
            timeout=LOOK_DEADLINE_S,
            check=True,
        )
        version, file, path = json.loads(done.stdout.decode().splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError):
        say("this Python has a torch that can't be imported; leaving it alone")
        return None
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < minimum:
        say(f"this Python's torch {version} is older than {minimum[0]}.{minimum[1]}; leaving it alone")
        return None
    packages = [one for one in path if Path(one).name in ("site-packages", "dist-packages")]
    return Installed(version, tuple(dict.fromkeys([str(Path(file).parent.parent), *packages])))


def read_offer(line: str) -> Offer | None:
    """What one line of pip's output says it takes, or None; a `.whl.metadata` download is not the file."""
    match = _TAKEN.match(line)
    return Offer(match[2], match[1] == "Processing", match[3] or "") if match else None


def ask_pip(pip: Sequence[str], arguments: Sequence[str]) -> Offer | None:
    """What `pip install ARGUMENTS` would take, or None where it finds nothing.

    pip is stopped as soon as it names the file: a dry run downloads whole wheels from an index that does not
    serve their metadata apart.
    """
    options = ["install", "--dry-run", "--report", "-", "--no-deps", "--no-input", "--progress-bar", "off"]
    with own_group([*pip, *options, *arguments], stderr=subprocess.DEVNULL) as process:
        timer = threading.Timer(LOOK_DEADLINE_S, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        try:
            rest = []
            for line in process.stdout or ():
                offer = read_offer(line)
                if offer:
                    return offer
                rest.append(line)
        finally:
            timer.cancel()
    return read_report("".join(rest))


def read_report(text: str) -> Offer | None:
    """The offer in pip's JSON report, which follows whatever else pip printed; None without one."""
    try:
        report = json.loads(text[text.index("{") :])
        url = report["install"][0]["download_info"]["url"]
    except (ValueError, LookupError):
        return None
    return Offer(url.rsplit("/", 1)[-1], url.startswith("file:"))


def install(pip: Sequence[str]) -> None:
    """Install our torch version; Stop with the ways out where that would be a big download nobody agreed to."""
    wanted = f"torch=={VERSION}"
    index = os.environ.get("TORCH_INDEX", "")
    if index:
        say(f"installing torch {VERSION} from {index}")
        pip_install(pip, ["--no-compile", "--no-deps", "--index-url", index, wanted])
    elif os.environ.get("TORCH", "").lower() not in ("yes", "1"):
        offer = ask_pip(pip, ["--no-index", wanted]) or ask_pip(pip, [wanted])
        if offer is None:
            raise Stop(f"pip finds no torch {VERSION} for this Python ({sys.version.split()[0]}).\n{ways_out()}")
        if not offer.is_small and not agreed(offer):
            raise Stop(f"torch is needed here and was not installed.\n{ways_out()}")
        say(f"installing {offer.file}")
    # Compiling all of torch takes twice as long as installing it; the first import compiles what is used.
    pip_install(pip, ["--no-compile", wanted])


def agreed(offer: Offer) -> bool:
    """Ask on the terminal whether to take a big download; without a terminal the answer is no."""
    size = f"{offer.size}, and several" if offer.size else "several"
    say(f"torch would be {offer.file}: {size} gigabytes of CUDA libraries with it")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write("fabricdoc: install it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def ways_out() -> str:
    """What the user can do instead, as lines."""
    return (
        "  make ... TORCH_INDEX=ADDRESS     take it from this index (one that serves CPU builds)\n"
        "  make ... TORCH=yes               take what pip finds, whatever its size\n"
        "  make ... PYTHON=/path/to/python  use a Python that has torch 2.9 or later"
    )
