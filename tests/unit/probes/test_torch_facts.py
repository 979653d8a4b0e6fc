"""What is said of torch where it is whole, missing or broken, and that saying it never touches CUDA."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fabricdoc.probes import torch_facts

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def thaw() -> Iterator[None]:
    yield
    gc.unfreeze()


def stub(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> ModuleType:
    """A torch that is only what `parts` say, in place of any real one."""
    torch = ModuleType("torch")
    distributed = ModuleType("torch.distributed")
    flags = {"available": True, "gloo": True, "nccl": True, **parts.pop("dist", {})}
    distributed.is_available = lambda: flags["available"]  # type: ignore[attr-defined]
    distributed.is_gloo_available = lambda: flags["gloo"]  # type: ignore[attr-defined]
    distributed.is_nccl_available = lambda: flags["nccl"]  # type: ignore[attr-defined]
    untouchable = SimpleNamespace(nccl=SimpleNamespace(version=lambda: (2, 28, 9)))  # no other name of torch.cuda
    base = {
        "__version__": "2.11.0+cu130",
        "__file__": "/opt/torch/__init__.py",
        "version": SimpleNamespace(cuda="13.0"),
    }
    for name, value in {**base, "cuda": untouchable, "distributed": distributed, **parts}.items():
        setattr(torch, name, value)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    return torch


def test_a_whole_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch)
    facts = torch_facts.load_torch().as_fields()
    assert facts.pop("import_s") >= 0
    assert facts == {
        "torch": "2.11.0+cu130",
        "torch_error": "",
        "torch_path": "/opt/torch/__init__.py",
        "cuda": "13.0",
        "nccl": "2.28.9",
        "backends": ["gloo", "nccl"],
    }


@pytest.mark.parametrize(
    ("dist", "backends", "nccl"),
    [
        ({"nccl": False}, ["gloo"], None),
        ({"gloo": False}, ["nccl"], "2.28.9"),
        ({"available": False}, [], None),
    ],
)
def test_backends_are_what_torch_was_built_with(
    monkeypatch: pytest.MonkeyPatch, dist: dict[str, bool], backends: list[str], nccl: str | None
) -> None:
    stub(monkeypatch, dist=dist)
    facts = torch_facts.load_torch()
    assert (facts.backends, facts.nccl) == (backends, nccl)


@pytest.mark.parametrize(("version", "text"), [((2, 30, 7), "2.30.7"), (2307, "2307"), ((2, 27, 3, "rc"), "2.27.3.rc")])
def test_nccl_version_forms(version: Any, text: str) -> None:
    assert (
        torch_facts.nccl_version(SimpleNamespace(cuda=SimpleNamespace(nccl=SimpleNamespace(version=lambda: version))))
        == text
    )


@pytest.mark.parametrize("problem", [AttributeError("_nccl_version"), RuntimeError("no lib")])
def test_nccl_version_unknown(problem: Exception) -> None:
    def version() -> None:
        raise problem

    assert (
        torch_facts.nccl_version(SimpleNamespace(cuda=SimpleNamespace(nccl=SimpleNamespace(version=version)))) is None
    )


def test_a_missing_torch_is_a_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    facts = torch_facts.load_torch()
    assert facts.torch is None
    assert facts.torch_error.startswith("ModuleNotFoundError: ")
    assert (facts.torch_path, facts.cuda, facts.nccl, facts.backends) == (None, None, None, [])


def test_a_broken_torch_is_a_fact(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = 'raise OSError("libcudart.so.13: cannot open shared object file\\nmore")\n'
    (tmp_path / "torch.py").write_text(broken)
    for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    facts = torch_facts.load_torch()
    assert facts.torch_error == "OSError: libcudart.so.13: cannot open shared object file"


def test_a_torch_that_cannot_say_what_it_is_is_a_fact_too(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = stub(monkeypatch)
    del torch.version
    facts = torch_facts.load_torch()
    assert facts.torch is None
    assert "version" in facts.torch_error


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "8")
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    torch_facts.load_torch()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "8"
    assert "PYTORCH_CUDA_ALLOC_CONF" not in os.environ, "torch's allocator reads it as it loads"
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    torch_facts.load_torch()
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_what_was_imported_is_frozen_for_the_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch)
    gc.unfreeze()
    torch_facts.load_torch()
    assert gc.get_freeze_count() > 1000


def test_gpus_are_counted_by_the_drivers_folder(tmp_path: Path) -> None:
    assert torch_facts.count_gpus(tmp_path / "none") == -1
    assert torch_facts.count_gpus(tmp_path) == 0
    for address in ("0000:01:00.0", "000f:01:00.0"):
        (tmp_path / address).mkdir()
    assert torch_facts.count_gpus(tmp_path) == 2


REAL = """
import os, sys
from pathlib import Path
from probes import torch_facts
facts = torch_facts.load_torch()
torch_facts.count_gpus()
import torch
assert facts.torch == torch.__version__, facts
assert not torch.cuda.is_initialized()
assert "libcuda.so" not in Path("/proc/self/maps").read_text()
assert len(os.listdir("/proc/self/task")) == 1, "threads do not survive a fork"
"""


def test_loading_the_real_torch_starts_no_cuda_and_no_thread() -> None:
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", REAL], cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
