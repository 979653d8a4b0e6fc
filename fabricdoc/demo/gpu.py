"""GPUs for the demo's two nodes: one each where there are two, else one shared through CUDA MPS.

Refuses while any process uses a GPU. The MPS daemon has its own folders and ends with the demo, however that
ends: a guard process waits on a pipe and takes the daemon down when the pipe closes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from fabricdoc.errors import ToolError
from fabricdoc.fabric import scan
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Gpu
from fabricdoc.transport import NodeSpec

DAEMON = "nvidia-cuda-mps-control"
START_DEADLINE_S = 20.0


@dataclass(frozen=True)
class GpuShare:
    """How the nodes share GPUs; without a GPU every environment is empty."""

    gpus: int = 0
    mps_folder: str = ""

    def environment(self, node: int) -> dict[str, str]:
        """What node number `node` needs in its environment to find its GPU."""
        if self.mps_folder:
            return {"CUDA_MPS_PIPE_DIRECTORY": self.mps_folder, "CUDA_VISIBLE_DEVICES": "0"}
        return {"CUDA_VISIBLE_DEVICES": str(node)} if self.gpus else {}


def share_gpus(stack: ExitStack, nodes: int) -> GpuShare:
    """One GPU per node, or one through MPS; ToolError when there is none, or one is in use."""
    gpus = _idle_gpus()
    if len(gpus) >= nodes:
        return GpuShare(gpus=len(gpus))
    if which(DAEMON) is None:
        raise ToolError(f"one GPU for {nodes} nodes needs CUDA MPS, and {DAEMON} is not there", id="no-mps")
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fabricdoc-mps-"))
    _start_guard(stack, Path(folder))
    return GpuShare(gpus=1, mps_folder=folder)


def _idle_gpus() -> tuple[Gpu, ...]:
    node = scan([NodeSpec(name="local", target="local")]).nodes[0]
    if isinstance(node.gpus, Unknown) or not node.gpus:
        reason = node.gpus.unknown if isinstance(node.gpus, Unknown) else "none in this machine"
        raise ToolError(f"--gpu needs an NVIDIA GPU: {reason}", fix="run `fabricdoc demo` without --gpu", id="no-gpu")
    hidden = [gpu.processes.unknown for gpu in node.gpus if isinstance(gpu.processes, Unknown)]
    if hidden:
        raise ToolError(f"can't tell whether a GPU is in use: {hidden[0]}", id="gpu-busy")
    busy = {pid for gpu in node.gpus if not isinstance(gpu.processes, Unknown) for pid in gpu.processes}
    if busy:
        pids = ", ".join(map(str, sorted(busy)))
        raise ToolError(f"a GPU is in use (pid {pids})", fix="end those processes, then run this again", id="gpu-busy")
    return node.gpus


def _start_guard(stack: ExitStack, folder: Path) -> None:
    guard = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("mps_guard.py")), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    stack.callback(_end_guard, guard)
    answer = guard.stdout.readline() if guard.stdout else ""
    if answer.strip() != "ready":
        raise ToolError(f"CUDA MPS did not start: {answer.strip() or 'no answer'}", id="no-mps")


def _end_guard(guard: subprocess.Popen[str]) -> None:
    if guard.stdin:
        guard.stdin.close()
    try:
        guard.wait(START_DEADLINE_S)
    except subprocess.TimeoutExpired:
        guard.kill()
