"""Choosing candidates by name, and what this NCCL and this fabric can take of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.candidates import Dropped, Offer, applicable, load_candidates
from fabricdoc.errors import InputError, UsageError
from fabricdoc.model.run import Candidate

pytestmark = pytest.mark.unit

MINE = """
backend = "nccl"
[[candidate]]
name = "{name}"
[candidate.variables]
NCCL_IB_TC = "{value}"
"""


def names(offers: tuple[Candidate, ...]) -> list[str]:
    return [offer.name for offer in offers]


def written(folder: Path, name: str, value: str = "106", file: str = "mine.toml") -> str:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MINE.format(name=name, value=value))
    return str(path)


def test_the_decode_set() -> None:
    offers = load_candidates(["decode"], backend="nccl")
    variables = {offer.name: offer.variables for offer in offers}
    assert variables["ring-tree"] == {"NCCL_ALGO": "ring;allreduce:tree"}
    assert variables["simple"] == {"NCCL_PROTO": "Simple"}
    assert variables["simple-allreduce"] == {"NCCL_PROTO": "allreduce:Simple"}
    assert variables["ll-simple"] == {"NCCL_PROTO": "LL,Simple"}
    assert [variables[name] for name in ("one-channel", "two-channels", "four-channels")] == [
        {"NCCL_MAX_CTAS": count} for count in "124"
    ]
    assert all(offer.on_base and offer.role == "candidate" for offer in offers)


def test_order_is_as_asked_and_nothing_comes_twice() -> None:
    offers = load_candidates(["decode:simple", "default", "decode"], backend="nccl")
    assert names(offers)[:2] == ["simple", "default"]
    assert len(names(offers)) == len(set(names(offers)))
    assert offers[1].role == "default" and not offers[1].on_base
    assert load_candidates([], backend="nccl") == ()


def test_default_and_gloo_work_for_gloo() -> None:
    assert names(load_candidates(["gloo", "default"], backend="gloo")) == ["default"]


def test_a_set_of_the_other_backend_is_refused() -> None:
    with pytest.raises(UsageError, match="decode holds candidates for nccl; this bench uses gloo"):
        load_candidates(["decode"], backend="gloo")


@pytest.mark.parametrize(
    ("item", "message", "fix"),
    [
        ("decod", "no candidate set is called 'decod'", "did you mean decode?"),
        ("simple", "no candidate set is called 'simple'", "did you mean decode:simple?"),
        ("zzz", "no candidate set is called 'zzz'", "there is: decode, default, gloo"),
        ("", "no candidate set is called ''", "there is: decode, default, gloo"),
        ("decode:simpel", "decode has no candidate 'simpel'", "did you mean simple"),
        ("decode:zzz", "decode has no candidate 'zzz'", "there is: ring-tree"),
        ("\x00" * 300, "no candidate set is called", "there is"),
    ],
)
def test_unknown_names_come_with_the_nearest(item: str, message: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_candidates([item], backend="nccl")
    assert not isinstance(caught.value, InputError)
    assert message in caught.value.message
    assert fix in caught.value.fix


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = written(tmp_path, "tos")
    assert names(load_candidates([path], backend="nccl")) == ["tos"]
    assert names(load_candidates([path + ":tos"], backend="nccl")) == ["tos"]
    with pytest.raises(UsageError, match="has no candidate 'other'"):
        load_candidates([path + ":other"], backend="nccl")
    with pytest.raises(InputError, match=r"no-such\.toml: there is no such file"):
        load_candidates([str(tmp_path / "no-such.toml")], backend="nccl")


def test_errors_name_the_path_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("backend = 3\n")
    for path in ("bad.toml", "./bad.toml"):
        with pytest.raises(InputError, match=r"^bad\.toml: backend"):
            load_candidates([path], backend="nccl")


def test_ones_own_directory_wins_and_adds(tmp_path: Path) -> None:
    written(tmp_path / "first", "mine", "1", "candidates/decode.toml")
    written(tmp_path / "second", "other", "2", "candidates/decode.toml")
    written(tmp_path / "second", "new", "3", "candidates/extra.toml")
    extra = [tmp_path / "first", tmp_path / "second", tmp_path / "missing"]
    assert names(load_candidates(["decode", "extra", "default"], backend="nccl", extra_dirs=extra)) == [
        "mine",
        "new",
        "default",
    ]
    with pytest.raises(UsageError) as caught:
        load_candidates(["extr"], backend="nccl", extra_dirs=extra)
    assert caught.value.fix == "did you mean extra?"


def test_two_different_candidates_of_one_name_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "simple")
    with pytest.raises(InputError, match=r"two candidates are called 'simple': in decode\.toml and in .*mine\.toml"):
        load_candidates(["decode", path], backend="nccl")


def test_what_an_old_nccl_can_take() -> None:
    kept, dropped = applicable(load_candidates(["decode"], backend="nccl"), "2.23.4+cuda12.4", 2, hca=True)
    assert {"simple", "ll-simple", "one-channel", "inline"} <= set(names(kept))
    assert dropped == (
        Dropped("ring-tree", "needs NCCL >=2.24, here is 2.23.4+cuda12.4"),
        Dropped("simple-allreduce", "needs NCCL >=2.24, here is 2.23.4+cuda12.4"),
    )


def test_what_an_unknown_nccl_can_take() -> None:
    kept, dropped = applicable(load_candidates(["decode"], backend="nccl"), "", 2)
    assert names(kept) == ["simple", "ll-simple"]
    assert Dropped("ring-tree", "needs NCCL >=2.24, the version here is unknown") in dropped


def test_a_variable_that_is_younger_than_the_library_is_no_candidate() -> None:
    young = Candidate(name="ras", variables={"NCCL_IB_SUBNET_AWARE_ROUTING": "1"})
    kept, dropped = applicable([young], "2.28.9", 2)
    assert kept == () and dropped[0].reason.startswith(
        "NCCL 2.28.9 does not read NCCL_IB_SUBNET_AWARE_ROUTING yet (since 2.30"
    )
    assert applicable([young], "2.32.3", 2)[1] == ()


@pytest.mark.parametrize(
    ("requires", "rails", "hca", "reason"),
    [
        (("two-rails",), 1, False, "needs two rails between the nodes, there is 1"),
        (("two-rails",), 0, False, "needs two rails between the nodes, there is none"),
        (("two-rails",), 2, False, None),
        (("hca",), 2, False, "needs an HCA (RDMA device) on the rails"),
        (("hca",), 1, True, None),
        (("two-rails", "hca"), 4, True, None),
        ((), 0, False, None),
    ],
)
def test_what_the_fabric_must_have(requires: tuple[str, ...], rails: int, hca: bool, reason: str | None) -> None:
    offer = Offer.model_validate({"name": "x", "variables": {"NCCL_IB_TC": "106"}, "requires": requires})
    kept, dropped = applicable([offer], "2.28.9", rails, hca=hca)
    assert [item.reason for item in dropped] == ([reason] if reason else [])
    assert len(kept) == (0 if reason else 1)


def test_kept_candidates_are_plain_documents() -> None:
    offers = load_candidates(["default", "decode"], backend="nccl")
    kept, _ = applicable(offers, "2.28.9", 2, hca=True)
    assert {type(candidate) for candidate in kept} == {Candidate}
    assert [Candidate.model_validate_json(candidate.model_dump_json()) for candidate in kept] == list(kept)
    assert kept[0].role == "default"


@given(
    st.lists(st.sampled_from(load_candidates(["default", "decode"], backend="nccl"))),
    st.sampled_from(["", "2.18.1", "2.24.3", "2.28.9", "2.32.3", "nonsense"]),
    st.integers(0, 8),
    st.booleans(),
)
def test_every_candidate_is_either_kept_or_dropped_with_a_reason(
    offers: list[Offer], version: str, rails: int, hca: bool
) -> None:
    kept, dropped = applicable(offers, version, rails, hca=hca)
    assert sorted([*names(kept), *(item.name for item in dropped)]) == sorted(offer.name for offer in offers)
    assert all(item.reason for item in dropped)
