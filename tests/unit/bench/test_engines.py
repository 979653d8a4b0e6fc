"""What engines set by themselves, and how a user's own base.toml wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.bench.base import base_candidate
from fabricdoc.bench.engines import engine_named
from fabricdoc.errors import InputError, UsageError
from fabricdoc.fabric import rails_of
from tests.fabrics import crossed_pair

pytestmark = pytest.mark.unit


def test_sglang_sets_what_its_source_sets() -> None:
    engine = engine_named("sglang")
    assert engine.variables["NCCL_CUMEM_ENABLE"] == engine.variables["NCCL_NVLS_ENABLE"] == "0"
    assert engine.source


def test_vllm_and_trtllm_add_nothing() -> None:
    assert engine_named("vllm").variables == engine_named("trtllm").variables == {}


def test_an_unknown_engine_names_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        engine_named("tgi")
    assert caught.value.fix == "choose one of sglang, vllm, trtllm"


def own(folder: Path, text: str) -> list[Path]:
    (folder / "candidates").mkdir()
    (folder / "candidates" / "base.toml").write_text(text)
    return [folder]


def test_a_users_own_base_wins(tmp_path: Path) -> None:
    text = '[[engine]]\nname = "mine"\nsource = "me"\n[engine.variables]\nNCCL_NVLS_ENABLE = 0\n'
    assert engine_named("mine", own(tmp_path, text)).variables == {"NCCL_NVLS_ENABLE": "0"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[engine]]\nname = "m"\n[engine.variables]\nNCCL_NVLS = 0\n', "engine 'm': no variable NCCL_NVLS is known"),
        ('[[engine]]\nname = "m"\n[engine.variables]\nNCCL_PROTO = "LL128"\n', "forces LL128"),
        ("[[engine]]\nname = 3\n", "a name and a source"),
        ("engine = 3\n", r"\[\[engine\]\] tables"),
        ("engine = [3]\n", r"\[\[engine\]\] tables"),
        ("x = [", "base.toml"),
    ],
)
def test_a_bad_one_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        engine_named("m", own(tmp_path, text))


def test_base_holds_them_for_nccl_alone_and_says_whose_they_are() -> None:
    rails, engine = rails_of(crossed_pair()), engine_named("sglang")
    base = base_candidate("nccl", rails, ["alpha", "beta"], single=True, engine=engine)
    assert base.variables == engine.variables
    assert "sglang sets NCCL_CUMEM_ENABLE=0" in base.why
    assert base.set_name == "base"
    assert base_candidate("gloo", rails, ["alpha", "beta"], single=True, engine=engine).variables == {}
