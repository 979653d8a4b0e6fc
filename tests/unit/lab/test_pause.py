"""What a refused namespace call is said to mean: the cause before the kernel's words."""

from __future__ import annotations

import errno
import os

import pytest

from fabricdoc.lab.pause import FORBIDDEN, NOT_BUILT, USED_UP, refusal

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.EPERM, FORBIDDEN),
        (errno.EACCES, FORBIDDEN),
        (errno.ENOSPC, USED_UP),
        (errno.EUSERS, USED_UP),
        (errno.EINVAL, NOT_BUILT),
        (errno.ENOSYS, NOT_BUILT),
    ],
)
def test_the_cause_comes_first(number: int, cause: str) -> None:
    words = f"unshare: {os.strerror(number)}"
    error = refusal(OSError(number, words), "namespaces of its own")
    assert error.id == "no-namespaces"
    assert error.message == f"the lab can't be made: {cause}; namespaces of its own: {words}"


def test_another_failure_is_told_as_it_is() -> None:
    error = refusal(OSError(errno.EIO, "mount /: Input/output error"), "namespaces of node alpha")
    assert error.id == "lab-failed"
    assert error.message == "the lab can't be made: namespaces of node alpha: mount /: Input/output error"
