"""Scripts and launch lines: which words set a variable, and which only look so."""

from __future__ import annotations

import pytest

from fabricdoc.nccl.lint import lint_text
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


def test_branches_of_a_script_are_not_set_together() -> None:
    lines = (
        "export A_A=0",
        "case $x in",
        "head) export B_B=1 ;;",
        "*) export B_B=2 ;;",
        "esac",
        "if y; then export C_C=1; else export C_C=2; fi",
        "export D_D=1",
    )
    assert [(one.name, one.value, one.scope) for one in shell_lines(list(lines))] == [
        ("A_A", "0", 0),
        ("B_B", "1", 2),
        ("B_B", "2", 3),
        ("C_C", "1", 0),
        ("C_C", "2", 6),
        ("D_D", "1", 0),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bash -c 'export A_B=1; C_D=2 run'", ["A_B=1", "C_D=2"]),
        ('ssh -p 22 host "A_B=1 run"', ["A_B=1"]),
        ("ssh host A_B=1 run C_D=2", ["A_B=1"]),
        ("docker exec c env A_B=1 run", ["A_B=1"]),
        ("srun --export=ALL,A_B=1,C_D=2 run", ["A_B=1", "C_D=2"]),
        ("apptainer exec --env A_B=1,C_D=2 x.sif run", ["A_B=1", "C_D=2"]),
        ("docker run -e A_B==x,C_D=y image", ["A_B==x,C_D=y"]),
        ("mpiexec -genv A_B 1 -env C_D '2 3' run", ["A_B=1", "C_D=2 3"]),
        ("export 'A_B=1 2'", ["A_B=1 2"]),
        ("set -gx A_B 1", ["A_B=1"]),
        ("set -x", []),
        ("A_B=1 > out.txt C_D=2 run", ["A_B=1", "C_D=2"]),
        ("run > A_B=1", []),
        ("grep -e A_B=1 file", []),
        ("echo -e 'A_B=1 x'", []),
        ("sed -i -e 's/A_B=1/A_B=2/' file", []),
        ("""ray job submit --runtime-env-json '{"env_vars": {"A_B": "1"}}' -- python x.py""", ["A_B=1"]),
        ("kubectl exec pod -- env A_B=1 run", ["A_B=1"]),
        ("for h in a b; do A_B=1 run; done", ["A_B=1"]),
        ("(A_B=1 run)", ["A_B=1"]),
        ("! A_B=1 run", ["A_B=1"]),
        ("A_B=${X:-1} run", ["A_B=1"]),
        ('export A_B="${A_B:-1,2}" C_D=${C_D-3} E_F=${E_F:=4}', ["A_B=1,2", "C_D=3", "E_F=4"]),
        ("A_B=${X:-$Y} run", []),
        ("A_B=x${X:-1} run", []),
        ("A_B=${X} run", []),
        ("ENV A_B=1 C_D='2 3'", ["A_B=1", "C_D=2 3"]),
        ("ENV A_B 1", ["A_B=1"]),
        ("docker run -e A_B -e C_D=1 image", ["C_D=1"]),
    ],
)
def test_launch_lines_of_many_kinds(line: str, expected: list[str]) -> None:
    assert [f"{name}={value}" for name, value, _ in found(line)] == expected


def test_a_cr_is_part_of_the_last_word_of_a_line_only() -> None:
    one, other = shell_lines(["export A_B=1 C_D=2\r"])
    assert (one.wrong, [complaint.id for complaint in other.wrong]) == ((), ["carriage-return-kept"])
    assert other.value == "2" and other.text == "export A_B=1 C_D=2"


def test_what_one_command_gets_is_not_what_the_next_gets() -> None:
    lines = [
        "export A_A=0",
        "docker run -e B_B=1 \\",
        "  -e C_C=1 image",
        "docker run -e B_B=2 image",
        "B_B=3 run",
        "B_B=4",
        "ssh host 'export B_B=5; run'",
    ]
    assert [(one.name, one.value, one.scope) for one in shell_lines(lines)] == [
        ("A_A", "0", 0),
        ("B_B", "1", 2),
        ("C_C", "1", 2),
        ("B_B", "2", 4),
        ("B_B", "3", 5),
        ("B_B", "4", 0),
        ("B_B", "5", 7),
    ]


@pytest.mark.parametrize(
    ("name", "line", "fix"),
    [
        ("run.sh", "export NCCL_ALGO = Ring", "export NCCL_ALGO=Ring"),
        ("run.sh", "  NCCL_ALGO = Ring", "NCCL_ALGO=Ring"),
        ("Dockerfile", "ENV NCCL_ALGO = Ring", "ENV NCCL_ALGO=Ring"),
    ],
)
def test_a_blank_before_equals_in_a_script_sets_nothing(name: str, line: str, fix: str) -> None:
    found = [one for one in lint_text(name, f"{line}\n") if one.complaint.id == "space-around-equals"]
    assert [(one.complaint.fix, one.line) for one in found] == [(fix, 1)]


@pytest.mark.parametrize("line", ["[ $NCCL_ALGO = Ring ]", 'if [ "$NCCL_ALGO" == Ring ]; then', "echo NCCL_ALGO = x"])
def test_a_comparison_is_no_assignment(line: str) -> None:
    assert lint_text("run.sh", f"{line}\n") == ()
