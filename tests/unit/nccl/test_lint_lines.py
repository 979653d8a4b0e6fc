"""Env files as docker, NCCL and systemd take them: which name and value come out of a line."""

from __future__ import annotations

import pytest

from fabricdoc.nccl.lint import lint_text
from fabricdoc.nccl.lint_lines import conf_lines, docker_lines, systemd_lines

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
    assert [complaint.fix for complaint in one.wrong] == ["NCCL_IB_HCA==a"] * 2


def test_nccls_file() -> None:
    (blank,) = conf_lines(["NCCL_NET = IB"])
    assert (blank.name, blank.value) == ("NCCL_NET", "IB"), "as it was meant, so that it is complained of once"
    assert [complaint.id for complaint in blank.wrong] == ["space-around-equals"]
    assert list(conf_lines(["#NCCL_NET=IB", "no equals", ""])) == []
    old, new = (next(conf_lines(["A=1\r"], release)) for release in ((2, 28, 9), (2, 30, 7)))
    assert [complaint.id for complaint in old.wrong] == ["carriage-return-kept"] and new.wrong == ()
    assert old.value == new.value == "1"


def test_units() -> None:
    found = list(systemd_lines(["Environment=A=1 'B=two words'", "ExecStart=/bin/x C=3", ' Environment="D=4"']))
    assert [(one.name, one.value, one.line) for one in found] == [("A", "1", 1), ("B", "two words", 1), ("D", "4", 3)]


def found(line: str) -> list[tuple[str, str]]:
    (one,) = docker_lines([line])
    return [(complaint.id, complaint.severity) for complaint in one.wrong]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("NCCL_NET =IB", [("space-around-equals", "error")]),
        ('NCCL_IB_HCA=mlx5_0,"mlx5_1"', [("env-file-quotes-kept", "error")]),
        ("NCCL_IB_HCA=$HCA", [("bad-value", "error")]),
        ("NCCL_CONF_FILE=~/nccl.conf", [("bad-value", "error")]),
        ("export NCCL_NET=IB", [("export-kept", "error")]),
        ("declare -x NCCL_NET=IB", [("export-kept", "error")]),
        ('ARGS="--a b"', [("env-file-quotes-kept", "warning")]),
        ("PASSWORD=a #b", [("comment-kept", "warning")]),
        ("NCCL_NET=IB\r", [("carriage-return-kept", "info")]),
        ("PATH=$HOME/bin", []),
        ('RAY_X={"a": 1}', []),
        ("NCCL_HOSTID=a#b", []),
    ],
)
def test_how_bad_what_docker_keeps_is(line: str, expected: list[tuple[str, str]]) -> None:
    """Docker keeps it whatever the name is; for other programs' variables that may be wanted."""
    assert found(line) == expected


def test_docker_drops_a_cr_and_it_is_told_once() -> None:
    both = list(docker_lines(["A=1\r", "B=2\r"]))
    assert [one.value for one in both] == ["1", "2"] and [len(one.wrong) for one in both] == [1, 0]


def test_nccl_cuts_long_values_and_reads_a_byte_order_mark() -> None:
    long, marked = conf_lines(["NCCL_HOSTID=" + "x" * 1024, "\ufeffNCCL_NET=IB"])
    assert [one.id for one in long.wrong] == ["out-of-range"]
    assert marked.name == "NCCL_NET" and [one.id for one in marked.wrong] == ["unknown-variable"]
    assert next(conf_lines(["NCCL_HOSTID=" + "x" * 1023])).wrong == ()


@pytest.mark.parametrize("line", ["Environment=NCCL_ALGO = Ring", "Environment=A_B=1 NCCL_ALGO =Ring"])
def test_a_blank_before_equals_in_a_unit_sets_nothing(line: str) -> None:
    (remark,) = (one for one in lint_text("a.service", f"[Service]\n{line}\n") if one.complaint.name == "NCCL_ALGO")
    assert (remark.complaint.id, remark.line) == ("space-around-equals", 2)
    assert remark.complaint.fix == "Environment=NCCL_ALGO=Ring"
