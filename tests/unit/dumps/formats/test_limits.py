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
