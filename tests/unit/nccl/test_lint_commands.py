"""Scripts and launch lines: which words set a variable, and which only look so."""

from __future__ import annotations

import pytest

from fabricdoc.nccl.lint_commands import shell_lines

pytestmark = pytest.mark.unit


def found(*lines: str) -> list[tuple[str, str, int]]:
    return [(one.name, one.value, one.line) for one in shell_lines(list(lines))]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("A_B=1", [("A_B", "1", 1)]),
        ("export A_B='x y' C_D=2", [("A_B", "x y", 1), ("C_D", "2", 1)]),
        ("env A_B=1 python x.py", [("A_B", "1", 1)]),
        ("sudo env A_B=1 x", [("A_B", "1", 1)]),
        ("declare -x A_B=1", [("A_B", "1", 1)]),
        ("docker run -e A_B=1 -eC_D=2 --env E_F=3 --env=G_H=4 image I_J=5", [
            ("A_B", "1", 1), ("C_D", "2", 1), ("E_F", "3", 1), ("G_H", "4", 1)]),
        ("mpirun -np 2 -x A_B=1 -x C_D ./x", [("A_B", "1", 1)]),
        ("srun --export=A_B=1 x", [("A_B", "1", 1)]),
        ("if true; then A_B=1 run; fi", [("A_B", "1", 1)]),
        ("cd /x && A_B=1 run", [("A_B", "1", 1)]),
        ("python x.py A_B=1", []),
        ("# A_B=1", []),
        ("A_B=$X", []),
        ("A_B=`x`", []),
        ("echo 'A_B=1'", []),
        ("", []),
    ],
)  # fmt: skip
def test_words_that_set_a_variable(line: str, expected: list[tuple[str, str, int]]) -> None:
    assert found(line) == expected


def test_a_continued_command_is_one_and_each_name_keeps_its_line() -> None:
    assert found("docker run \\", "  -e A_B=1 \\", "  -e C_D=2 image", "E_F=3") == [
        ("A_B", "1", 2),
        ("C_D", "2", 3),
        ("E_F", "3", 4),
    ]
    assert found("A_B=1 \\") == [("A_B", "1", 1)], "a file that ends in a backslash"
    assert found("A_B=1 \\\r", "x\r") == [("A_B", "1", 1)]


def test_quotes_are_the_shells() -> None:
    (one,) = shell_lines(['export NCCL_IB_HCA="=a, b"'])
    assert one.value == "=a, b" and one.column == 8
