"""A log made of a step gives that step back: counts, decode and prefill apart, and held against the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from fabricdoc.errors import InputError, UsageError
from fabricdoc.model.profile import Profile, Stage
from fabricdoc.serving import Served, Trace, derive_profile
from fabricdoc.serving.coll_log import Calls, add_lines
from fabricdoc.serving.reading import parse_profile
from fabricdoc.serving.tracing import differences, trace_profile
from tests.unit.serving.coll_lines import line, stage_lines
from tests.unit.serving.models import config, reference, sent

pytestmark = pytest.mark.unit

REFERENCE = derive_profile(reference(), Served(tp=2, ep=2, spec_tokens=3, chunk=8192))


def _calls(*parts: Iterable[str]) -> Calls:
    calls = Calls()
    add_lines(calls, [one for part in parts for text in part for one in text.splitlines(keepends=True)])
    return calls


def _traced(calls: Calls, derived: Profile | None = None, **how: Any) -> Profile:
    return trace_profile(calls, Trace(**how), name="t", where="the log", derived=derived)


def _same(one: Stage, other: Stage) -> bool:
    return sent(one) == sent(other) and one.totals == other.totals


def test_one_step_of_the_reference_is_117_calls() -> None:
    profile = _traced(_calls(stage_lines(REFERENCE.decode)))
    assert _same(profile.decode, REFERENCE.decode)
    totals = profile.decode.totals
    assert (totals.collectives, totals.all_reduce, totals.all_gather) == (117, 107, 10)
    assert {one.confidence for one in profile.decode.collectives} == {"traced"}
    assert profile.decode.rows == 0  # a log alone does not tell
    assert any("--config" in note for note in profile.notes)


def test_decode_and_prefill_are_told_apart() -> None:
    calls = _calls(stage_lines(REFERENCE.decode), stage_lines(REFERENCE.prefill), stage_lines(REFERENCE.decode))
    profile = _traced(calls)
    assert _same(profile.decode, REFERENCE.decode)
    assert _same(profile.prefill, REFERENCE.prefill)
    assert any("each step is taken to be in the log 2 times" in note for note in profile.notes)


def test_small_calls_between_large_ones_are_the_chunks() -> None:
    made = derive_profile(config("minimax_m2", num_local_experts=8, hidden_size=4096), Served(tp=2, chunk=2048))
    chunk = [one for one in made.prefill.collectives if one.role == "q and k norm variance"]
    assert chunk[0].size < 1 << 20
    embedding, mixed = line("AllReduce", 2048 * 4096, 9), []
    for _ in range(12):
        mixed += [line("AllReduce", 2048 * 2, 7), line("AllReduce", 2048 * 4096, 9), line("AllReduce", 2048 * 4096, 9)]
    logits = line("AllGather", 16000, 9)
    profile = _traced(_calls(stage_lines(made.decode), [embedding, *mixed, logits]))
    assert _same(profile.prefill, made.prefill)
    assert _same(profile.decode, made.decode)


def test_with_the_config_calls_have_names_rows_and_the_rules_blessing() -> None:
    calls = _calls(stage_lines(REFERENCE.decode), stage_lines(REFERENCE.prefill))
    profile = _traced(calls, REFERENCE)
    assert (profile.decode.rows, profile.prefill.rows, profile.engine) == (4, 8192, "vllm")
    assert "decode: as the rules derive it" in profile.notes
    assert "prefill: as the rules derive it" in profile.notes
    graph = Counter({True: 0, False: 0})
    for one in profile.decode.collectives:
        graph[one.in_graph] += one.count
    assert graph == {True: 113, False: 4}
    assert "target logits" in [one.role for one in profile.decode.collectives]


@pytest.mark.parametrize(("graph", "eager"), [(2, 1), (2, 7), (1, 5), (3, 3)])
def test_warm_ups_and_eager_calls_have_their_own_number(graph: int, eager: int) -> None:
    profile = _traced(_calls(stage_lines(REFERENCE.decode, graph=graph, eager=eager)), REFERENCE)
    assert _same(profile.decode, REFERENCE.decode)
    assert "decode: as the rules derive it" in profile.notes


def test_what_the_rules_count_otherwise_is_named() -> None:
    without = derive_profile(reference(ple_layer_ids=None), Served(tp=2, ep=2, spec_tokens=3))
    profile = _traced(_calls(stage_lines(without.decode)), REFERENCE)
    assert "decode: all_reduce of 10240 bytes: 0 traced, 1 derived" in profile.notes
    assert profile.decode.totals.collectives == 116
    assert differences(REFERENCE.decode, REFERENCE.decode) == []


def test_steps_as_told() -> None:
    calls = _calls(stage_lines(REFERENCE.decode, graph=6, eager=6))
    assert _traced(calls, steps=6).decode.totals.collectives == 117
    assert _traced(calls, steps=3).decode.totals.collectives == 234
    with pytest.raises(UsageError, match="--steps 4 does not divide"):
        _traced(calls, steps=4)


def test_a_log_without_decode_says_so() -> None:
    with pytest.raises(InputError, match="no decode step is seen") as caught:
        _traced(_calls([line("AllReduce", 1 << 20, 9)]))
    assert "--prefill-from" in caught.value.fix
    assert _traced(_calls([line("AllReduce", 1 << 20, 9)]), prefill_from=1 << 30).decode.totals.all_reduce == 1


def test_the_process_with_most_calls_counts_and_others_are_compared() -> None:
    calls = _calls(
        stage_lines(REFERENCE.decode), stage_lines(REFERENCE.decode, host="b", pid=9), [line("AllReduce", 1, 9, pid=3)]
    )
    profile = _traced(calls)
    assert _same(profile.decode, REFERENCE.decode)
    assert any("1 processes made another number of calls" in note for note in profile.notes)
    assert all(one.spans_nodes for one in profile.decode.collectives)


def test_processes_of_one_host_span_nothing() -> None:
    calls = _calls(stage_lines(REFERENCE.decode), stage_lines(REFERENCE.decode, pid=8))
    assert not any(one.spans_nodes for one in _traced(calls).decode.collectives)


def test_a_boundary_is_counted_by_its_sends() -> None:
    both = [line("Recv", 8, 9), line("AllReduce", 8, 9), line("Send", 8, 9)]
    for lines in (both, both[:2], both[1:]):
        counts = Counter(one.op for one in _traced(_calls(lines)).decode.collectives)
        assert counts == {"send_recv": 1, "all_reduce": 1}
        assert all(one.count == 1 for one in _traced(_calls(lines)).decode.collectives)


def test_groups_by_their_size() -> None:
    lines = [line("AllReduce", 8, 9, ranks=4)] * 3 + [line("AllGather", 8, 9, ranks=8), line("Send", 8, 9, ranks=8)]
    found = {one.op: one.group for one in _traced(_calls(lines)).decode.collectives}
    assert found == {"all_reduce": "tp", "all_gather": "dp", "send_recv": "pp"}


def test_a_traced_profile_can_be_read_again() -> None:
    profile = _traced(_calls(stage_lines(REFERENCE.decode), stage_lines(REFERENCE.prefill)), REFERENCE)
    assert parse_profile(profile.model_dump_json(), "x.json", is_json=True) == profile
