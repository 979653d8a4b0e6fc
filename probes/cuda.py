"""What only the CUDA driver says of a GPU: integrated or not, and whether it can do GPUDirect RDMA and DMA-BUF.

libcuda through ctypes, in the same forked child as NVML: cuInit and questions about devices, never a context, so no
memory of the GPU is taken. Numbers from cuda.h (CUdevice_attribute). A GB10 answers 0 to both GPUDirect questions,
which is what it is like and no failure. cuInit may take seconds or hang on a sick driver, so it comes last.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from .child import Say
from .facts import exists, unknown

LIBRARY = "libcuda.so.1"
LIMIT_S = 2.5
# What cuInit needs (on Linux, and under WSL); where it is missing cuInit would have nvidia-modprobe(1) load it.
DEVICES = ("/dev/nvidia-uvm", "/dev/dxg")
NO_DEVICE = f"CUDA was not asked: there is no {DEVICES[0]}, and asking would load a kernel module"
ATTRIBUTES = {"integrated": 18, "gpudirect_rdma": 116, "dma_buf": 124}
PCI_SIZE = 32
MAX_DEVICES = 256
NOT_ASKED = "CUDA was not asked"
NOT_LISTED = "CUDA lists no GPU with this PCI address"
# Seen by cuInit: which GPUs to hide, and where an MPS daemon listens (it would start a server for us).
HIDING, MPS_FOLDER, NO_FOLDER = "CUDA_VISIBLE_DEVICES", "CUDA_MPS_PIPE_DIRECTORY", "/nonexistent"


class CudaError(OSError):
    """A function of the CUDA driver that did not answer 0."""


def ask(say: Say, load_library: Any = ctypes.CDLL) -> None:
    """Say {"cuda_begun": true}, then {"cuda": {PCI address: {field: bool or unknown}}} or {"cuda_reason": text}.

    Changes this process's own environment, so it belongs into a child that ends after it.
    """
    if not any(map(exists, DEVICES)):
        say({"cuda_reason": NO_DEVICE})
        return
    os.environ.pop(HIDING, None)
    os.environ[MPS_FOLDER] = NO_FOLDER
    say({"cuda_begun": True})
    try:
        library = load_library(LIBRARY)
        say({"cuda": devices(library)})
    except (OSError, AttributeError) as error:
        say({"cuda_reason": str(error)})


def devices(library: Any) -> dict[str, dict[str, Any]]:
    """The attributes of every device by PCI address in lower case; raises CudaError or AttributeError."""
    _call(library, "cuInit", ctypes.c_uint(0))
    count = ctypes.c_int(0)
    _call(library, "cuDeviceGetCount", ctypes.byref(count))
    found: dict[str, dict[str, Any]] = {}
    for number in range(min(count.value, MAX_DEVICES)):
        device = ctypes.c_int(0)
        _call(library, "cuDeviceGet", ctypes.byref(device), ctypes.c_int(number))
        found.setdefault(_pci(library, device), {name: _attribute(library, device, name) for name in ATTRIBUTES})
    return found


def _call(library: Any, name: str, *arguments: Any) -> None:
    code = getattr(library, name)(*arguments)
    if code != 0:
        raise CudaError(f"CUDA: {name} answered {code}{_word(library, code)}")


def _word(library: Any, code: int) -> str:
    """The driver's own name of an error in brackets, if it has one."""
    text = ctypes.c_char_p(None)
    try:
        known = library.cuGetErrorName(ctypes.c_int(code), ctypes.byref(text)) == 0
    except AttributeError:
        return ""
    return f" ({text.value.decode('ascii', 'replace')})" if known and text.value else ""


def _pci(library: Any, device: ctypes.c_int) -> str:
    buffer = ctypes.create_string_buffer(PCI_SIZE)
    _call(library, "cuDeviceGetPCIBusId", buffer, ctypes.c_int(PCI_SIZE), device)
    return buffer.value.decode("ascii", "replace").lower()


def _attribute(library: Any, device: ctypes.c_int, name: str) -> Any:
    """One yes-or-no attribute; unknown where this driver knows no such number."""
    value = ctypes.c_int(0)
    try:
        _call(library, "cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(ATTRIBUTES[name]), device)
    except CudaError as error:
        return unknown(f"attribute {ATTRIBUTES[name]}: {error}")
    return value.value != 0


def attributes(said: dict[str, Any], pci: Any) -> dict[str, Any]:
    """The fields of one GPU from what the child said; `pci` is NVML's address of it (or unknown)."""
    known = said.get("cuda")
    if isinstance(known, dict):
        answer = known.get(pci) if isinstance(pci, str) else None
        return answer or dict.fromkeys(ATTRIBUTES, unknown(NOT_LISTED))
    if "cuda_reason" in said:
        return dict.fromkeys(ATTRIBUTES, unknown(str(said["cuda_reason"])))
    reason = f"cuInit gave no answer within {LIMIT_S:g} s" if said.get("cuda_begun") else NOT_ASKED
    return dict.fromkeys(ATTRIBUTES, unknown(reason))
