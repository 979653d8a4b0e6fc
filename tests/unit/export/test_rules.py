"""The refusal rules, held against models of each reader's grammar written from that reader's own source."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.export.rules import FORMATS, LONGEST, check_name, check_value, format_named, shell_would_split

pytestmark = pytest.mark.unit

ALGO = "ring;allreduce:tree"
VALUES = st.text(alphabet=string.printable + "é\u2028\x00\x1b", max_size=40)


def docker_reads(line: str, *, strips_quotes: bool) -> str:
    """docker/cli pkg/kvfile: all after the first `=`; the next release strips a pair of outer quotes."""
    value = line.lstrip().partition("=")[2]
    paired = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if strips_quotes and paired else value


def compose_reads(line: str) -> str | None:
    """compose-go dotenv, oldest and strictest: a quote opens a string, `#` ends the value, `$` is expanded."""
    value = line.partition("=")[2].lstrip(" \t\v\f\r")
    if value[:1] in {"'", '"'} or "$" in value:
        return None
    return value.split("#")[0].rstrip()


def systemd_reads(line: str) -> str | None:
    """systemd env-file.c: blanks trimmed, backslash escapes, a quote at the beginning opens a string."""
    value = line.partition("=")[2].strip(" \t\n\r")
    return None if "\\" in value or value[:1] in {"'", '"'} else value


@given(VALUES)
def test_what_env_accepts_every_reader_reads_as_written(value: str) -> None:
    if FORMATS["env"].refuse("NCCL_X", value):
        return
    line = f"NCCL_X={value}"
    assert len(line.splitlines()) == 1
    assert docker_reads(line, strips_quotes=True) == value
    assert docker_reads(line, strips_quotes=False) == value
    assert compose_reads(line) == value
    assert systemd_reads(line) == value


@given(VALUES)
def test_each_format_takes_all_that_the_stricter_one_takes(value: str) -> None:
    accepted = [not FORMATS[name].refuse("NCCL_X", value) for name in ("env", "bash", "json")]
    assert accepted == sorted(accepted)
    assert FORMATS["bash"].refuse("A", value) == FORMATS["docker"].refuse("A", value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "IB",
        "=rocep1s0f0,roceP2p1s0f0",
        "^docker0",
        ALGO,
        "/etc/nccl topo.xml",
        "ring;allreduce:tree;broadcast:ring",
    ],
)
def test_env_takes_what_nccl_needs(value: str) -> None:
    check_value(FORMATS["env"], "NCCL_ALGO", value)


@pytest.mark.parametrize(
    ("value", "able"),
    [
        (" IB", "bash"),
        ("IB ", "bash"),
        ("a #b", "bash"),
        ("a#b", "bash"),
        ('"IB"', "bash"),
        ("it's", "bash"),
        ("$HOME/x", "bash"),
        ("a\\", "bash"),
        ("`id`", "bash"),
        ("a\nb", "json"),
        ("a\rb", "json"),
        ("a\x1b[31m", "json"),
        ("a\x7fb", "json"),
        ("/etc/é", "json"),
        ("x" * (LONGEST + 1), "json"),
    ],
)
def test_a_refused_value_names_the_format_that_can_carry_it(value: str, able: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_value(FORMATS["env"], "NCCL_X", value)
    assert caught.value.fix == f"--format {able} can carry it"
    assert "NCCL_X" in caught.value.message
    assert "\n" not in caught.value.message
    assert not FORMATS[able].refuse("NCCL_X", value)


def test_nul_fits_no_format() -> None:
    for wanted in FORMATS.values():
        with pytest.raises(UsageError, match="NCCL_X") as caught:
            check_value(wanted, "NCCL_X", "a\0b")
        assert caught.value.fix == "take the variable out of the preset"


def test_a_name_that_compose_would_cut_is_refused_for_env_only() -> None:
    with pytest.raises(UsageError, match="export"):
        check_value(FORMATS["env"], "exported", "1")
    check_value(FORMATS["bash"], "exported", "1")


@pytest.mark.parametrize("name", ["", "1A", "A B", "A-B", "A=B", "A\n", "É", "export A"])
def test_bad_names(name: str) -> None:
    with pytest.raises(UsageError):
        check_name(name)


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        format_named("yaml")
    assert "env, bash, docker, json" in caught.value.fix
    assert format_named("env").readers


def test_what_a_shell_would_split() -> None:
    assert shell_would_split(ALGO)
    assert shell_would_split("a b")
    assert shell_would_split("~/x")
    assert not shell_would_split("=rocep1s0f0,roceP2p1s0f0")
    assert not shell_would_split("")
