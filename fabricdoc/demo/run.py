"""Runs the main job on the embedded lab and leaves every document in one folder.

The lab is gone when this returns, also after Ctrl-C or a failure; after kill -9 the kernel removes it. Nothing
is measured or judged here: the jobs do that.
"""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fabricdoc.bench import DECIDING_BLOCKS
from fabricdoc.demo.gpu import GpuShare, share_gpus
from fabricdoc.demo.leave import Folder
from fabricdoc.errors import InconclusiveError, StoppedError, StoreError, ToolError
from fabricdoc.export import env_file
from fabricdoc.gate import gate_status
from fabricdoc.lab import LabSpec, open_lab
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Objective
from fabricdoc.store import RunStore
from fabricdoc.transport import NodeSpec
from fabricdoc.tuning import build_preset, preset_to_toml
from fabricdoc.workflow import Asked, Request, check_gate, look_once, measure, opened_agents, prepare, with_cables

if TYPE_CHECKING:
    from fabricdoc.model.fabric import Fabric
    from fabricdoc.report import Screen
    from fabricdoc.workflow import Measured

SIZES = (8, 4096, 20480, 65536, 1 << 20)
GATE_S = 60.0
GPU_SIZES = (8, 1024, 4096, 8192, 16384, 20480, 32768, 65536, 1 << 20, 42 << 20)


@dataclass(frozen=True)
class DemoRequest:
    """What the demo should do; `rate_mbit` limits every rail, `gpu` asks for real NCCL."""

    folder: Path
    gpu: bool = False
    blocks: int = 6
    rate_mbit: int | None = None
    objective: Objective = "mix"
    profile: str = "dense-small-tp2"
    both_nics: bool = True
    python: str = ""


def run_demo(request: DemoRequest, screen: Screen) -> int:
    """The whole job, printed step by step; the gate's exit status."""
    folder = Folder(request.folder)
    _refuse_without_torch(request.python)
    with ExitStack() as stack:
        share = share_gpus(stack, 2) if request.gpu else GpuShare()
        screen.step("lab: two nodes, two rails, cabled crossed")
        lab = stack.enter_context(open_lab(LabSpec(rate_mbit=request.rate_mbit)))
        specs = [
            NodeSpec(
                name=node.name,
                target=node.target,
                ports=node.ports,
                env=share.environment(index),
                python=request.python or "python3",
            )
            for index, node in enumerate(lab.nodes)
        ]
        return _main_job(request, screen, folder, specs)


def _main_job(request: DemoRequest, screen: Screen, folder: Folder, specs: list[NodeSpec]) -> int:
    screen.step("scan")
    scanned = look_once(specs, screen.progress, hashed=True)
    _refuse_failed(scanned)
    folder.leave("scan.json", scanned.model_dump_json(indent=1))
    screen.show(scanned)
    screen.step("cables")
    fabric = with_cables(specs, scanned, screen.progress)
    folder.leave("cables.json", fabric.model_dump_json(indent=1))
    screen.show(fabric, part="links")
    try:
        measured = _bench(request, screen, folder, specs, fabric)
    except StoreError as error:  # the demo's store lies in its folder, and it has no --store
        raise StoreError(error.message, fix="free space there, or name another folder with -o DIR") from error
    except StoppedError as error:  # the lab ends with the demo: nothing can go on with what was measured in it
        fix = f"see what was measured: {_shown_by(folder)}" if error.fix else ""
        raise StoppedError(error.message, fix=fix) from error
    return _write_and_gate(screen, folder, specs, measured, fabric)


def _shown_by(folder: Folder) -> str:
    """The command that shows the demo's measurements."""
    return f"fabricdoc runs show --sizes --store {shlex.quote(str(folder.path / 'runs.sqlite'))}"


def _refuse_without_torch(python: str) -> None:
    """Before anything starts: the ranks need a torch, in this python unless another is named."""
    if not python and find_spec("torch") is None:
        raise ToolError(
            f"the demo launches real ranks, and this python ({sys.executable}) has no torch",
            fix="in a checkout: make demo; else: fabricdoc demo --python /path/to/a/python3/with/torch",
            id="torch-missing",
        )


def _refuse_failed(fabric: Fabric) -> None:
    if fabric.failed:
        lost = fabric.failed[0]
        raise ToolError(f"the lab node {lost.name} could not be read: {lost.message}", fix=lost.fix)


def _bench(request: DemoRequest, screen: Screen, folder: Folder, specs: list[NodeSpec], fabric: Fabric) -> Measured:
    screen.step("bench")
    wanted = Request(
        specs=specs,
        backend="nccl" if request.gpu else "gloo",
        both_nics=request.both_nics,
        profile=request.profile,
        objective=request.objective,
        blocks=request.blocks,
        sizes=GPU_SIZES if request.gpu else SIZES,
    )
    opened = RunStore.open(folder.path / "runs.sqlite", write=True)
    with opened as store, opened_agents(wanted, fabric, screen.progress) as agents:
        prepared = prepare(wanted, fabric, agents)
        screen.plan(prepared.run.plan, prepared.notes)
        measured = measure(wanted, fabric, agents, prepared, store, screen.progress)
    folder.leave("run.json", measured.run.model_dump_json(indent=1))
    screen.show(measured.run)
    screen.step("verdict")
    folder.leave("verdict.json", measured.recommended.verdict.model_dump_json(indent=1))
    screen.show(measured.recommended.verdict)
    return measured


def _preset(screen: Screen, measured: Measured, fabric: Fabric) -> Preset:
    """The preset of the verdict; on a machine too noisy to tell sets apart, what the fabric needs whatever is measured.

    `fabricdoc bench` gives none then: it is the rest of the story that a demo shows.
    """
    run, verdict = measured.run, measured.recommended.verdict
    if measured.recommended.preset is not None:
        return measured.recommended.preset
    if run.plan.blocks < DECIDING_BLOCKS:
        raise InconclusiveError(f"no preset: {verdict.reason}", fix="fabricdoc demo --blocks 6", id="inconclusive")
    screen.notes(["This machine is too noisy for a verdict: on with base, which is placed and not measured."])
    return build_preset(run, verdict, fabric)


def _write_and_gate(screen: Screen, folder: Folder, specs: list[NodeSpec], measured: Measured, fabric: Fabric) -> int:
    preset = _preset(screen, measured, fabric)
    screen.step("preset and export-env")
    folder.leave("preset.toml", preset_to_toml(preset))
    for node in preset.nodes:
        folder.leave(*env_file(preset, node))
    screen.show(preset)
    screen.step("gate")
    answer = check_gate(Asked(preset, tuple(specs), deadline_s=GATE_S, keep=False), screen.progress)
    folder.leave("gate.json", answer.model_dump_json(indent=1))
    screen.show(answer)
    screen.written(folder.left)
    screen.next_command(_shown_by(folder), "read what was measured")
    screen.next_command("fabricdoc init", "find nodes of your own, where their ssh is set up")
    return gate_status(answer)
