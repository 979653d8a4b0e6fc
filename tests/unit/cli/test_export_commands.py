"""export-env and verify-env as commands: what is written where, and what each bad word or preset ends in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabricdoc.cli import main
from fabricdoc.export import FORMATS
from fabricdoc.fabric import selected, traced
from fabricdoc.model.preset import Preset
from fabricdoc.tuning import preset_to_toml, read_preset
from fabricdoc.workflow import beginning
from tests.fabrics.recorded import RECORDED
from tests.unit.export.presets_made import ALGO, HEAD, WORKER, node, pair, preset
from tests.unit.export.readers import docker_reads

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return keep(pair(), tmp_path)


def keep(preset: Preset, folder: Path) -> Path:
    (folder / "p.toml").write_text(preset_to_toml(preset))
    return folder


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["export-env", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(("node", "hca"), [("spark1", "f1"), ("head", "f1"), ("spark2", "f0"), ("worker", "f0")])
def test_a_node_by_name_or_role(node: str, hca: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run("p.toml", "--node", node, capsys=capsys)
    assert status == 0
    assert docker_reads(out)["NCCL_IB_HCA"] == f"=rocep1s0{hca},roceP2p1s0{hca}"


def test_the_part_that_all_nodes_share_is_a_text_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(pair({"NCCL_IB_TC": "106", "NCCL_BUFFSIZE": "4194304"}), folder)
    shared = {"NCCL_NET": "IB", "NCCL_IB_TC": "106", "NCCL_BUFFSIZE": "4194304"}
    status, out, _ = run("p.toml", "--node", "common", capsys=capsys)
    assert (status, docker_reads(out)) == (0, shared)
    run("p.toml", "-o", "out", capsys=capsys)
    assert (folder / "out" / "common.env").read_text() == out
    assert run("p.toml", "-o", "alone", "--node", "common", "--format", "bash", capsys=capsys)[0] == 0
    assert [path.name for path in (folder / "alone").iterdir()] == ["common.sh"]
    assert json.loads(run("p.toml", "--node", "common", "--json", capsys=capsys)[1])["variables"] == shared


def test_a_script_of_one_node_has_no_such_part(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run("p.toml", "--node", "common", "--format", "vllm", capsys=capsys)
    assert (status, out) == (2, "")
    assert "use one of: env, docker-env, docker, bash" in " ".join(err.split())


@pytest.mark.parametrize("words", [["--node", "head"], ["--node", "common"], ["-o", "out"]])
def test_a_file_edited_into_what_ranks_can_not_agree_on_is_refused(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = (
        node("spark1", {**HEAD, "NCCL_BUFFSIZE": "1048576"}),
        node("spark2", {**WORKER, "NCCL_BUFFSIZE": "4194304"}),
    )
    keep(preset(*nodes), folder)
    status, out, err = run("p.toml", *words, capsys=capsys)
    assert (status, out) == (2, "")
    assert "NCCL_BUFFSIZE must be equal on all ranks" in " ".join(err.split())
    assert not (folder / "out").exists()


def test_without_a_node_the_choices_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run("p.toml", capsys=capsys)
    assert (status, out) == (2, "")
    assert "add --node spark1  or  --node spark2" in err


def test_the_formats_are_told_as_a_table_and_as_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run("--formats", capsys=capsys)
    assert (status, max(len(row) for row in out.splitlines()) <= 80) == (0, True)
    assert all(f"\n{fmt} " in out for fmt in FORMATS)
    status, out, _ = run("--formats", "--json", capsys=capsys)
    document = json.loads(out)
    assert (status, document["schema"]) == (0, "fabricdoc/formats/1")
    assert [one["name"] for one in document["formats"]] == list(FORMATS)


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_format_of_every_node_or_all(fmt: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run("p.toml", "--node", "head", "--format", fmt, capsys=capsys)
    assert (status, bool(out)) == (0, True)
    status, _, _ = run("p.toml", "-o", "out", "--format", fmt, capsys=capsys)
    assert status == 0
    assert list(Path("out").iterdir())


def test_a_value_that_can_not_be_carried_names_who_can(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(pair({"NCCL_ALGO": ALGO}), folder)
    status, out, err = run("p.toml", "--node", "head", capsys=capsys)
    assert (status, out) == (2, "")
    assert "NCCL_ALGO can't be written" in err
    assert "docker-env" in err
    assert run("p.toml", "--node", "head", "--format", "bash", capsys=capsys)[0] == 0


def test_what_a_format_leaves_out_is_said_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run("p.toml", "--format", "ray", capsys=capsys)
    assert status == 0
    assert json.loads(out) == {"env_vars": {"NCCL_NET": "IB"}}
    assert "NCCL_IB_HCA" in err


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run("p.toml", "--node", "head", "--json", capsys=capsys)
    assert (status, json.loads(out)["schema"]) == (0, "fabricdoc/env/1")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema_": "fabricdoc/preset/2"}, "fabricdoc/preset/2"),
        ({"schema_": "fabricdoc/run/1"}, "fabricdoc/run/1"),
        ({"expires": "2020-01-01T00:00:00Z"}, "measured again by 2020-01-01T00:00:00Z"),
        ({"expires": "soon"}, "no time"),
        ({"nodes": ()}, "no node"),
    ],
)
def test_presets_that_can_not_be_used(
    folder: Path, change: dict[str, object], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(pair().model_copy(update=change), folder)
    for words in (["--node", "head"], ["-o", "out"]):
        status, out, err = run("p.toml", *words, capsys=capsys)
        assert (status, out) == (2, "") or (words[0] == "-o" and told == "no node")
        if status:
            assert told in " ".join(err.split())


def test_an_expired_preset_can_be_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(pair().model_copy(update={"expires": "2020-01-01"}), folder)
    assert run("p.toml", "--node", "head", "--expired", capsys=capsys)[0] == 0


def test_a_preset_of_a_newer_fabricdoc_with_fields_nobody_knows(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "p.toml").read_text()
    (folder / "p.toml").write_text(f'later = "x"\n{text}')
    status, _, err = run("p.toml", "--node", "head", capsys=capsys)
    assert status == 2
    assert "later" in err


@pytest.mark.parametrize("node", ["gamma", "", "spark1 spark2", "*"])
def test_node_names_that_are_not_in_the_run(node: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run("p.toml", "--node", node, capsys=capsys)
    if node:
        assert (status, out) == (2, "")
        assert "spark1, spark2" in " ".join(err.split())


def test_a_curated_preset_from_a_scan(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fabric = selected(traced(RECORDED["spark-one-crossed"]()))
    monkeypatch.setattr(beginning, "look", lambda _specs, _progress: fabric)
    words = ["--platform", "gb10", "--nodes", "spark-a,spark-b"]
    status, out, err = run(*words, "--node", "worker", "--save", "start.toml", capsys=capsys)
    assert status == 0
    assert "not measured here" in out
    assert "not measured here" in err
    assert docker_reads(out)["NCCL_IB_HCA"] == "=rocep1s0f1,roceP2p1s0f1"
    assert read_preset(Path("start.toml")).choice == "starting:gb10-pair-one-cable"
    assert run("start.toml", "--node", "worker", capsys=capsys)[1] == out
    assert run(*words, capsys=capsys)[0] == 2


@pytest.mark.parametrize("words", [["--nodes", "a,b"], ["--save", "x.toml"], ["--format", "yaml"], ["absent.toml"]])
def test_words_that_go_nowhere(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(*words, capsys=capsys)
    assert (status, out) == (2, "")


def test_a_lost_hca_may_be_let_pass_and_a_first_launch_may_speak(capsys: pytest.CaptureFixture[str]) -> None:
    plain = docker_reads(run("p.toml", "--node", "head", capsys=capsys)[1])
    loose = docker_reads(run("p.toml", "--node", "head", "--no-strict", capsys=capsys)[1])
    first = docker_reads(run("p.toml", "--node", "head", "--first-launch", capsys=capsys)[1])
    assert plain == {**loose, "NCCL_NET": "IB"}
    assert first["NCCL_DEBUG"] == "INFO"
    assert {name: value for name, value in first.items() if name in plain} == plain
