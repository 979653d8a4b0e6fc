"""How long judging takes for many nodes: recorded 8-rail servers, healthy ones and ones with a fault on every node.

    python tests/benchmarks/gate_scale.py [NODES] [--most SECONDS]      (1000 nodes; 15 s of processor time at most)

Judges documents alone: looking at nodes is not in it (fanout.py). Exits 1 above the most. Changes nothing.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from fabricdoc.model.fabric import Fabric
    from fabricdoc.model.preset import Preset


def main() -> int:
    """Judge both; 1 when one took longer than asked for, or was not answered as it should be."""
    from fabricdoc.checks import judged
    from fabricdoc.cli.program import GC_AFTER
    from tests.benchmarks.checks_speed import faulty
    from tests.fabrics.servers import eight_rail_servers

    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("nodes", nargs="?", type=int, default=1000)
    words.add_argument("--most", type=float, default=15.0)
    asked = words.parse_args()
    gc.set_threshold(GC_AFTER)  # as in the command
    healthy = eight_rail_servers(asked.nodes)
    preset = preset_of(healthy)
    print(f"{platform.machine()}, load {os.getloadavg()[0]:.1f}, python {platform.python_version()}")
    spoiled: Fabric = faulty(asked.nodes)  # type: ignore[assignment]
    took = [judge(preset, judged(healthy), "go"), judge(preset, judged(spoiled), "no-go")]
    return 0 if max(took) <= asked.most else 1


def preset_of(fabric: Fabric) -> Preset:
    """As measured on these nodes while all was well."""
    from fabricdoc.export.starting_prints import prints_of
    from fabricdoc.model.documents import Unknown
    from fabricdoc.model.preset import Line, NodePreset, Preset

    ports: dict[str, list[str]] = {}
    for node in fabric.nodes:
        hcas = () if isinstance(node.hcas, Unknown) else node.hcas
        ports[node.name] = [str(hca.ports[0].netdev) for hca in hcas]
    lines = (Line(name="NCCL_NET", value="IB", kind="placed", evidence="recorded"),)
    nodes = tuple(NodePreset(name=one.name, target=one.name, lines=lines) for one in fabric.nodes)
    fields = dict.fromkeys(("run", "objective", "choice", "reason", "exercised"), "recorded")
    made = {**fields, "name": "many", "profile": "many", "backend": "nccl", "nodes": nodes}
    return Preset.model_validate({**made, "fingerprint": prints_of(fabric, ports)})


def judge(preset: Preset, fabric: Fabric, wanted: str) -> float:
    """Processor seconds of a gate's judging, its document included; told."""
    from fabricdoc.gate import Looked, Terms, conclude, judge_quick

    variables = {node.name: {"NCCL_NET": "IB"} for node in fabric.nodes}
    begun = time.process_time()
    looked = Looked(fabric=fabric, preset=preset, now=datetime.now(UTC), variables=variables, head=fabric.nodes[0].name)
    checks, findings = judge_quick(looked)
    gate = conclude(Terms(preset=preset.name), [node.name for node in fabric.nodes], checks, findings)
    size = len(gate.model_dump_json())
    took = time.process_time() - begun
    print(
        f"{len(fabric.nodes)} nodes, {gate.answer}: {took:.2f} s of processor time for {len(checks)} checks, "
        f"{len(gate.findings)} causes, {size / 1e6:.1f} MB of JSON"
    )
    if gate.answer != wanted:
        raise SystemExit(f"{gate.answer}, wanted {wanted}: {gate.reason}")
    return took


if __name__ == "__main__":
    sys.exit(main())
