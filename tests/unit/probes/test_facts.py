"""Facts: a value or a reason, never an exception, never broken text."""

from __future__ import annotations

import errno
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import facts
from tests.sysfs import EINVAL_FILE

pytestmark = pytest.mark.unit


def test_a_file_is_its_stripped_text_or_the_reason(tmp_path: Path) -> None:
    (tmp_path / "full").write_text(" 28.45.4028 \n")
    (tmp_path / "empty").write_text("\n")
    assert facts.read_text(f"{tmp_path}/full") == "28.45.4028"
    assert facts.read_text(f"{tmp_path}/empty") == {"unknown": f"{tmp_path}/empty: empty"}
    assert facts.read_text(f"{tmp_path}/none") == {"unknown": f"{tmp_path}/none: No such file or directory"}


def test_a_refusal_of_the_kernel_names_the_file() -> None:
    assert facts.read_int(EINVAL_FILE) == {"unknown": f"{EINVAL_FILE}: Invalid argument"}


def test_a_number_that_is_none_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "number").write_text("-1\n")
    (tmp_path / "word").write_text("many\n")
    assert facts.read_int(f"{tmp_path}/number") == -1
    assert facts.is_unknown(facts.read_int(f"{tmp_path}/word"))


def test_a_file_longer_than_one_read_is_read_whole() -> None:
    maps = facts.load("/proc/self/smaps")
    assert len(maps) > 4096
    assert len(maps) <= facts.MAX_FILE


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOENT, "No such file", "/a"), "/a: No such file"),
        (OSError(errno.ENODEV, "No such device"), "No such device"),
        (ValueError("not a number"), "ValueError: not a number"),
        (struct.error("short"), "error: short"),
    ],
)
def test_errors_of_reading_become_reasons(error: Exception, reason: str) -> None:
    def fail() -> None:
        raise error

    assert facts.attempt(fail) == {"unknown": reason}


def test_an_error_that_is_a_mistake_of_ours_is_not_hidden() -> None:
    with pytest.raises(TypeError):
        facts.attempt(lambda: len(3))  # type: ignore[arg-type]


@given(st.binary(max_size=200))
def test_any_bytes_become_text_that_json_and_utf8_carry(data: bytes) -> None:
    text = facts.clean(data.decode("utf-8", "surrogateescape"))
    assert json.loads(json.dumps(text)).encode() == text.encode()


@given(st.text(max_size=2000))
def test_a_reason_is_one_bounded_line(text: str) -> None:
    reason = facts.unknown(text)["unknown"]
    assert len(reason) <= facts.MAX_REASON
    assert len(reason.splitlines()) <= 1


def test_folders_and_links(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    assert facts.names(str(tmp_path)) == ["a", "b", "dangling"]
    assert facts.listed(f"{tmp_path}/gone") == []
    assert facts.linked_name(f"{tmp_path}/a") == "b"
    assert facts.exists(f"{tmp_path}/a")
    assert not facts.exists(f"{tmp_path}/dangling")
    with pytest.raises(FileNotFoundError):
        facts.linked_name(f"{tmp_path}/dangling")


def test_a_text_longer_than_a_page_is_no_fact(tmp_path: Path) -> None:
    file = tmp_path / "long"
    file.write_text("x" * 4096)
    assert facts.read_text(str(file)) == "x" * 4096
    file.write_text("x" * 4097)
    assert facts.read_text(str(file)) == {"unknown": f"{file}: 4097 characters"}


@pytest.mark.parametrize(("text", "known"), [(str(2**63 - 1), True), (str(2**63), False), ("9" * 30, False)])
def test_a_number_beyond_64_bits_is_no_fact(tmp_path: Path, text: str, known: bool) -> None:
    file = tmp_path / "number"
    for sign in ("", "-"):
        file.write_text(sign + text)
        assert (facts.read_int(str(file)) == int(sign + text)) is known
