"""Which value of a variable wins on a node."""

from __future__ import annotations

import pytest

from fabricdoc.checks.settings import SHOWN, number, setting, sources_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import ConfFile, Node
from tests.fabrics import node
from tests.fabrics.altering import set_facts

pytestmark = pytest.mark.unit


def with_settings(environment: dict[str, str], *files: tuple[str, dict[str, str]]) -> Node:
    found = tuple(ConfFile(path=path, values=values) for path, values in files)
    one = node("alpha")
    return one.model_copy(update={"host": set_facts(one.host, {"environment": environment, "nccl_conf": found})})


def test_the_environment_beats_the_files_and_the_first_file_the_second() -> None:
    files = (("/root/.nccl.conf", {"A": "2", "B": "2"}), ("/etc/nccl.conf", {"A": "3", "B": "3", "C": "3"}))
    found = with_settings({"A": "1"}, *files)
    assert [setting(found, name) for name in "ABC"] == [
        ("A", "1", "environment"),
        ("B", "2", "/root/.nccl.conf"),
        ("C", "3", "/etc/nccl.conf"),
    ]
    assert setting(found, "D") is None
    assert [origin for origin, _values in sources_of(found)] == ["environment", "/root/.nccl.conf", "/etc/nccl.conf"]


def test_an_empty_value_is_none_and_hides_what_comes_later() -> None:
    assert setting(with_settings({"A": ""}, ("/etc/nccl.conf", {"A": "3"})), "A") is None


def test_unread_files_are_no_files() -> None:
    one = node("alpha")
    hidden = one.model_copy(update={"host": set_facts(one.host, {"nccl_conf": Unknown(unknown="x")})})
    assert setting(hidden, "A") is None


def test_a_long_value_is_cut_where_it_is_shown() -> None:
    found = setting(with_settings({"A": "x" * 1000}), "A")
    assert found is not None
    assert found.text() == f"A={'x' * SHOWN} (environment)"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        (" 3 ", 3),
        ("-1", -1),
        ("", None),
        ("-", None),
        ("3x", None),
        ("³", None),
        ("0x3", None),
        ("9" * 12, None),
        ("--1", None),
    ],
)
def test_numbers(text: str, value: int | None) -> None:
    assert number(with_settings({"A": text}), "A") == value
