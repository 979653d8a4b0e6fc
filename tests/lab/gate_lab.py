"""A lab whose nodes can be made to fail for real, and its preset: what tests of the gate share.

Each node's python is a small program that reads a file of faults first: then it starts the real python with a lower
limit, with another NCCL on its way, with a GPU driver that lists a process (invented: there is no GPU here), or stops
itself as a node that hangs does. Links, addresses and listeners are changed in the node itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fabricdoc.export.starting_prints import prints_of
from fabricdoc.fabric import map_cables, scan
from fabricdoc.lab import Lab, LabNode
from fabricdoc.model.gate import Gate, GateCheck
from fabricdoc.model.preset import Line, NodePreset, Preset
from fabricdoc.transport import NodeSpec
from fabricdoc.tuning import preset_to_toml
from fabricdoc.workflow import Asked, check_gate

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0
NCCL = "2.28.9"
FLOORS = "[lab]\nmemlock_mib = 0.03125\nmemory_gib = 0.25\n"
LOW_MEMLOCK = 16 << 10
GPU = """
import ctypes, os, sys
sys.path.insert(0, {root!r})
from tests import drivers
sys.path.remove({root!r})
real_cdll, real_access = ctypes.CDLL, os.access
library = drivers.nvml([drivers.Gpu(name=b"NVIDIA H200", pids={pids!r})])
ctypes.CDLL = lambda name, *a, **k: library if name == "libnvidia-ml.so.1" else real_cdll(name, *a, **k)
os.access = lambda path, *a, **k: path == "/dev/nvidiactl" or real_access(path, *a, **k)
"""
PYTHON = """#!{python} -I
import json, os, signal, sys
with open({faults!r}) as stream: faults = json.load(stream)
if "hang" in faults: os.kill(os.getpid(), signal.SIGSTOP)
os.environ["LD_LIBRARY_PATH"] = faults["libraries"]
words = sys.argv[1:]
if "memlock" in faults:
    import ctypes, resource
    assert ctypes.CDLL(None).prctl(24, 14, 0, 0, 0) == 0  # PR_CAPBSET_DROP: who has CAP_IPC_LOCK has no limit
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (faults["memlock"], faults["memlock"]))
    if words[-2] in ("scan", "several"): words[words.index("-c") + 1] = faults["gpu"] + words[words.index("-c") + 1]
    os.execv({python!r}, [{python!r}, *words])
if words[-2] in ("scan", "several"): exec(faults["gpu"])
program = words.index("-c") + 1
sys.argv = ["-c", *words[program + 1:]]
exec(words[program])
"""
"""As `python -I -c PROGRAM SIZES MODULE NONCE`, which is how a probe is started; without a second start of python."""


class GateLab:
    """A lab, the preset measured on it while it was healthy, and ways to break and mend its nodes."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        for node in lab.nodes:
            self._faults(node.name, {})
            python = folder / f"python-{node.name}"
            python.write_text(PYTHON.format(python=sys.executable, faults=str(self._file(node.name))))
            python.chmod(0o755)
        (folder / "gate").mkdir()
        (folder / "gate" / "floors.toml").write_text(FLOORS)
        self.preset = self._measured()
        self.file = folder / "pair.toml"
        self.file.write_text(preset_to_toml(self.preset))
        self.store = folder / "runs.sqlite"

    def node(self, name: str) -> LabNode:
        return next(one for one in self.lab.nodes if one.name == name)

    def specs(self) -> list[NodeSpec]:
        return [
            NodeSpec(name=one.name, target=one.target, ports=one.ports, python=str(self.folder / f"python-{one.name}"))
            for one in self.lab.nodes
        ]

    def _measured(self) -> Preset:
        """As a bench would leave it: placed lines, and what must still be true, from a scan of the healthy lab."""
        specs = self.specs()
        fabric = map_cables(specs, scan(specs, deadline_s=DEADLINE_S))
        prints = prints_of(fabric, {one.name: one.ports for one in self.lab.nodes})
        prints = prints.model_copy(
            update={"nodes": tuple(one.model_copy(update={"nccl": NCCL}) for one in prints.nodes)}
        )
        words = dict.fromkeys(("run", "objective", "choice", "reason"), "x")
        nodes = tuple(
            NodePreset(name=one.name, target=one.target, python=spec.python, lines=lines_of(one))
            for one, spec in zip(self.lab.nodes, specs, strict=True)
        )
        fields: dict[str, Any] = {**words, "name": "pair", "profile": "lab", "backend": "gloo", "exercised": "lab"}
        return Preset.model_validate({**fields, "nodes": nodes, "fingerprint": prints})

    def gate(self, **more: Any) -> Gate:
        """One gate in this process."""
        fields = {"preset": self.preset, "deadline_s": DEADLINE_S, "store": self.store, "folders": (self.folder,)}
        return check_gate(Asked(**{**fields, **more}))

    @contextmanager
    def broken(self, name: str, **faults: Any) -> Iterator[None]:
        """The node's python with these faults, as it was afterwards."""
        self._faults(name, faults)
        try:
            yield
        finally:
            self._faults(name, {})

    def _file(self, name: str) -> Path:
        return self.folder / f"faults-{name}.json"

    def _faults(self, name: str, faults: dict[str, Any]) -> None:
        gpu = GPU.format(root=str(ROOT), pids=tuple(faults.pop("tenants", ())))
        libraries = library(self.folder, faults.pop("nccl", NCCL))
        self._file(name).write_text(json.dumps({"gpu": gpu, "libraries": libraries, **faults}))


def library(folder: Path, version: str) -> str:
    """A folder with a libnccl.so.2 that says this version of itself."""
    place = folder / f"nccl-{version}"
    place.mkdir(exist_ok=True)
    (place / "libnccl.so.2").write_bytes(b"NCCL version " + version.encode() + b"+cuda13.0\0")
    return str(place)


def lines_of(node: LabNode) -> tuple[Line, ...]:
    """A line that differs per node and one that does not."""
    values = {"GLOO_SOCKET_IFNAME": node.ports[0], "NCCL_IB_QPS_PER_CONNECTION": "2"}
    return tuple(Line(name=name, value=value, kind="placed", evidence="lab") for name, value in values.items())


def refusing(gate: Gate) -> list[tuple[str, str]]:
    """(id, place) of every check that refused."""
    return [(one.id, one.place) for one in gate.checks if one.outcome in ("differs", "failed") and not one.waived]


def refused(gate: Gate, id: str, place: str) -> GateCheck:
    """The check that refused; the gate must be a no-go that names it, with a fix and somebody who is to act."""
    assert gate.answer == "no-go", (gate.answer, gate.reason)
    found = [one for one in gate.checks if (one.id, one.place) == (id, place) and one.outcome == "differs"]
    assert found, refusing(gate)
    assert found[0].fix
    assert found[0].who
    return found[0]


def goes(gate: Gate) -> bool:
    """Whether it is a go; what is in the way otherwise."""
    told = [(one.id, one.place, one.outcome, one.found) for one in gate.checks if one.outcome not in ("ok", "noted")]
    assert gate.answer == "go", (gate.reason, told)
    return True


Change = Callable[[], object]
