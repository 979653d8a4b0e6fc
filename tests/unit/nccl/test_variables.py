"""The catalogue of variables: whole, unchangeable, and helpful with misspelt names."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.variables import Variable, catalogue, circulating, must_agree, nearest
from fabricdoc.nccl.versions import parse_release

pytestmark = pytest.mark.unit


def test_every_row_is_whole() -> None:
    variables = catalogue()
    assert len(variables) >= 330
    for name, variable in variables.items():
        assert variable.name == name
        assert re.fullmatch(r"(NCCL|TORCH|GLOO|TP)_[A-Z0-9_]+", name)
        assert variable.kind in ("int", "bool", "enum", "list", "string", "path"), name
        assert variable.status in ("documented", "undocumented", "deprecated", "removed"), name
        assert variable.effect and variable.area and variable.default, name
        assert not variable.since or parse_release(variable.since.removeprefix("<=")), name


def test_what_others_rely_on() -> None:
    algorithm = catalogue()["NCCL_ALGO"]
    assert (algorithm.kind, algorithm.since, algorithm.per_rank_may_differ) == ("list", "2.5", False)
    assert catalogue()["NCCL_SOCKET_IFNAME"].per_rank_may_differ is True
    assert catalogue()["NCCL_MAX_CTAS"].since == "2.17"
    assert {"GLOO_SOCKET_IFNAME", "TORCH_GLOO_LAZY_INIT", "NCCL_IB_USE_INLINE"} <= catalogue().keys()
    assert any(variable.per_rank_may_differ is None for variable in catalogue().values())


def test_it_is_read_once_and_cannot_be_changed() -> None:
    assert catalogue() is catalogue()
    with pytest.raises(TypeError):
        catalogue()["X"] = catalogue()["NCCL_ALGO"]  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        catalogue()["NCCL_ALGO"].kind = "int"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("NCCL_PROTOCOL", "NCCL_PROTO"),
        ("nccl_algo", "NCCL_ALGO"),
        ("NCCL_IB_HCAS", "NCCL_IB_HCA"),
        ("NCCL_SOCKET_IFNAMES", "NCCL_SOCKET_IFNAME"),
        ("GLOO_SOCKET_IF_NAME", "GLOO_SOCKET_IFNAME"),
    ],
)
def test_nearest_knows_what_was_meant(typed: str, meant: str) -> None:
    assert nearest(typed)[0] == meant


def test_nearest_is_silent_about_strange_names() -> None:
    assert nearest("PATH") == ()
    assert nearest("") == ()


@given(st.text(max_size=200), st.integers(1, 5))
def test_nearest_gives_known_names_only(name: str, count: int) -> None:
    near = nearest(name, count)
    assert len(near) <= count
    assert all(isinstance(catalogue()[found], Variable) for found in near)


def test_what_is_removed_says_since_when() -> None:
    for name, variable in catalogue().items():
        removed, since = parse_release(variable.removed), parse_release(variable.since.removeprefix("<="))
        assert (variable.status == "removed") == bool(variable.removed), name
        assert removed is None or since is None or removed > since, name


@pytest.mark.parametrize(
    ("name", "expected"),
    [("NCCL_PROTO", True), ("NCCL_IB_QPS_PER_CONNECTION", True), ("NCCL_IB_HCA", False), ("NCCL_NO_SUCH", False)],
)
def test_what_ranks_must_set_alike(name: str, expected: bool) -> None:
    assert must_agree(name) is expected


def test_names_in_circulation_are_known_and_not_in_the_catalogue() -> None:
    nothing = circulating("NCCL_EXCLUDE_IB_HCA")
    assert nothing is not None and (nothing.kind, nothing.instead) == ("nothing", "NCCL_IB_HCA=^=NAME")
    renamed = circulating("NCCL_ASYNC_ERROR_HANDLING")
    assert renamed is not None and renamed.instead in catalogue()
    family = circulating("NCCL_FASTRAK_USE_LLCM")
    assert family is not None and family.kind == "other"
    assert circulating("NCCL_IB_HCA") is None is circulating("NCCL_NONSENSE")
