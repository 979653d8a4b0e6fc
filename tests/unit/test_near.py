"""Which names a mistyped one may have meant, and which it can't."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.nccl import catalogue, nearest
from fabricdoc.near import edits, meant, nearest_names
from fabricdoc.serving import list_profiles

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("NCCL_SOCKET_IFNMAE", "NCCL_SOCKET_IFNAME"),
        ("NCCL_IB_GIDINDEX", "NCCL_IB_GID_INDEX"),
        ("NCCL_IB_GID_INDX", "NCCL_IB_GID_INDEX"),
        ("NCCL_GID_INDEX", "NCCL_IB_GID_INDEX"),
        ("NCCL_DISABLE_IB", "NCCL_IB_DISABLE"),
        ("NCCL_SOCKET_IFACE", "NCCL_SOCKET_IFNAME"),
        ("NCCL_BUFSIZE", "NCCL_BUFFSIZE"),
        ("NCCL_PROTOCOL", "NCCL_PROTO"),
        ("NCCL_HCA", "NCCL_IB_HCA"),
        ("NCLL_DEBUG", "NCCL_DEBUG"),
        ("NCCLDEBUG", "NCCL_DEBUG"),
        ("nccl_debug", "NCCL_DEBUG"),
        ("NCCL_CROSSNIC", "NCCL_CROSS_NIC"),
        ("GLOO_SOCKET_IFNMAE", "GLOO_SOCKET_IFNAME"),
    ],
)
def test_a_typo_of_a_variable_finds_it(typed: str, known: str) -> None:
    assert nearest(typed, 1) == (known,)


@pytest.mark.parametrize("typed", ["NCCL_FOO", "NCCL_MY_OWN_THING", "NCCL_X", "NCCL_", "", "PATH", "NCCL_IB"])
def test_what_is_no_typo_finds_nothing(typed: str) -> None:
    assert nearest(typed) == ()


@pytest.mark.parametrize("typed", ["lama", "lama-70b", "llama70b", "Llama-3.3-70B"])
def test_a_part_of_a_name_finds_the_names_that_hold_it(typed: str) -> None:
    assert nearest_names(typed, list_profiles()) == tuple(f"llama-3.3-70b-tp{tp}" for tp in (2, 4, 8))


@pytest.mark.parametrize("typed", ["nope", "xyzzy", "tp2", "2", "b"])
def test_a_word_of_nothing_guesses_no_profile(typed: str) -> None:
    assert nearest_names(typed, list_profiles()) == ()


def test_the_nearest_comes_first_and_far_ones_not_at_all() -> None:
    assert nearest_names("rocee", ["socket", "roce", "gdr"]) == ("roce",)
    assert nearest_names("decoed", ["encode", "decoder", "decode"])[0] == "decode"
    assert meant("nope", ["roce", "socket"]) == ""
    assert meant("deocde", ["decode", "gdr"]) == "did you mean decode?"


def test_edits_count_swaps_once_and_stop_early() -> None:
    assert edits("ifnmae", "ifname", 3) == 1
    assert edits("abc", "abc", 3) == 0
    assert edits("kitten", "sitting", 3) == 3
    assert edits("foo", "proto", 1) == 2
    assert edits("a" * 9, "b" * 9, 2) == 3


@settings(max_examples=60, deadline=None)
@given(st.text("abcde", max_size=7), st.text("abcde", max_size=7))
def test_edits_are_the_same_both_ways(one: str, other: str) -> None:
    assert edits(one, other, 3) == edits(other, one, 3)
    assert (edits(one, other, 3) == 0) == (one == other)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(catalogue())), st.integers(0, 60))
def test_a_letter_left_out_of_a_long_name_finds_it(name: str, place: int) -> None:
    start = name.index("_") + 1
    if len(name) - start < 6:
        return
    at = start + place % (len(name) - start)
    typed = name[:at] + name[at + 1 :]
    assert typed in catalogue() or name in nearest(typed, 5)


def test_hostile_names_cost_no_time() -> None:
    begun = time.process_time()
    for typed in ("NCCL_" + "A" * 100_000, "NCCL_" + "_" * 5000, "_".join("ABCD" for _ in range(9000))):
        nearest_names(typed, catalogue())
    assert time.process_time() - begun < 5
