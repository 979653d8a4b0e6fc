"""`--from` in all its forms, together and alone; a source that says nothing is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabricdoc.errors import InputError, UsageError
from fabricdoc.serving import Asked, derive
from fabricdoc.serving.sources import read_sources
from tests.unit.serving.models import REFERENCE

pytestmark = pytest.mark.unit

SCRIPT = """#!/bin/bash
# vllm serve commented out
TP=2
MODEL=/models/M
export VLLM_ENABLE_ROCE_ALLREDUCE=1
docker run -d -e A=1 image \\
  vllm serve $MODEL \\
    --tensor-parallel-size ${TP} --max-num-seqs ${SEQS:-4} \\
    --speculative-config '{"method":"mtp","num_speculative_tokens":3}'
"""


def test_a_launch_line() -> None:
    source = read_sources(["VLLM_ENABLE_ROCE_ALLREDUCE=1 vllm serve M -tp 2"])
    assert (source.found.served.tp, source.found.model, source.found.served.rocenante) == (2, "M", True)


def test_a_script(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(SCRIPT)
    source = read_sources([str(tmp_path / "run.sh")])
    served = source.found.served
    assert (served.tp, served.max_num_seqs, served.spec_tokens, served.draft) == (2, 4, 3, "mtp")
    assert (served.rocenante, source.found.model, source.environ["A"]) == (True, "/models/M", "1")


def test_an_env_file_fills_in_a_launch_line(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TP=4\nVLLM_ENABLE_ROCE_ALLREDUCE=1\n")
    served = read_sources([str(tmp_path / ".env"), "vllm serve M -tp $TP"]).found.served
    assert (served.tp, served.rocenante) == (4, True)


def test_a_recipes_env_gives_the_reference_profile_with_the_model_from_the_cache(tmp_path: Path) -> None:
    folder = tmp_path / "hub/models--org--M/snapshots/a"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(REFERENCE))
    (tmp_path / ".env").write_text(
        f"HEAD_IP=a\nWORKER_IP=b\nIFACE=x\nIB_HCA='=y'\nMODEL_ID=org/M  # model\nHF_HOME={tmp_path}\n"
        "TENSOR_PARALLEL_SIZE=2\nMAX_NUM_SEQS=8\nMAX_NUM_BATCHED_TOKENS=8192\n"
    )
    profile = derive(Asked(sources=[str(tmp_path / ".env")]))
    assert profile.decode.totals.collectives == 117
    assert [stage.batch for stage in profile.captured] == [1, 2, 4, 6, 8]
    assert profile.prefill.rows == 8192


def test_options_win_and_answer_the_open_question(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(REFERENCE))
    line = "vllm serve M -tp 2"
    open_ = derive(Asked(config=tmp_path, sources=[line]))
    assert any("--gpus-per-node" in note for note in open_.notes)
    closed = derive(Asked(config=tmp_path, sources=[line], numbers={"gpus_per_node": 2, "tp": 4}))
    assert not any("--gpus-per-node" in note for note in closed.notes)
    assert closed.decode.collectives[0].spans_nodes is True
    assert closed.summary.startswith("qwen4_exp on vLLM, TP4")


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["echo hello"], "says nothing of how a model is served"),
        (["pid:x"], "names no process"),
        (["pid:999999999"], "no process 999999999"),
        (["container:a b"], "is no name of a container"),
        (["vllm serve A -tp 2", "vllm serve B -tp 2"], "names 2 servers"),
        (["vllm serve -tp 2"], "--from names no model"),
        (["vllm serve org/absent -tp 2"], "is not on this machine"),
        (["vllm serve M -tp $NOBODY"], "--tensor-parallel-size is"),
    ],
)
def test_what_says_nothing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, texts: list[str], words: str
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=words) as caught:
        derive(Asked(sources=texts))
    assert caught.value.status == 2


def test_files_that_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("NCCL_DEBUG=INFO\n")
    with pytest.raises(UsageError, match="says nothing"):
        read_sources([str(tmp_path / "empty")])
    with pytest.raises(InputError, match="No such file"):
        read_sources([str(tmp_path / "absent")])
    (tmp_path / "large").write_text("x" * (2 << 20))
    with pytest.raises(InputError, match="longer than"):
        read_sources([str(tmp_path / "large")])
