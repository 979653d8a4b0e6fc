"""Choosing candidates by name: sets, single ones, files of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.bench.candidates import load_candidates, sets_of
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
    assert variables["simple-allreduce"] == {"NCCL_PROTO": "LL,Simple;allreduce:Simple"}
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
        ("zzz", "no candidate set is called 'zzz'", "there is: both-nics, decode, default"),
        ("", "no candidate set is called ''", "there is: both-nics, decode, default"),
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
    with pytest.raises(InputError, match=r"no-such\.toml can't be read: No such file"):
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
    assert caught.value.fix.startswith("did you mean extra? there is: both-nics, decode, default, extra")


def test_a_set_near_nothing_is_no_guess_and_the_sets_are_listed() -> None:
    with pytest.raises(UsageError) as caught:
        load_candidates(["nope"], backend="nccl")
    assert caught.value.fix == "there is: both-nics, decode, default, gb10, gdr, gloo, roce, socket"


def test_two_different_candidates_of_one_name_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "simple")
    with pytest.raises(InputError, match=r"two candidates are called 'simple': in decode\.toml and in .*mine\.toml"):
        load_candidates(["decode", path], backend="nccl")


def test_every_asked_set_is_there_and_names_are_unique_over_all_of_them() -> None:
    sets = sets_of("nccl")
    assert {"default", "decode", "gdr", "roce", "socket", "gb10"} <= set(sets)
    offers = load_candidates(list(sets), backend="nccl")
    assert len(names(offers)) == len(set(names(offers))) == sum(sets.values())
    assert sets_of("gloo") == {"default": 1}


def test_every_offer_knows_its_set_and_its_place() -> None:
    offer = load_candidates(["roce:qps-4"], backend="nccl")[0]
    assert offer.set_name == "roce"
    assert offer.place.startswith("roce.toml line ")
    assert not offer.own


def test_a_users_own_file_is_marked_as_such(tmp_path: Path) -> None:
    (own,) = load_candidates([written(tmp_path, "tos")], backend="nccl")
    assert own.own
    assert own.set_name == "mine"
    assert own.place.endswith("mine.toml line 3, candidate 1 ('tos')")


@pytest.mark.parametrize(("name", "fix"), [("base", "leave base out"), ("current", "--current FILE")])
def test_what_is_a_candidate_without_being_a_set_says_what_to_write_instead(name: str, fix: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}' is no set to choose: .") as caught:
        load_candidates([name], backend="nccl")
    assert fix in caught.value.fix


def test_a_set_that_holds_nothing_says_so_when_one_of_it_is_asked_for() -> None:
    with pytest.raises(UsageError, match="gloo holds no candidate, so no 'default'") as caught:
        load_candidates(["gloo:default"], backend="gloo")
    assert "leave it out" in caught.value.fix
