"""Which names and values the text formats refuse, and that what a stricter rule takes a looser one takes too."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.export import rules
from tests.unit.export import readers
from tests.unit.export.presets_made import ALGO, VALUES

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", ["NCCL_NET", "_A", "a1", "RAY_memory_monitor_refresh_ms"])
def test_names(name: str) -> None:
    assert rules.has_name(name)


@pytest.mark.parametrize("name", ["", "1A", "A B", "A-B", "A=B", "A\n", "É", "A" * 257])
def test_no_names(name: str) -> None:
    assert not rules.has_name(name)


@pytest.mark.parametrize("value", ["", "IB", "=rocep1s0f0,roceP2p1s0f0", "a:1+2", "/etc/x", "50%", "me@host", "-1"])
def test_plain_values(value: str) -> None:
    assert rules.not_plain("NCCL_X", value) == ""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (ALGO, "`;`"),
        ("^docker0", "`^`"),
        ("a b", "a blank"),
        ("a#b", "`#`"),
        ("$HOME", "`$`"),
        ("'x'", "`'`"),
        ("~/x", "`~`"),
        ("{x}", "`{`"),
    ],
)
def test_what_is_not_plain_is_told_by_its_first_letter(value: str, told: str) -> None:
    assert told in rules.not_plain("NCCL_X", value)
    assert rules.not_one_line("NCCL_X", value) == ""


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\x1b[31m", "a\x7f", "é", "x" * rules.LONGEST])
def test_what_no_line_holds(value: str) -> None:
    assert rules.not_one_line("NCCL_X", value)
    assert rules.not_a_value("NCCL_X", value) == ""


def test_nul_is_no_value() -> None:
    assert "NUL" in rules.not_a_value("A", "a\0b")
    assert "NUL" in rules.not_plain("A", "a\0b")


@given(VALUES)
def test_each_rule_takes_all_that_a_stricter_one_takes(value: str) -> None:
    order = (rules.not_plain, rules.not_for_shells, rules.not_one_line, rules.not_a_value)
    taken = [not rule("NCCL_X", value) for rule in order]
    assert taken == sorted(taken)


@pytest.mark.parametrize("name", ["PATH", "UID", "IFS", "PS4", "status", "history", "_"])
def test_the_shells_own_names_are_refused(name: str) -> None:
    assert "shell's own" in rules.not_for_shells(name, "1")
    assert rules.not_one_line(name, "1") == ""


@pytest.mark.parametrize("shell", [*readers.SHELLS, *(["fish"] if shutil.which("fish") else [])])
def test_every_upper_case_variable_a_shell_has_by_itself_is_refused_or_can_be_set(shell: str, tmp_path: Path) -> None:
    """Names of the shell's own manual: what it computes would not come back."""
    listed = {"fish": "set --names", "zsh": "print -l ${(k)parameters}"}.get(shell, "set | sed -n 's/=.*//p'")
    words = ["--no-config"] if shell == "fish" else []
    said = readers.run([shell, *words, "-c", listed], tmp_path)
    names = [name for name in said.split() if rules.has_name(name) and not rules.not_for_shells(name, "1")]
    for name in names:
        assert readers.sets(shell, name, tmp_path) == "1", name


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8).filter(str.islower))
def test_lower_case_names_are_the_shells(name: str) -> None:
    assert rules.not_for_shells(name, "1")
