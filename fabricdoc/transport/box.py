"""A program of its own, sent to a node: put one python into the server's container, or into a new one of its image.

Run on the node as `python3 -c BOX in|of|plain|end PLACE LABEL NAMES PYTHON-ARGUMENTS...`: `in` enters the running
container PLACE, `of` starts one from the image PLACE that is gone when its input ends, `plain` the same without the
GPUs, `end` removes the one that was started under LABEL. NAMES are variables to hand in, comma separated, taken from
this program's own environment. It decides there, since only the node knows which runtime, which devices and which
driver it has. Standard library only; nothing is pulled, and no other container is touched.
"""

from __future__ import annotations

import os
import shutil
import sys

NO_RUNTIME = 96
RUNTIMES = ("docker", "podman")
GPU = {"docker": "--gpus=all", "podman": "--device=nvidia.com/gpu=all"}
DEVICES = ("/dev/infiniband", "/dev/gdrdrv")
# the driver's control node: without it the runtime could not give a GPU and would refuse the whole container
DRIVER = "/dev/nvidiactl"


def runtime() -> str:
    """The first of docker and podman that this node has, or ''."""
    return next((name for name in RUNTIMES if shutil.which(name)), "")


def enter(tool: str, container: str, env: list[str], words: list[str]) -> list[str]:
    """The argv that runs python3 in a running container."""
    return [tool, "exec", "-i", *env, container, "python3", *words]


def start(tool: str, image: str, label: str, env: list[str], words: list[str], *, gpus: bool) -> list[str]:
    """The argv that runs python3 in a new container: the host's network and IPC, and the devices there are."""
    argv = [tool, "run", "--rm", "-i", "--pull=never", "--network=host", "--ipc=host"]
    argv += ["--name=fabricdoc-" + label, "--label=fabricdoc=" + label]
    argv += ["--ulimit=memlock=-1:-1", "--cap-add=IPC_LOCK"]
    argv += [GPU[tool]] if gpus and os.path.exists(DRIVER) else []  # noqa: PTH110 - no more imports than needed
    argv += ["--device=" + path for path in DEVICES if os.path.exists(path)]  # noqa: PTH110
    return [*argv, *env, "--entrypoint=python3", "--", image, *words]


def remove(tool: str, label: str) -> list[str]:
    """The argv that ends and removes the container started under this label, and no other."""
    return [tool, "rm", "-f", "fabricdoc-" + label]


def command(tool: str, words: list[str]) -> list[str]:
    """The argv that the words of this program mean."""
    verb, place, label, names = words[:4]
    env = ["--env=" + name for name in names.split(",") if name]
    if verb == "end":
        return remove(tool, label)
    if verb == "in":
        return enter(tool, place, env, words[4:])
    return start(tool, place, label, env, words[4:], gpus=verb == "of")


def main(words: list[str]) -> int:
    """Become the runtime's client; returns only when that can't be, after one line on stderr."""
    tool = runtime()
    if not tool:
        sys.stderr.write("neither docker nor podman is there\n")
        return NO_RUNTIME
    try:
        os.execvp(tool, command(tool, words))
    except OSError as error:
        sys.stderr.write(f"{tool}: {error.strerror}\n")
        return NO_RUNTIME


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
