"""What could disturb a launch on this node, looked at before and after it: clocks, other users, load, counters.

A look is the work of a forked child (see child), since NVML and counters ask firmware and may hang; what it said by
then counts. NVML only, never CUDA. Reports raw facts; whether a block is disturbed is judged by the controller.
"""

from __future__ import annotations

import ctypes
import re
import signal
from collections.abc import Iterable, Mapping
from typing import Any

from . import gpu_load, gpus, tenants
from .child import Say
from .counters import Sample, growth, read_folder
from .facts import attempt, clean, exists, is_unknown, listed, load, unknown
from .nvml import Nvml, fact

LIMIT_S = 4.0
NVML_LIMIT_S = 3.0
WORD_BYTES = 4  # port_xmit_data and port_rcv_data count words (Documentation/ABI/stable/sysfs-class-infiniband)
MOST_PORTS = 64
MOST_GPUS = 16
MPS = "nvidia-cuda-mps"  # CUDA MPS as the kernel shows it (15 characters of a name): a context for its clients, no work
NO_REASON = {"gpu_idle"}
Look = Mapping[str, Any]
_GPU_FACTS = ("sm_clock_mhz", "throttled", "processes")
ERRORS = re.compile(
    r"err|drop|discard|downed|missed|over|fifo|collision|out_of|seq|retr|nak|timeout|cnp|ecn|rnr|duplicate|integrity",
    re.IGNORECASE,
)
BYTES = {"tx_bytes": ("sent", 1), "rx_bytes": ("received", 1)}
WORDS = {"port_xmit_data": ("sent", WORD_BYTES), "port_rcv_data": ("received", WORD_BYTES)}


def look(say: Say, root: str = "", load_library: Any = ctypes.CDLL) -> None:
    """Say {"load_1min"}, {"ports"} and {"gpu"}, what is cheap and sure first."""
    say({"load_1min": attempt(lambda: float(load(f"{root}/proc/loadavg").split()[0]))})
    say({"ports": ports(root)})
    signal.setitimer(signal.ITIMER_REAL, NVML_LIMIT_S)
    say({"gpu": gpu(root, load_library)})


def ports(root: str = "") -> dict[str, dict[str, Any]]:
    """{"sent", "received": bytes, "errors": {name: count}} of each HCA port and each interface but loopback."""
    found: dict[str, dict[str, Any]] = {}
    for netdev in [name for name in listed(f"{root}/sys/class/net") if name != "lo"][:MOST_PORTS]:
        statistics = read_folder(f"{root}/sys/class/net/{netdev}/statistics")
        if statistics.values:
            found[netdev] = counted([statistics], BYTES)
    base = f"{root}/sys/class/infiniband"
    places = [(device, port) for device in listed(base) for port in listed(f"{base}/{device}/ports")]
    for device, port in places[:MOST_PORTS]:
        folders = (f"{base}/{device}/ports/{port}/{one}" for one in ("counters", "hw_counters"))
        found[f"{device}/{port}"] = counted([read_folder(folder) for folder in folders], WORDS)
    return found


def counted(samples: Iterable[Sample], traffic: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    """Traffic in bytes and error counters out of sysfs folders."""
    values = {name: value for one in samples for name, value in one.values.items()}
    moved = {said: values[name] * unit for name, (said, unit) in traffic.items() if name in values}
    errors = {clean(name): value for name, value in values.items() if ERRORS.search(name)}
    return {"sent": moved.get("sent"), "received": moved.get("received"), "errors": errors}


def gpu(root: str = "", load_library: Any = ctypes.CDLL) -> dict[str, Any]:
    """SM clock and what slows the first GPU, and the processes on all; each a value or why it is not known."""
    if not any(exists(f"{root}{device}") for device in gpus.DEVICES):
        return dict.fromkeys(_GPU_FACTS, unknown(gpus.NO_DRIVER))
    try:
        nvml = Nvml(load_library(gpus.LIBRARY))
        nvml.call("nvmlInit_v2")
        count = nvml.number("nvmlDeviceGetCount_v2")
    except OSError as error:
        return dict.fromkeys(_GPU_FACTS, unknown(str(error)))
    handles = [_handle(nvml, index) for index in range(min(count, MOST_GPUS))]
    if not handles:
        return dict.fromkeys(_GPU_FACTS, unknown("NVML knows of no GPU"))
    first = gpu_load.read(nvml, lambda: handles[0])
    return {
        "sm_clock_mhz": first["sm_clock_mhz"],
        "throttled": first["throttle_reasons"],
        "processes": fact(lambda: sorted({one["pid"] for handle in handles for one in gpus.used(nvml, handle)})),
    }


def _handle(nvml: Nvml, index: int) -> ctypes.c_void_p:
    device = ctypes.c_void_p(None)
    nvml.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
    return device


def between(before: Look, after: Look, ours: Iterable[int], reason: str = "") -> dict[str, Any]:
    """model.run.NodeState but for the node's name, from two looks; `reason` is why a look may lack something."""
    missing = unknown(reason or "not read")
    nothing = dict.fromkeys(_GPU_FACTS, missing)
    first, last = ({**nothing, **one.get("gpu", {})} for one in (before, after))
    clocks = (first["sm_clock_mhz"], last["sm_clock_mhz"])
    port_bytes, port_errors = moved(before.get("ports", {}), after.get("ports", {}))
    return {
        "sm_clock_mhz": next((one for one in clocks if is_unknown(one)), list(clocks)),
        "throttled": _either(first["throttled"], last["throttled"], NO_REASON),
        "other_gpu_processes": others(first["processes"], last["processes"], set(ours)),
        "load_1min": before.get("load_1min", missing),
        "port_bytes": port_bytes,
        "port_errors": port_errors,
    }


def moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, list[int]], dict[str, int]]:
    """([sent, received] bytes of each port seen twice; growth of each error counter that grew, as "port name")."""
    volume: dict[str, list[int]] = {}
    errors: dict[str, int] = {}
    for name in before.keys() & after.keys():
        one, two = before[name], after[name]
        pairs = [(one[way], two[way]) for way in ("sent", "received")]
        if all(isinstance(a, int) and isinstance(b, int) for a, b in pairs):
            volume[name] = [growth(a, b) for a, b in pairs]
        for counter in one["errors"].keys() & two["errors"].keys():
            if grown := growth(one["errors"][counter], two["errors"][counter]):
                errors[f"{name} {counter}"] = grown
    return dict(sorted(volume.items())), dict(sorted(errors.items()))


def others(before: Any, after: Any, ours: set[int]) -> Any:
    """Pids on the GPUs that are not ours. Before the launch none is ours.

    After it our ranks may still be there; where their numbers are not the machine's, that look tells nothing.
    """
    if is_unknown(before):
        return before
    late = [] if is_unknown(after) or not tenants.is_first_pid_namespace() else after
    return sorted(pid for pid in {*before, *late} - ours if tenants.name(pid) != MPS)


def _either(before: Any, after: Any, without: set[str]) -> Any:
    known = [one for one in (before, after) if not is_unknown(one)]
    return sorted({word for one in known for word in one} - without) if known else before
