"""Loads torch once into the agent and says what it is, without touching CUDA.

No call here may reach cuInit: a process that did could not fork ranks that use the GPU. So GPUs are counted from the
driver's folder under /proc, never by torch.cuda. A torch that is missing or broken is a fact with a reason.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .forking import ALWAYS_UNSET

GPU_FOLDER = Path("/proc/driver/nvidia/gpus")
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True)
class TorchFacts:
    """What `hello` tells of torch: None where there is nothing, `torch_error` then says why. `import_s` in seconds."""

    torch: str | None
    torch_error: str
    torch_path: str | None
    cuda: str | None
    nccl: str | None
    backends: list[str]
    import_s: float

    def as_fields(self) -> dict[str, Any]:
        """The fields as the protocol names them."""
        return asdict(self)


def load_torch() -> TorchFacts:
    """Import torch (seconds, cold) and freeze what it made, so that forked ranks neither collect nor copy it."""
    for name in ALWAYS_UNSET:  # read by the allocator when torch loads
        os.environ.pop(name, None)
    started = time.perf_counter()
    try:
        with _no_blas_threads():
            import torch
            import torch.distributed
        facts = _describe(torch, time.perf_counter() - started)
    except Exception as problem:  # noqa: BLE001 - a broken torch raises anything, and all of it means: no torch here
        return _without(problem, time.perf_counter() - started)
    gc.collect()
    gc.freeze()
    return facts


@contextmanager
def _no_blas_threads() -> Iterator[None]:
    """numpy's OpenBLAS starts its threads when it loads; a process with threads is no good one to fork from."""
    before = os.environ.get(_BLAS_THREADS)
    os.environ[_BLAS_THREADS] = "1"
    try:
        yield
    finally:
        os.environ.pop(_BLAS_THREADS, None)
        if before is not None:
            os.environ[_BLAS_THREADS] = before


def _describe(torch: Any, import_s: float) -> TorchFacts:
    dist = torch.distributed
    known = dist.is_available()
    nccl = known and dist.is_nccl_available()
    present = {"gloo": known and dist.is_gloo_available(), "nccl": nccl}
    return TorchFacts(
        torch=str(torch.__version__),
        torch_error="",
        torch_path=str(torch.__file__),
        cuda=torch.version.cuda,
        nccl=nccl_version(torch) if nccl else None,
        backends=[name for name, there in present.items() if there],
        import_s=round(import_s, 3),
    )


def nccl_version(torch: Any) -> str | None:
    """'2.28.9' from ncclGetVersion, which needs no GPU; None where this torch can't say."""
    try:
        version = torch.cuda.nccl.version()
    except (AttributeError, RuntimeError):
        return None
    parts = version if isinstance(version, tuple) else (version,)
    return ".".join(str(part) for part in parts)


def _without(problem: Exception, import_s: float) -> TorchFacts:
    first = (str(problem).strip().splitlines() or ["no message"])[0]
    reason = f"{type(problem).__name__}: {first}"[:500]
    return TorchFacts(None, reason, None, None, None, [], round(import_s, 3))


def count_gpus(folder: Path = GPU_FOLDER) -> int:
    """GPUs the NVIDIA driver shows to this node or container; -1 where it shows no such folder."""
    try:
        return sum(1 for _ in folder.iterdir())
    except OSError:
        return -1
