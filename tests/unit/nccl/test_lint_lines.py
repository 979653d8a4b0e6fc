"""Env files as docker, NCCL and systemd take them: which name and value come out of a line."""

from __future__ import annotations

import pytest

from fabricdoc.nccl.lint_lines import conf_lines, docker_lines, split, systemd_lines

pytestmark = pytest.mark.unit


def pairs(lines: list[str]) -> list[tuple[str, str, int, int]]:
    return [(one.name, one.value, one.line, one.column) for one in docker_lines(lines)]


def test_docker_takes_lines_as_they_are() -> None:
    assert pairs(["A=1", "", "# c", "  B=2 ", "C", "D=", "E=x=y"]) == [
        ("A", "1", 1, 1),
        ("B", "2 ", 4, 3),
        ("D", "", 6, 1),
        ("E", "x=y", 7, 1),
    ]


@pytest.mark.parametrize(
    ("line", "name", "value", "wrong"),
    [
        ('A="x"', "A", "x", ["env-file-quotes-kept"]),
        ("A='x'", "A", "x", ["env-file-quotes-kept"]),
        ("A=x # y", "A", "x", ["comment-kept"]),
        ("A=x#y", "A", "x#y", []),
        ("export A=x", "A", "x", ["export-kept"]),
        ("export A='x' # y", "A", "x", ["export-kept", "comment-kept", "env-file-quotes-kept"]),
        ('A="', "A", '"', []),
        ("A=it's", "A", "it's", []),
    ],
)
def test_what_docker_keeps(line: str, name: str, value: str, wrong: list[str]) -> None:
    (one,) = docker_lines([line])
    assert (one.name, one.value, [complaint.id for complaint in one.wrong]) == (name, value, wrong)


def test_the_fix_of_a_kept_thing_is_the_line_without_it() -> None:
    (one,) = docker_lines(["NCCL_IB_HCA='=a' # b"])
    assert [complaint.fix for complaint in one.wrong] == ["NCCL_IB_HCA='=a'", "NCCL_IB_HCA==a"]


def test_nccls_file() -> None:
    (blank,) = conf_lines(["NCCL_NET = IB"])
    assert (blank.name, blank.value) == ("NCCL_NET", " IB")
    assert [complaint.id for complaint in blank.wrong] == ["space-around-equals"]
    assert list(conf_lines(["#NCCL_NET=IB", "no equals", ""])) == []
    old, new = (next(conf_lines(["A=1\r"], release)) for release in ((2, 28, 9), (2, 30, 7)))
    assert [complaint.id for complaint in old.wrong] == ["carriage-return-kept"] and new.wrong == ()
    assert old.value == new.value == "1"


def test_units() -> None:
    found = list(systemd_lines(["Environment=A=1 'B=two words'", "ExecStart=/bin/x C=3", ' Environment="D=4"']))
    assert [(one.name, one.value, one.line) for one in found] == [("A", "1", 1), ("B", "two words", 1), ("D", "4", 3)]


def test_words_whose_quotes_do_not_close_are_still_words() -> None:
    assert split("a 'b c' # d") == ["a", "b c"]
    assert split("a 'b c") == ["a", "'b", "c"]
