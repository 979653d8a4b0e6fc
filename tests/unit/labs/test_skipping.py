"""When the RoCE lab is left out: only for a reason, and the reason names what is missing."""

from __future__ import annotations

import platform
import shutil

import pytest

from tests.labs.vm import QEMU
from tests.roce.conftest import why_not

pytestmark = pytest.mark.unit


def test_a_machine_with_all_it_takes_has_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert why_not() == ""


def test_what_is_missing_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(shutil, "which", lambda name: None if name == QEMU else f"/usr/bin/{name}")
    assert why_not() == "not installed here: qemu-system-x86_64; `make deps` installs them"


def test_another_processor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert "aarch64" in why_not()
