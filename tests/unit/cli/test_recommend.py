"""recommend as a command: stored launches judged under another profile, objective, weight or step, without a launch."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.cli import main
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Candidate, Run
from fabricdoc.store import RunStore
from tests.benchmarks.recorded_launches import BASE, PROFILE
from tests.benchmarks.recorded_runs import recorded_runs
from tests.fabrics import crossed_pair

pytestmark = pytest.mark.unit

TINY = """
name = "tiny"
summary = "8 B in decode"
source = "invented"
[decode]
rows = 1
[[decode.collectives]]
role = "r"
op = "all_reduce"
count = 97
size = 8
send_bytes = 8
[prefill]
rows = 1
"""


def _stored(folder: Path, *candidates: Candidate) -> Path:
    """A store with the recorded run of objective decode."""
    run: Run = recorded_runs("gpu_main_job-decode-and-fresh.txt")[0]
    plan = run.plan.model_copy(update={"profile": PROFILE, "objective": "decode"})
    if candidates:
        plan = plan.model_copy(update={"candidates": candidates})
    path = folder / "runs.db"
    store = RunStore.open(path, write=True)
    store.begin(run.model_copy(update={"plan": plan, "launches": (), "status": "running"}))
    for launch in run.launches:
        store.append_launch(run.id, launch, {})
    store.finish(run.id, "complete", "")
    store.save_document(run.id, "fabric", crossed_pair().model_dump_json())
    store.close()
    return path


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return _stored(tmp_path)


def _verdict(store: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["recommend", "--store", str(store), "--json", *words])
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def _preset(store: Path) -> Preset:
    kept = RunStore.open(store)
    text = kept.load_document("resampled", "preset")
    kept.close()
    assert text is not None
    return Preset.model_validate_json(text)


def test_another_profile_gets_another_answer(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    assert _verdict(store, capsys=capsys)["choice"] == "simple"
    tiny = _verdict(store, "--profile", str(tmp_path / "tiny.toml"), capsys=capsys)
    assert tiny["choice"] != "simple"
    assert {one["verdict"] for one in tiny["candidates"] if one["name"] == "simple"} == {"worse"}


def _derived(folder: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, list[int]]:
    """A derived profile's file without its all-gathers, which the stored run did not time; and the batches' rows."""
    fields = {"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 48, "vocab_size": 32000}
    (folder / "config.json").write_text(json.dumps(fields))
    assert main(["profile", "derive", str(folder / "config.json"), "--tp", "2", "--batch", "8", "--json", *words]) == 0
    made = json.loads(capsys.readouterr().out)
    for stage in (made["decode"], made["prefill"], *made["captured"]):
        del stage["totals"]
        stage["collectives"] = [one for one in stage["collectives"] if one["op"] == "all_reduce"]
    (folder / "derived.json").write_text(json.dumps(made))
    return str(folder / "derived.json"), [stage["rows"] for stage in made["captured"]]


def test_decode_is_scored_over_every_batch_the_server_captures(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Batch 8 alone (16 KiB) would take ring-tree; with all batches to 16 requests that of 4 rows (8 KiB) loses."""
    alone, rows = _derived(tmp_path, capsys=capsys)
    assert rows == []
    assert _verdict(store, "--profile", alone, "--objective", "mix", capsys=capsys)["choice"] == "ring-tree"
    every, rows = _derived(tmp_path, "--max-num-seqs", "16", capsys=capsys)
    assert rows == [1, 2, 4, 8, 16]
    verdict = _verdict(store, "--profile", every, "--objective", "mix", capsys=capsys)
    assert verdict["choice"] == "base"
    assert "the decode step of 4 rows: 26 % slower" in verdict["trade"][0]
    assert verdict["trade"][0].endswith("--objective decode would take it.")
    scores = {one["name"]: one["score"]["ratio"] for one in verdict["candidates"]}
    assert scores["ring-tree"] == pytest.approx(1.23, abs=0.01)
    assert scores["simple"] < 1.0, "better at batch 8 and 16, worse over all batches"


