"""`profile derive`, `list` and `show`: the document as promised, exit statuses, `--ep` with and without a number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.cli import main
from fabricdoc.cli.commands.profile import with_ep_number
from fabricdoc.model.profile import Profile
from tests.unit.serving.coll_lines import stage_lines
from tests.unit.serving.models import REFERENCE

pytestmark = pytest.mark.unit

KEYS = {
    "role", "op", "count", "size", "send_bytes", "dtype", "in_graph", "group", "spans_nodes", "bypass", "confidence",
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(REFERENCE))
    return str(path)


def _json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_the_document_has_the_promised_form(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--tp", "2", "--ep", "--spec-tokens", "3", "--draft", "mtp", "--batch", "1", "--chunk", "8192"]
    assert main(["profile", "derive", file, *words, "--json"]) == 0
    found = _json(capsys)
    assert found["schema"] == "fabricdoc/profile/1"
    for stage in ("decode", "prefill"):
        assert set(found[stage]) == {"rows", "collectives", "totals"}
        assert all(set(one) == KEYS for one in found[stage]["collectives"])
        assert set(found[stage]["totals"]) == {
            "collectives", "all_reduce", "all_gather", "all_reduce_bytes", "all_gather_bytes",
        }  # fmt: skip
    assert (found["decode"]["rows"], found["prefill"]["rows"]) == (4, 8192)
    totals = found["decode"]["totals"]
    assert (totals["collectives"], totals["all_reduce"], totals["all_gather"]) == (117, 107, 10)


def test_for_people(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "derive", file, "--tp", "2", "--max-num-seqs", "4", "--step-ms", "40"]) == 0
    text = capsys.readouterr().out
    assert "one decode step of 1 row: 98 all-reduces" in text
    assert "captured batches" in text
    assert "40 ms without communication" in text


@pytest.mark.parametrize(
    ("args", "made"),
    [
        (["--ep"], ["--ep=-1"]),
        (["--ep", "--json"], ["--ep=-1", "--json"]),
        (["--ep", "2"], ["--ep", "2"]),
        (["--ep=2"], ["--ep=2"]),
        (["--ep", "config.json"], ["--ep=-1", "config.json"]),
    ],
)
def test_ep_with_and_without_a_number(args: list[str], made: list[str]) -> None:
    assert with_ep_number(args) == made


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tp", "3"], "--tp 3 does not split 16 num_attention_heads"),
        (["--tp", "two"], "--tp"),
        (["--tp", "2", "--engine", "ollama"], "--engine 'ollama' is not one of"),
        (["--tp", "2", "--ep", "3"], "--ep 3"),
        ([], "how many ranks"),
    ],
)
def test_what_is_wrong_ends_with_two(
    file: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "derive", file, *words]) == 2
    assert said in capsys.readouterr().err


def test_a_config_without_its_fields_ends_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama", "num_hidden_layers": 4}')
    assert main(["profile", "derive", str(path), "--tp", "2", "--json"]) == 2
    out = capsys.readouterr()
    assert "has no hidden_size, no vocab_size" in out.err
    assert json.loads(out.out)["id"] == "config-incomplete"


def test_a_derived_profile_is_one_that_show_reads(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "derive", file, "--tp", "2", "--json"]) == 0
    text = capsys.readouterr().out
    (tmp_path / "mine.json").write_text(text)
    assert main(["profile", "show", str(tmp_path / "mine.json"), "--json"]) == 0
    assert _json(capsys) == json.loads(text)


def test_list_and_show_know_the_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "list", "--json"]) == 0
    names = {one["name"]: one for one in _json(capsys)["profiles"]}
    assert names["qwen3.8-flash-next-tp2"]["decode"]["collectives"] == 117
    assert names["single-node"]["decode"]["collectives"] == 0
    assert main(["profile", "show", "single-node"]) == 0
    assert "cross the fabric" in " ".join(capsys.readouterr().out.split())
    assert main(["profile", "show", "qwen"]) == 2


def test_list_for_people_takes_a_users_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles/mine.toml").write_text(
        'name = "mine"\nsummary = "my own"\nsource = "me"\n[decode]\nrows = 1\n[prefill]\nrows = 1\n'
    )
    assert main(["profile", "list", "--presets", str(tmp_path)]) == 0
    assert "my own" in capsys.readouterr().out


def test_a_trace_is_counted_and_held_against_the_rules(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = ["--tp", "2", "--spec-tokens", "3", "--chunk", "8192"]
    assert main(["profile", "derive", file, *served, "--json"]) == 0
    derived = Profile.model_validate(_json(capsys))
    (tmp_path / "nccl.log").write_text("".join([*stage_lines(derived.decode), *stage_lines(derived.prefill)]))
    assert main(["profile", "trace", str(tmp_path / "nccl.log"), "--config", file, *served, "--json"]) == 0
    found = _json(capsys)
    assert (found["name"], found["decode"]["totals"]["collectives"]) == ("traced-nccl", 117)
    assert "decode: as the rules derive it" in found["notes"]
    assert main(["profile", "trace", str(tmp_path / "nccl.log"), "--steps", "2"]) == 2
    assert "--steps 2 does not divide" in capsys.readouterr().err
    assert main(["profile", "trace", str(tmp_path / "absent")]) == 2
