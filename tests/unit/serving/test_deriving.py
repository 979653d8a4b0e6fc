"""The whole profile: the reference case to the byte, what engines do otherwise, names, notes, and what cannot fit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.model.profile import Profile, Stage, StepTime
from fabricdoc.serving import Served, derive_profile, load_profile, parse_config, shapes_for
from fabricdoc.serving.reading import parse_profile
from tests.unit.serving.models import REFERENCE as REFERENCE_FIELDS
from tests.unit.serving.models import config, reference, roles, sent

pytestmark = pytest.mark.unit

REFERENCE = Served(tp=2, ep=2, spec_tokens=3, chunk=8192)


def _shapes(stage: Stage) -> Counter[tuple[str, int, int, str, bool]]:
    counts: Counter[tuple[str, int, int, str, bool]] = Counter()
    for one in stage.collectives:
        counts[one.op, one.size, one.send_bytes, one.dtype, one.in_graph] += one.count
    return counts


def test_the_reference_case_has_117_collectives_of_the_listed_sizes() -> None:
    decode = derive_profile(reference(), REFERENCE).decode
    assert sent(decode) == {
        ("all_reduce", 20480, 20480): 1 + 96 + 2 + 1,
        ("all_reduce", 10240, 10240): 1,
        ("all_reduce", 5120, 5120): 6,
        ("all_gather", 1986560, 993280): 1,
        ("all_gather", 496640, 248320): 3,
        ("all_gather", 20480, 10240): 1 + 2,
        ("all_gather", 5120, 2560): 2,
        ("all_gather", 81920, 40960): 1,
    }
    totals = decode.totals
    assert (totals.all_reduce, totals.all_gather, totals.collectives) == (107, 10, 117)
    assert totals.all_reduce_bytes == pytest.approx(2.1e6, rel=0.01)
    assert totals.all_gather_bytes == 1986560 + 3 * 496640 + 3 * 20480 + 2 * 5120 + 81920


def test_the_reference_case_as_its_config_nests_it() -> None:
    text = REFERENCE_FIELDS | {"model_type": "qwen4_exp_text", "ple_layer_ids": [2], "linear_num_value_heads": 48}
    nested = {"model_type": "qwen4_exp", "vision_config": {"depth": 1}, "text_config": text, "dtype": "bfloat16"}
    decode = derive_profile(parse_config(nested, "the config"), REFERENCE).decode
    assert (decode.totals.all_reduce, decode.totals.all_gather) == (107, 10)
    assert {one.role for one in decode.collectives if not one.in_graph} == {
        "embedding", "target logits", "draft logits, passes 1 to 3",
    }  # fmt: skip


def test_without_the_ngram_table_it_is_116_and_alone_it_is_99() -> None:
    assert derive_profile(reference(ple_layer_ids=None), REFERENCE).decode.totals.collectives == 116
    assert derive_profile(reference(), Served(tp=2)).decode.totals.collectives == 99


def test_derived_and_shipped_agree_on_the_reference_case() -> None:
    derived, shipped = derive_profile(reference(), REFERENCE), load_profile("qwen3.8-flash-next-tp2")
    for stage in ("decode", "prefill"):
        assert _shapes(getattr(derived, stage)) == _shapes(getattr(shipped, stage))
        assert getattr(derived, stage).totals == getattr(shipped, stage).totals


def test_the_reference_chunk_is_as_large_as_the_facts_say() -> None:
    totals = derive_profile(reference(), REFERENCE).prefill.totals
    assert (totals.all_reduce, totals.all_gather) == (101, 4)
    assert totals.all_reduce_bytes == pytest.approx(4.2e9, rel=0.01)
    assert totals.all_gather_bytes == pytest.approx(0.21e9, rel=0.01)


def test_a_vocabulary_is_padded_to_64_in_the_logits_alone() -> None:
    decode = derive_profile(config(vocab_size=32001), Served(tp=2)).decode
    assert sent(decode)["all_gather", 32064 * 2, 32064] == 1


@pytest.mark.parametrize(
    ("served", "eager"),
    [
        (Served(tp=2, spec_tokens=2), {"target logits", "draft logits, passes 1 to 2"}),
        (Served(tp=2, spec_tokens=2, engine="sglang"), set()),
        (Served(tp=2, engine="trtllm"), set()),
        (Served(tp=2, graph="piecewise"), {"target logits"}),
    ],
)
def test_what_runs_outside_the_decode_graph(served: Served, eager: set[str]) -> None:
    decode = derive_profile(config("deepseek_v3"), served).decode
    assert {one.role for one in decode.collectives if not one.in_graph} == eager


def test_eager_engines_have_no_graph_and_no_padding() -> None:
    profile = derive_profile(config(), Served(tp=2, batch=5, graph="none"))
    assert profile.decode.rows == 5
    assert not any(one.in_graph for one in profile.decode.collectives)


def test_images_make_vllm_embed_outside_the_graph() -> None:
    made = config("qwen3_vl", vision_config={"depth": 2})
    eager = {one.role for one in derive_profile(made, Served(tp=2)).decode.collectives if not one.in_graph}
    assert eager == {"embedding", "target logits"}


def test_what_is_not_counted_is_told() -> None:
    made = config("qwen3_vl", vision_config={"depth": 2})
    assert any("encoder's own calls" in note for note in derive_profile(made, Served(tp=2)).notes)
    dense = derive_profile(config(), Served(tp=2, ep=2))
    assert "+ EP" not in dense.summary
    assert any("--ep changes nothing" in note for note in dense.notes)


@pytest.mark.parametrize(("chunk", "graphed"), [(512, True), (2048, False)])
def test_prefill_is_eager_unless_piecewise_graphs_hold_the_chunk(chunk: int, graphed: bool) -> None:
    def found(graph: Any) -> set[bool]:
        prefill = derive_profile(config(), Served(tp=2, chunk=chunk, graph=graph)).prefill
        return {one.in_graph for one in prefill.collectives if one.role != "target logits"}

    assert found("full") == {False}
    assert found("piecewise") == {graphed}


def test_a_batch_pays_for_the_graph_that_holds_it_and_vllm_gathers_its_own_logits_only() -> None:
    profile = derive_profile(config(), Served(tp=2, batch=5))
    assert profile.decode.rows == 8
    assert sent(profile.decode) == {
        ("all_reduce", 8 * 2048, 8 * 2048): 25, ("all_gather", 5 * 64000, 5 * 32000): 1,
    }  # fmt: skip
    assert "5 rows run in the captured graph of 8" in profile.notes
    inside = derive_profile(config(), Served(tp=2, batch=5, engine="sglang")).decode
    assert sent(inside)["all_gather", 8 * 64000, 8 * 32000] == 1


def test_every_captured_batch_is_there_when_the_most_requests_are_known() -> None:
    profile = derive_profile(reference(), Served(tp=2, spec_tokens=3, max_num_seqs=16))
    assert [(stage.batch, stage.rows) for stage in profile.captured] == [
        (1, 4), (2, 8), (4, 16), (6, 24), (8, 32), (10, 40), (12, 48), (14, 56), (16, 64),
    ]  # fmt: skip
    assert all(stage.totals.collectives == 117 for stage in profile.captured)
    assert profile.captured[0].collectives == profile.decode.collectives


def test_one_rank_sends_nothing() -> None:
    profile = derive_profile(reference(), Served(spec_tokens=3))
    assert (profile.decode.collectives, profile.prefill.collectives) == ((), ())
    assert shapes_for(profile) == ()


def test_ranks_of_one_node_cross_nothing_and_say_so() -> None:
    profile = derive_profile(config(), Served(tp=8, gpus_per_node=8))
    assert not any(one.spans_nodes for one in profile.decode.collectives)
    assert shapes_for(profile) == ()
    assert any("nothing crosses the fabric" in note for note in profile.notes)


def test_what_rocenante_takes_over_is_not_nccls() -> None:
    profile = derive_profile(config(), Served(tp=2, rocenante=True, chunk=2048))
    assert {one.bypass for one in profile.decode.collectives} == {"rocenante"}
    assert {one.bypass for one in profile.prefill.collectives if one.op == "all_reduce"} == {"none"}
    assert any("RoCEnante" in note for note in profile.notes)


@pytest.mark.parametrize(
    ("served", "fields", "name"),
    [
        (Served(tp=2), {}, "llama-tp2"),
        (Served(tp=2, pp=2, dp=4), {}, "llama-tp2-pp2-dp4"),
        (Served(tp=4), {"_name_or_path": "org/My Model! 7B"}, "my-model-7b-tp4"),
        (Served(tp=4), {"_name_or_path": "../../etc/passwd"}, "passwd-tp4"),
        (Served(tp=4), {"_name_or_path": "…"}, "model-tp4"),
        (Served(tp=4), {"_name_or_path": "x" * 500}, "x" * 80 + "-tp4"),
        (Served(tp=2), {"model_type": ""}, "model-tp2"),
    ],
)
def test_names_are_words_a_file_can_have(served: Served, fields: dict[str, Any], name: str) -> None:
    made = config(fields.pop("model_type", "llama"), **fields)
    assert derive_profile(made, served).name == name


def test_summary_source_engine_and_step() -> None:
    profile = derive_profile(reference(), REFERENCE, step=StepTime(compute_ms=40), notes=("mine",))
    assert profile.summary == ("qwen4_exp on vLLM, TP2 + EP, MTP with 3 speculated tokens, batch 1; prefill chunk 8192")
    assert "48 layers, hidden 2560, vocabulary 248320, bfloat16. Not traced." in profile.source
    assert (profile.engine, profile.batch, profile.notes[0]) == ("vllm", 1, "mine")
    assert profile.step == StepTime(compute_ms=40.0, tokens=1.0)


def test_a_chunk_nobody_named_is_the_engines_and_told() -> None:
    for engine, rows in (("vllm", 2048), ("sglang", 8192), ("trtllm", 8192)):
        profile = derive_profile(config(), Served(tp=2, engine=engine))  # type: ignore[arg-type]
        assert profile.prefill.rows == rows
        assert any(f"prefill chunk of {rows} rows assumed" in note for note in profile.notes)


@pytest.mark.parametrize(
    ("fields", "served", "words"),
    [
        ({}, Served(tp=3), "--tp 3 does not split 16 num_attention_heads of the config"),
        ({"num_attention_heads": 48, "num_key_value_heads": 4}, Served(tp=6), "does not split 4 num_key_value_heads"),
        ({"num_attention_heads": None, "num_key_value_heads": None}, Served(tp=3), "does not split a vocabulary of"),
        ({"linear_num_value_heads": 6}, Served(tp=4), "does not split 6 linear_num_value_heads"),
        ({"mamba_n_heads": 6}, Served(tp=4), "does not split 6 mamba_n_heads"),
        ({}, Served(tp=0), "--tp is 0, wanted 1 to"),
        ({}, Served(tp=-2), "--tp is -2"),
        ({}, Served(tp=10**9), "--tp is 1000000000"),
        ({}, Served(tp=2, pp=13), "--pp 13 is more than the 12 layers"),
        ({}, Served(tp=2, batch=0), "--batch is 0"),
        ({}, Served(tp=2, max_num_seqs=10**9), "--max-num-seqs is 1000000000"),
        ({}, Served(tp=2, captures=(0, 1)), "captured sizes are 1 to"),
        ({}, Served(tp=2, captures=(1 << 30,)), "captured sizes are 1 to"),
        ({}, Served(tp=2, chunk=-1), "--chunk is -1"),
        ({}, Served(tp=2, spec_tokens=-1), "--spec-tokens is -1"),
        ({}, Served(tp=2, spec_tokens=1000), "--spec-tokens is 1000"),
        ({}, Served(tp=2, gpus_per_node=0), "--gpus-per-node is 0"),
        ({}, Served(tp=16, pp=8, dp=64), "is 8192 ranks, more than 4096"),
        ({}, Served(tp=4, ep=3), "--ep 3 is neither TP"),
        ({}, Served(tp=2, batch=9, max_num_seqs=8), "--batch 9 is more than --max-num-seqs 8"),
    ],
)
def test_what_cannot_be_is_named(fields: dict[str, Any], served: Served, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        derive_profile(config(**fields), served)
    assert caught.value.status == 2


def test_a_wrong_tp_is_told_with_those_that_fit() -> None:
    with pytest.raises(UsageError) as caught:
        derive_profile(config(num_attention_heads=28, num_key_value_heads=4), Served(tp=8))
    assert caught.value.fix == "--tp 1 or 2 or 4 divides the attention heads"


@pytest.mark.parametrize("heads", [1, 2])
def test_fewer_key_value_heads_than_ranks_are_replicated(heads: int) -> None:
    assert derive_profile(config(num_key_value_heads=heads), Served(tp=8)).decode.totals.all_reduce == 25


@pytest.mark.parametrize(
    "served",
    [
        REFERENCE,
        Served(tp=2, pp=2, dp=2, ep=4, max_num_seqs=8, spec_tokens=3),
        Served(tp=4, dp=2, ep=8, engine="sglang", chunk=4096),
    ],
)
def test_what_is_printed_can_be_read_again(served: Served) -> None:
    made = derive_profile(reference(num_experts_per_tok=8), served, step=StepTime(compute_ms=40, tokens=2.5))
    again: Profile = parse_profile(made.model_dump_json(), "x.json", is_json=True)
    assert again == made
    assert roles(again.decode)
