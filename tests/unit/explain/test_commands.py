"""Variables on pasted command lines: who takes them, what is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.explain.commands import LONGEST, MOST, variables_typed
from tests.excerpts import case, log, told, warn

pytestmark = pytest.mark.unit


def typed(*lines: str) -> list[tuple[str, str, int]]:
    return list(variables_typed(list(lines)))


@pytest.mark.parametrize(
    "line",
    [
        "mpirun -np 2 -x NCCL_IB_TC=106 ./all_reduce_perf",
        "$ mpirun -np 2 -x NCCL_IB_TC=106 ./all_reduce_perf",
        "root@pod-a:/work# NCCL_IB_TC=106 python train.py",
        "(venv) me@host:~$ export NCCL_IB_TC=106",
        "    -x NCCL_IB_TC=106 \\",
        "  -e NCCL_IB_TC=106 \\",
        "  --env NCCL_IB_TC=106",
        "docker run --rm -e NCCL_IB_TC='106' image",
        'sudo podman run -e NCCL_IB_TC="106" image',
        "srun --export=ALL,NCCL_IB_TC=106 ./job",
        "NCCL_IB_TC=106",
    ],
)
def test_commands_and_assignments_are_read(line: str) -> None:
    assert typed("", line) == [("NCCL_IB_TC", "106", 2)]


@pytest.mark.parametrize(
    "line",
    [
        "alpha:1:2 [0] NCCL INFO NCCL_IB_TC set by environment to 106.",
        "alpha:1:2 [0] NCCL INFO ENV/Plugin: NCCL_IB_TC=106",
        "we tried NCCL_IB_TC=106 last week",
        "INFO engine.py:1] env NCCL_IB_TC=106",
        "export MY_NCCL_IB_TC=106",
        "",
    ],
)
def test_what_is_no_command_is_left_alone(line: str) -> None:
    assert typed(line) == []


def test_several_on_a_line_keep_their_order() -> None:
    assert typed("export NCCL_A=1 NCCL_B=,x NCCL_C==mlx5_0:1") == [
        ("NCCL_A", "1", 1),
        ("NCCL_B", ",x", 1),
        ("NCCL_C", "=mlx5_0:1", 1),
    ]


def test_it_is_bounded() -> None:
    assert len(typed(*["export NCCL_A=1"] * (2 * MOST))) == MOST
    assert typed("export NCCL_A=1" + " " * LONGEST) == []


@given(st.lists(st.text(max_size=80), max_size=20))
def test_any_text_is_survived(lines: list[str]) -> None:
    assert all(0 < number <= len(lines) for _name, _value, number in variables_typed(lines))


def test_a_command_in_front_of_a_log_counts_and_nccls_own_word_wins() -> None:
    text = "mpirun -x NCCL_IB_TC=106 -x NCCL_PROTO=LL ./x\n" + log("alpha", "NCCL_IB_TC set by environment to 96.")
    made = case({"a.log": text})
    said = made.value("NCCL_IB_TC")
    assert said is not None
    assert (said.value, [one.value for one in made.values("NCCL_PROTO")]) == ("96", ["LL"])


def test_a_pasted_command_explains_the_log_below_it() -> None:
    failed = warn("ibvwrap.c:160", "Call to ibv_modify_qp failed with error Connection timed out")
    text = "$ mpirun -np 2 -x NCCL_IB_DISABLE=1 ./all_reduce_perf\n" + log("alpha", "Using network IBext", failed)
    document = told({"issue.md": text})
    assert document.verdict == "ib-disable-ignored-external-plugin"
    assert document.findings[0].evidence[0].line == 1


@pytest.mark.parametrize(
    "line",
    [
        "+ mpirun -np 2 -x NCCL_IB_TC=106 ./all_reduce_perf",
        "2026-03-01T10:11:00Z + mpirun -x NCCL_IB_TC=106 ./all_reduce_perf",
        "[pod/launcher/main] ++ export NCCL_IB_TC=106",
        "\x1b[32m$\x1b[0m export NCCL_IB_TC=106",
    ],
)
def test_what_a_traced_shell_prints_is_a_command_behind_any_front(line: str) -> None:
    assert [(name, value) for name, value, _line in typed(line)] == [("NCCL_IB_TC", "106")]


def test_a_sum_is_no_traced_shell() -> None:
    assert typed("bandwidth 3 +4 with NCCL_IB_TC=106", "a+ b NCCL_IB_TC=106") == []
