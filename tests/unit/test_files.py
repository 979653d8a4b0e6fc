"""Files users hand in: whatever is in them or in their place, one InputError names it and no read is endless."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import InputError
from fabricdoc.files import expanded, home_folder, is_file, is_folder, parse_json, parse_toml, read_text

pytestmark = pytest.mark.unit

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200).filter(lambda text: text[:1] != "\ufeff")
DEEP_TOML = ["a=" + "[" * 5000 + "]" * 5000, "a=" + "{b=" * 3000 + "1" + "}" * 3000, "a=" + "9" * 9999]


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200).filter(lambda t: not t.startswith("\ufeff"))
)
def test_text_comes_back_as_it_was_written(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "text"
    file.write_bytes(text.encode())
    assert read_text(file, "it") == text


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "marked.env"
    file.write_bytes(b"\xef\xbb\xbfNCCL_NET=IB\n")
    assert read_text(file, "it") == "NCCL_NET=IB\n"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "No such file"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.write_bytes(b"a\xff"), "not UTF-8 text .byte 1"),
        (lambda path: path.write_bytes(b"x" * 101), "longer than 100 bytes"),
        (lambda path: path.symlink_to(path), "symbolic links"),
        (lambda path: path.symlink_to("/dev/zero"), "a pipe or a device"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, make: object, said: str) -> None:
    path = tmp_path / "file"
    make(path)  # type: ignore[operator]
    with pytest.raises(InputError, match=f"^the thing .*{said}"):
        read_text(path, "the thing", limit=100)


def test_a_name_no_file_can_have_is_named() -> None:
    for name in ("a\0b", "x" * 5000):
        with pytest.raises(InputError, match="can't be read"):
            read_text(Path(name), "it")


def test_a_pipe_without_a_writer_does_not_hang(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    errors: list[InputError] = []

    def read() -> None:
        try:
            read_text(pipe, "it")
        except InputError as error:
            errors.append(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(10)
    assert not reader.is_alive()
    assert "a pipe" in errors[0].message


@pytest.mark.parametrize(
    "text", ["a=" + "[" * 5000 + "]" * 5000, "a=" + "{b=" * 3000 + "1" + "}" * 3000, "a=" + "9" * 9999]
)
def test_deep_or_long_toml_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"deeply|4300 digits"):
        parse_toml(text)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 9999])
def test_deep_or_long_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"deeply|4300 digits"):
        parse_json(text)


def test_good_toml_and_json_are_read() -> None:
    assert parse_toml("[a]\nb = 1\n") == {"a": {"b": 1}}
    assert parse_json('{"a": [1]}') == {"a": [1]}


def test_what_may_not_be_known_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert is_file(tmp_path / "file") and not is_folder(tmp_path / "file")
    assert is_folder(tmp_path) and not is_file(tmp_path)
    for path in (tmp_path / "file" / "below", Path("x" * 5000)):
        assert not is_file(path)
        assert not is_folder(path)


def test_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert home_folder() == Path("/somewhere")
    assert expanded(Path("~/x")) == Path("/somewhere/x")
    assert expanded(Path("~nosuchuser/x")) == Path("~nosuchuser/x")

    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert home_folder() is None
