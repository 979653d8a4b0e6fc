"""The limit of open files: raised as far as allowed, in a process of its own, and never lowered."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from fabricdoc.transport.limits import OTHERS, allow_files

pytestmark = pytest.mark.unit

CODE = """
import resource, sys
from fabricdoc.transport.limits import allow_files
soft, hard, count = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
allow_files(count)
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "count", "wanted"),
    [
        (256, 512, 10, (256, 512)),
        (256, 1024, 300, (300 + OTHERS, 1024)),
        (256, 512, 3000, (512, 512)),
        (256, 256, 3000, (256, 256)),
    ],
)
def test_the_limit_is_raised_within_the_users_own(soft: int, hard: int, count: int, wanted: tuple[int, int]) -> None:
    words = [sys.executable, "-c", CODE, str(soft), str(hard), str(count)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True)
    assert tuple(map(int, done.stdout.split())) == wanted


def test_where_there_is_none_none_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    infinite = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (infinite, infinite))
    monkeypatch.setattr(resource, "setrlimit", lambda *_words: pytest.fail("a limit was set"))
    allow_files(1_000_000)


def test_without_a_hard_limit_the_soft_one_is_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (64, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", lambda _which, limits: given.append(limits))
    allow_files(1000)
    assert given == [(1000 + OTHERS, resource.RLIM_INFINITY)]
