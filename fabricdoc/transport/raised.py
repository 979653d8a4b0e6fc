"""A program of its own, sent to a node: become a python that may open raw sockets, by sudo or in a container.

Run on the node as `python3 -c RAISED run|end IMAGE CONTAINER LABEL PYTHON-ARGUMENTS...`. In order: `sudo -n`, which
never asks for a password; a throw-away container of IMAGE, else of the image CONTAINER runs from, with the host's
network and CAP_NET_RAW and no other capability. Each is tried with a python that opens one raw socket, sends nothing
and ends; the first that may takes this program's place. Only what is there already is used: nothing is pulled,
installed or changed (sudo writes the line to its log that it always writes). `end` ends what `run` with the same LABEL
became and its user may not kill: by a python under sudo, and by removing the container of that name. Standard library
only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

NO_WAY = 95
RUNTIMES = ("docker", "podman")
TRY = "import socket;socket.socket(17,3,0)"  # AF_PACKET, SOCK_RAW
SUDO_S = 3.0
LOOK_S = 5.0
CONTAINER_S = 15.0
SAID = 160


def said_by(argv: list[str], deadline_s: float) -> tuple[bool, str]:
    """Whether a command ended well in time, and the last line it said; it gets no input and no terminal."""
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        return False, str(error.strerror)
    try:
        output = process.communicate(timeout=deadline_s)[0]
    except subprocess.TimeoutExpired:
        end(process)
        return False, f"no answer within {deadline_s:g} s"
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return process.returncode == 0, lines[-1].strip()[:SAID] if lines else ""


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a command that is late; one that runs as root can't be, and ends by itself."""
    try:
        process.kill()
    except OSError:
        return


def by_sudo() -> list[str]:
    """The start of an argv that runs this very python as root, if sudo lets it without a password."""
    return ["sudo", "-n", "--", sys.executable]


def image_of(tool: str, image: str, container: str) -> str:
    """The image to use, "" where the node has none of that name."""
    if image:
        return image if said_by([tool, "image", "inspect", "--format={{.Id}}", "--", image], LOOK_S)[0] else ""
    found, text = said_by([tool, "container", "inspect", "--format={{.Image}}", "--", container], LOOK_S)
    return text if found else ""


def by_container(tool: str, image: str, label: str) -> list[str]:
    """The start of an argv that runs the image's python3 in a container that is gone when it ends."""
    argv = [tool, "run", "--rm", "-i", "--pull=never", "--network=host", "--cap-drop=ALL", "--cap-add=NET_RAW"]
    argv += ["--user=0:0", "--security-opt=no-new-privileges", "--label=fabricdoc=" + label]
    return [*argv, "--entrypoint=python3", "--", image]


def named(start: list[str], label: str) -> list[str]:
    """The same start of an argv; a container has the name by which `end` removes it."""
    at = start.index("--rm") if "--rm" in start else 0
    return [*start[:at], "--name=fabricdoc-" + label, *start[at:]] if at else start


def ways(image: str, container: str, label: str) -> Iterator[list[str]]:
    """What is worth trying on this node, in order; the next is looked for only when the one before was no use."""
    if shutil.which("sudo"):
        yield by_sudo()
    for tool in RUNTIMES if image or container else ():
        named = image_of(tool, image, container) if shutil.which(tool) else ""
        if named:
            yield by_container(tool, named, label)


def end_started(image: str, container: str, label: str, words: list[str]) -> int:
    """End what was started under this label: `words` make a python end the process that it names."""
    if shutil.which("sudo"):
        said_by([*by_sudo(), *words], SUDO_S)
    for tool in RUNTIMES if image or container else ():
        if shutil.which(tool):
            said_by([tool, "rm", "-f", "fabricdoc-" + label], LOOK_S)
    return 0


def main(words: list[str]) -> int:
    """Become that python; returns only when there is none, after a line on stderr that says what was tried."""
    verb, image, container, label = words[:4]
    if verb == "end":
        return end_started(image, container, label, words[4:])
    tried = []
    for start in ways(image, container, label):
        works, text = said_by([*start, "-I", "-c", TRY], SUDO_S if start[0] == "sudo" else CONTAINER_S)
        if works:
            os.execvp(start[0], [*named(start, label), *words[4:]])
        tried.append(text if text.startswith(f"{start[0]}: ") else f"{start[0]}: {text or 'no'}")
    sys.stderr.write(("; ".join(tried) or "no sudo, and no image named for this node that is there") + "\n")
    return NO_WAY


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
