"""Which files are read, in which order, and what becomes of those that can't be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps import files
from fabricdoc.dumps.told import Note
from fabricdoc.errors import InputError

pytestmark = pytest.mark.unit


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def test_folders_name_nodes_in_natural_order(tmp_path: Path) -> None:
    write(tmp_path, "d/n10/a.txt", "d/n2/b.txt", "d/n2/deep/c.txt", "d/top.txt", "d/.hidden", "d/.git/config")
    found, notes = files.listed([tmp_path / "d"])
    assert notes == []
    assert [(one.name, one.folder, one.certain) for one in found] == [
        ("d/n2/b.txt", "n2", True),
        ("d/n2/deep/c.txt", "n2", True),
        ("d/n10/a.txt", "n10", True),
        ("d/top.txt", "d", False),
    ]


def test_a_file_named_alone_has_the_name_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "spark/x.txt")
    monkeypatch.chdir(tmp_path / "spark")
    (one,), _ = files.listed([Path("x.txt")])
    assert (one.name, one.folder, one.certain) == ("x.txt", "spark", False)


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "d/x.txt")
    found, _ = files.listed([tmp_path / "d" / "x.txt", tmp_path / "d"])
    assert len(found) == 1


def test_links_are_not_followed_out_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "d/x.txt", "secret")
    (tmp_path / "d" / "y.txt").symlink_to(tmp_path / "secret")
    (tmp_path / "d" / "loop").symlink_to(tmp_path / "d")
    found, _ = files.listed([tmp_path / "d"])
    assert [one.path.name for one in found] == ["x.txt"]


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        files.listed([tmp_path / "none"])


def test_the_number_of_files_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *(f"d/{k}.txt" for k in range(6)))
    monkeypatch.setattr(files, "MAX_FILES", 4)
    found, notes = files.listed([tmp_path / "d"])
    assert len(found) == 4
    assert [note.file for note in notes] == ["d/4.txt"]


def test_a_deep_folder_is_named(tmp_path: Path) -> None:
    write(tmp_path, "d/" + "a/" * files.MAX_DEPTH + "x.txt")
    found, notes = files.listed([tmp_path / "d"])
    assert found == []
    assert "deeper" in notes[0].message


def source(path: Path) -> files.Source:
    return files.Source(path, path.name, "")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfa\r\n", "a\r\n"),
        ("käse".encode("latin-1"), "k\ufffdse"),
        ("a\n".encode("utf-16"), "\ufeffa\n"),
        (b"", ""),
    ],
)
def test_encodings(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)
    loaded = files.load(source(tmp_path / "x"))
    assert isinstance(loaded, str)
    assert loaded.lstrip("\ufeff") == text.lstrip("\ufeff")


def test_binary_large_and_endless_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").write_bytes(b"\x7fELF\0\0")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "big").write_bytes(b"x" * 2000)
    monkeypatch.setattr(files, "MAX_FILE", 1000)
    said = {}
    for name in ("bin", "pipe", "big", "none"):
        note = files.load(source(tmp_path / name))
        assert isinstance(note, Note)
        said[name] = note.message
    assert "binary" in said["bin"]
    assert "pipe" in said["pipe"]
    assert "larger" in said["big"]
    assert "No such file" in said["none"]


@pytest.mark.parametrize(
    "names", [["node2", "node10"], ["a", "a1", "b"], ["9", "10", "a"], ["n1-2", "n1-10"], ["n٢", "n٣"]]
)
def test_natural_order(names: list[str]) -> None:
    turned = names[::-1]
    assert sorted(turned, key=files.natural) == names


@given(st.text(max_size=8), st.text(max_size=8))
def test_any_two_names_have_an_order(one: str, other: str) -> None:
    first, second = files.natural(one), files.natural(other)
    assert (first < second) + (first == second) + (first > second) == 1


def test_a_folder_that_can_not_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "d/a/x.txt", "d/b/y.txt")
    real = Path.iterdir

    def iterdir(self: Path) -> object:
        if self.name == "a":
            raise PermissionError(13, "Permission denied")
        return real(self)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    found, notes = files.listed([tmp_path / "d"])
    assert [one.name for one in found] == ["d/b/y.txt"]
    assert [(note.kind, "Permission denied" in note.message) for note in notes] == [("unreadable", True)]
