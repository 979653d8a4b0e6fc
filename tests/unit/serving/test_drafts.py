"""What drafting adds: by drafter 4, 5 or 6 calls a pass, pass 1 on the whole window, later ones on a row a request."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.profile import Stage
from fabricdoc.serving import Served, derive_profile
from tests.unit.serving.models import config, reference, sent

pytestmark = pytest.mark.unit

H, V = 1024 * 2, 32000 * 2


def _draft(stage: Stage) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for one in stage.collectives:
        if one.role.startswith("draft"):
            found[one.op, one.size] = found.get((one.op, one.size), 0) + one.count
    return found


@pytest.mark.parametrize("kind", ["deepseek_v3", "glm4_moe", "deepseek_v32"])
def test_mtp_with_a_replicated_projection_has_four_a_pass(kind: str) -> None:
    made = config(kind, n_routed_experts=8, num_nextn_predict_layers=1)
    decode = derive_profile(made, Served(tp=2, spec_tokens=3)).decode
    assert decode.rows == 4
    assert _draft(decode) == {
        ("all_reduce", 4 * H): 3, ("all_reduce", H): 6, ("all_gather", V): 3,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["qwen3_next", "qwen3_5_moe"])
def test_mtp_with_a_gathered_projection_has_five(kind: str) -> None:
    decode = derive_profile(config(kind, num_experts=8), Served(tp=2, spec_tokens=2, draft="mtp")).decode
    assert _draft(decode) == {
        ("all_reduce", 3 * H): 3, ("all_reduce", H): 3, ("all_gather", 3 * H): 1, ("all_gather", H): 1,
        ("all_gather", V): 2,
    }  # fmt: skip


def test_mtp_of_a_model_nobody_listed_is_like_most_and_assumed() -> None:
    profile = derive_profile(config("kimi_k2", num_nextn_predict_layers=1), Served(tp=2, spec_tokens=2))
    assert sum(_draft(profile.decode).values()) == 8
    assert {one.confidence for one in profile.decode.collectives if one.role.startswith("draft")} == {"assumed"}


def test_the_reference_has_six() -> None:
    decode = derive_profile(reference(), Served(tp=2, spec_tokens=1)).decode
    assert sum(_draft(decode).values()) == 6


def test_an_eagle_head_is_assumed_and_says_so() -> None:
    profile = derive_profile(config("llama"), Served(tp=2, spec_tokens=2, draft="eagle"))
    assert sum(_draft(profile.decode).values()) == 8
    drafts = {one.confidence for one in profile.decode.collectives if one.role.startswith("draft")}
    targets = {one.confidence for one in profile.decode.collectives if not one.role.startswith("draft")}
    assert (drafts, targets) == ({"assumed"}, {"derived"})
    assert any("assumed for this drafter" in note for note in profile.notes)


@pytest.mark.parametrize(
    ("kind", "fields", "wanted"),
    [
        ("llama", {}, "eagle"),
        ("deepseek_v3", {}, "mtp"),
        ("new_kind", {"num_nextn_predict_layers": 1}, "mtp"),
        ("new_kind", {}, "eagle"),
    ],
)
def test_who_drafts_where_nobody_says(kind: str, fields: dict[str, Any], wanted: str) -> None:
    asked = derive_profile(config(kind, **fields), Served(tp=2, spec_tokens=2))
    told = derive_profile(config(kind, **fields), Served(tp=2, spec_tokens=2, draft=wanted))  # type: ignore[arg-type]
    assert asked.decode == told.decode


def test_drafting_without_a_model_sends_nothing_but_widens_the_window() -> None:
    decode = derive_profile(config("deepseek_v3", n_routed_experts=8), Served(tp=2, spec_tokens=3, draft="none")).decode
    assert (decode.rows, decode.totals.collectives, _draft(decode)) == (4, 26, {})
    assert ("all_reduce", 4 * H, 4 * H) in sent(decode)


@pytest.mark.parametrize("draft", ["auto", "mtp", "eagle"])
def test_no_speculated_tokens_means_none_whatever_the_config_says(draft: Any) -> None:
    profile = derive_profile(reference(), Served(tp=2, draft=draft))
    assert (profile.decode.rows, profile.decode.totals.collectives) == (1, 99)
    assert any("none counted without --spec-tokens" in note for note in profile.notes)


def test_a_local_argmax_gathers_two_numbers_a_row_of_each_rank() -> None:
    decode = derive_profile(reference(), Served(tp=4, spec_tokens=3, local_argmax=True)).decode
    (one,) = [one for one in decode.collectives if one.role.startswith("draft argmax")]
    assert (one.count, one.size, one.send_bytes, one.dtype) == (3, 2 * 4 * 4, 2 * 4, "float32")
    assert decode.totals.collectives == 117


def test_a_float32_head_doubles_the_logits_by_option_and_by_config() -> None:
    by_option = derive_profile(config(), Served(tp=2, float32_head=True)).decode
    by_config = derive_profile(config(head_dtype="float32"), Served(tp=2)).decode
    for stage in (by_option, by_config):
        (one,) = [one for one in stage.collectives if one.op == "all_gather"]
        assert (one.size, one.dtype) == (32000 * 4, "float32")


def test_a_drafter_runs_the_chunk_once() -> None:
    prefill = derive_profile(reference(), Served(tp=2, spec_tokens=3, chunk=8192)).prefill
    wide = 8192 * 2560 * 2
    assert _draft(prefill) == {
        ("all_reduce", wide): 3, ("all_gather", wide): 1, ("all_gather", 4 * wide): 1, ("all_gather", 496640): 1,
    }  # fmt: skip


def test_passes_of_one_size_are_told_together() -> None:
    decode = derive_profile(reference(), Served(tp=2, spec_tokens=3)).decode
    names = [one.role for one in decode.collectives if "attention" in one.role and "draft" in one.role]
    assert names == ["draft attention, pass 1", "draft attention, passes 2 to 3"]
    assert "draft logits, passes 1 to 3" in [one.role for one in decode.collectives]
