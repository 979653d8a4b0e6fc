"""The whole main job in one command: what it leaves, what it prints, and that the two agree."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabricdoc.model.fabric import Fabric
from fabricdoc.model.gate import Gate
from fabricdoc.model.run import Run
from fabricdoc.model.verdict import Verdict
from fabricdoc.store import RunStore, SampleKey
from fabricdoc.tuning import read_preset
from tests.lab.marked import Command, namespaces_alive, tiny_profile

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]


@dataclass
class Shown:
    """A finished demo."""

    folder: Path
    out: str
    err: str
    status: int
    leftover: set[int]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    pytest.importorskip("torch", reason="the demo launches gloo ranks")
    folder = tmp_path_factory.mktemp("demo")
    command = Command(["demo", "-o", str(folder), "--profile", tiny_profile(folder)], COLUMNS="100")
    out, err = command.process.communicate(timeout=380)
    return Shown(folder, out, err, command.process.returncode, command.pids())


def test_it_ends_fit_and_leaves_every_document(demo: Shown) -> None:
    assert demo.status == 0, demo.err[-2000:]
    names = {path.name for path in demo.folder.iterdir() if path.is_file()}
    wanted = {
        "scan.json",
        "cables.json",
        "run.json",
        "verdict.json",
        "preset.toml",
        "gate.json",
        "alpha.env",
        "beta.env",
    }
    assert wanted <= names


def test_nothing_of_it_lives_on(demo: Shown) -> None:
    assert demo.leftover == set()


def test_documents_are_of_their_kind_and_belong_together(demo: Shown) -> None:
    scan = Fabric.model_validate_json((demo.folder / "scan.json").read_text())
    cables = Fabric.model_validate_json((demo.folder / "cables.json").read_text())
    run = Run.model_validate_json((demo.folder / "run.json").read_text())
    verdict = Verdict.model_validate_json((demo.folder / "verdict.json").read_text())
    preset = read_preset(demo.folder / "preset.toml")
    gate = Gate.model_validate_json((demo.folder / "gate.json").read_text())
    assert [node.name for node in scan.nodes] == ["alpha", "beta"]
    assert cables.links == run.links
    assert verdict.run == preset.run == run.id
    assert verdict.choice == preset.choice
    assert gate.answer == "go"


def test_rails_are_crossed_so_values_differ_per_node(demo: Shown) -> None:
    values = {
        name: re.findall(r"^GLOO_SOCKET_IFNAME=(.*)$", (demo.folder / f"{name}.env").read_text(), re.M)
        for name in ("alpha", "beta")
    }
    assert all(len(found) == 1 for found in values.values())
    assert values["alpha"] != values["beta"]


def test_a_gloo_preset_invents_no_nccl_value_and_says_what_was_not_tried(demo: Shown) -> None:
    preset = read_preset(demo.folder / "preset.toml")
    names = {line.name for node in preset.nodes for line in node.lines}
    assert names == {"GLOO_SOCKET_IFNAME"}
    assert any("NCCL" in sentence for sentence in preset.not_exercised)
    assert "No NCCL variable" in demo.out


def test_every_block_launched_base_twice(demo: Shown) -> None:
    run = Run.model_validate_json((demo.folder / "run.json").read_text())
    blocks = [launch for launch in run.launches if launch.round == "search"]
    for block in range(1, run.plan.blocks + 1):
        assert [x.candidate for x in blocks if x.block == block].count("base") == 2


def test_printed_claims_are_the_stored_ones(demo: Shown) -> None:
    verdict = Verdict.model_validate_json((demo.folder / "verdict.json").read_text())
    text = " ".join(demo.out.split())
    assert " ".join(verdict.reason.split()) in text
    for candidate in verdict.candidates:
        row = re.search(rf"^ *{re.escape(candidate.name)} +(\w+)", demo.out, re.M)
        assert row is not None
        if candidate.score is not None:
            score = f"{candidate.score.ratio:.2f} [{candidate.score.low:.2f}, {candidate.score.high:.2f}]"
            assert score in demo.out
    run = Run.model_validate_json((demo.folder / "run.json").read_text())
    assert run.id in demo.out
    assert f"seed {run.plan.seed}" in text


def test_cells_summarise_the_stored_samples(demo: Shown) -> None:
    store = RunStore.open(demo.folder / "runs.sqlite")
    run = store.load()
    launch = next(x for x in run.launches if x.status == "ok" and x.round == "search")
    samples = store.samples(run.id, launch.number)
    for cell in launch.cells:
        per_rank = [
            samples[SampleKey(cell.view, cell.op, cell.size, cell.dtype, rank, cell.in_place)] for rank in range(2)
        ]
        worst = sorted(max(pair) for pair in zip(*per_rank, strict=False))
        middle = (worst[(len(worst) - 1) // 2] + worst[len(worst) // 2]) / 2
        assert cell.median_us == pytest.approx(middle, rel=1e-4)
        assert len(worst) == cell.calls


def test_run_json_and_the_store_agree(demo: Shown) -> None:
    left = json.loads((demo.folder / "run.json").read_text())
    stored = json.loads(RunStore.open(demo.folder / "runs.sqlite").load().model_dump_json())
    left.pop("created")
    stored.pop("created")
    assert left == stored
    assert namespaces_alive(set()) == set()
