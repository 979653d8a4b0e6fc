"""Locked memory in bytes, whatever the shell counts in."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts, fixture

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "name", "bytes_"),
    [
        (fixture("ulimit-a.txt"), "x", 8192 * 1024),
        ("max locked memory       (kbytes, -l) unlimited\n", "x", -1),
        ("Max locked memory         8388608              8388608              bytes\n", "x", 8388608),
        ("Max locked memory         unlimited            unlimited            bytes\n", "x", -1),
        ("$ ulimit -l\nunlimited\n", "x", -1),
        ("$ ulimit -l\n64\n", "x", 65536),
        ("64\n", "ulimit-l.txt", None),
        ("64\n", "x", None),
        ("$ ulimit -n\n1024\n", "x", None),
    ],
)
def test_memlock(text: str, name: str, bytes_: int | None) -> None:
    assert facts(text, name).get(("host", "memlock")) == bytes_


@pytest.mark.parametrize(
    ("line", "bytes_"),
    [
        ("max locked memory           (kbytes, -l) 8192", 8192 * 1024),
        ("max locked memory           (bytes, -l) 8192", 8192),
        ("max locked memory           (-l) 64", 64 * 1024),
        ("max locked memory           (kbytes, -l) many", None),
        ("max memory size             (kbytes, -m) 64", None),
        ("Max locked memory         1                    unlimited            bytes", 1),
        ("Max open files            1024                 1048576              files", None),
    ],
)
def test_each_spelling_counts_in_its_unit(line: str, bytes_: int | None) -> None:
    assert facts(f"{line}\n", "ulimit-a.txt").get(("host", "memlock")) == bytes_


def test_limits_of_a_process_and_of_the_shell_are_told_apart_by_their_lines() -> None:
    text = "$ cat /proc/4242/limits\nLimit  Soft Limit  Hard Limit  Units\nMax locked memory  65536  65536  bytes\n"
    assert facts(text) == {("host", "memlock"): 65536}