def test_weights_the_step_and_the_time_a_preset_holds(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weighted = _verdict(store, "--weights", "decode=7,prefill=3", "--step-ms", "40", capsys=capsys)
    assert (weighted["objective"], weighted["weights"]) == ("mix", {"decode": 0.7, "prefill": 0.3})
    assert weighted["ceiling"].startswith("communication is ")
    _verdict(store, capsys=capsys)
    assert _preset(store).expires == "2027-02-27T16:45:00Z"
    _verdict(store, "--valid-days", "7", capsys=capsys)
    assert _preset(store).expires == "2026-12-06T16:45:00Z"


def test_a_run_without_the_sizes_says_which_bench_call_measures_them(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["recommend", "--store", str(store), "--profile", "llama-3.3-70b-tp2"])
    said = " ".join(capsys.readouterr().out.replace("\\", "").split())
    assert status == 3
    assert "fabricdoc bench --nodes alpha=netns:alpha,beta=netns:beta --profile llama-3.3-70b-tp2" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--weights", "decode=1", "--objective", "decode"], "leave out one of --weights and --objective"),
        (["--weights", "speed=1"], "decode=0.7,prefill=0.3"),
        (["--step-ms", "0"], "--step-ms 0 is no number above 0"),
        (["--tokens-per-step", "2"], "--tokens-per-step says nothing alone"),
    ],
)
def test_words_that_make_no_sense_are_told(
    store: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recommend", "--store", str(store), *words]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_a_set_that_can_corrupt_data_is_never_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stored run whose winner forces LL128 by name: judged, and not exported."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names = ("ring-tree", "two-channels", "one-channel", "simple")
    bad = tuple(Candidate(name=name, variables={"NCCL_PROTO": "LL128"}) for name in names)
    store = _stored(tmp_path, BASE, *bad)
    assert main(["recommend", "--store", str(store)]) == 2
    assert "forces LL128" in " ".join(capsys.readouterr().err.split())
    assert main(["export-env", "--store", str(store)]) == 2


def test_the_next_command_names_the_store_that_was_named(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recommend", "--store", str(store)]) == 0
    assert f"fabricdoc export-env -o . --store {store}" in " ".join(capsys.readouterr().err.replace("\\", "").split())
    assert main(["runs", "show", f"--store={store}"]) == 0
    assert f"--store {store}" in " ".join(capsys.readouterr().err.replace("\\", "").split())


def test_a_run_that_was_stopped_is_to_be_gone_on_with(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = RunStore.open(store, write=True)
    run = kept.load(None)
    stopped = run.model_copy(update={"id": "20260101-000000-abcd", "launches": (), "status": "running"})
    kept.begin(stopped)
    for launch in run.launches[:4]:
        kept.append_launch(stopped.id, launch, {})
    kept.finish(stopped.id, "interrupted", "stopped by the user")
    kept.close()
    assert main(["recommend", stopped.id, "--store", str(store)]) == 3
    said = capsys.readouterr()
    assert "stopped by the user" in said.out
    assert f"fabricdoc bench --resume {stopped.id} --store {store}" in " ".join(said.err.replace("\\", "").split())


def _unsure(folder: Path, *, base: str = "ok") -> Path:
    """A store whose run has one block, too few for a verdict."""
    run: Run = recorded_runs("gpu_main_job-decode-and-fresh.txt")[0]
    plan = run.plan.model_copy(update={"profile": PROFILE, "objective": "decode", "blocks": 1})
    path = folder / "unsure.db"
    with RunStore.open(path, write=True) as kept:
        kept.begin(run.model_copy(update={"plan": plan, "launches": (), "status": "running"}))
        for launch in run.launches:
            if launch.block <= 1 and launch.round != "confirm":
                status = base if launch.candidate == "base" else launch.status
                kept.append_launch(run.id, launch.model_copy(update={"status": status}), {})
        kept.finish(run.id, "complete", "")
        kept.save_document(run.id, "fabric", crossed_pair().model_dump_json())
    return path


def test_where_nothing_could_be_told_base_can_be_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = _unsure(tmp_path)
    assert main(["recommend", "--store", str(store)]) == 3
    assert main(["export-env", "--store", str(store), "--node", "alpha"]) == 2
    told = capsys.readouterr().err
    fix = f"fabricdoc recommend resampled --keep-base --store {store}"
    assert "its verdict could not tell which set is best" in told
    assert fix in told.replace("\n", " ")
    assert main(shlex.split(fix)[1:]) == 0
    assert f"fabricdoc export-env -o . --store {store}" in capsys.readouterr().err.replace("\n", "").replace(
        "\\    ", ""
    )
    with RunStore.open(store) as kept:
        preset = Preset.model_validate_json(kept.load_document("resampled", "preset") or "")
    assert (preset.choice, preset.reason.startswith("Base is kept because you said so")) == ("base", True)
    assert {line.kind for node in preset.nodes for line in node.lines} <= {"placed"}


def test_a_base_that_never_ran_is_not_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recommend", "--store", str(_unsure(tmp_path, base="failed")), "--keep-base"]) == 2
    assert "never ran to its end" in capsys.readouterr().err


def test_a_chosen_set_gives_way_to_base_on_request(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recommend", "--store", str(store), "--keep-base"]) == 0
    assert "Use simple" in capsys.readouterr().out, "the verdict is not changed by it"
    assert _preset(store).choice == "base"
