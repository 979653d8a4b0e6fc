"""A fabric becomes a folder and comes back equal; nothing foreign is overwritten, nothing half is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabricdoc.dumps import check_folder, read_dumps, save, saving
from fabricdoc.errors import ToolError, UsageError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, FailedNode
from tests.fabrics import crossed_pair, hca, netdev, node

pytestmark = pytest.mark.unit


def mixed() -> Fabric:
    """Two nodes, one failed, with HCAs and unknowns."""
    alpha = node("alpha", netdevs=[netdev("p0", ip="10.0.0.1")], hcas=[hca("mlx5_0", "p0")])
    beta = node("b/e ta", gpus=Unknown(unknown="NVML: none"))
    lost = FailedNode(name="gamma", target="gamma", id="node-unreachable", message="gamma: no route", fix="plug it in")
    return Fabric(nodes=(alpha, beta), failed=(lost,), links=Unknown(unknown="not asked"))


@pytest.mark.parametrize(
    "fabric", [crossed_pair(), mixed(), Fabric(nodes=(node("one"),))], ids=["pair", "mixed", "one"]
)
def test_what_is_saved_comes_back_equal(fabric: Fabric, tmp_path: Path) -> None:
    paths = save(fabric, tmp_path / "deep" / "dump")
    assert paths[0].name == "fabric.json"
    assert len(paths) == 1 + len(fabric.nodes)
    read = read_dumps([tmp_path / "deep" / "dump"])
    assert read.fabric() == fabric
    assert read.notes == ()


def test_twelve_nodes_keep_their_order(tmp_path: Path) -> None:
    fabric = Fabric(nodes=tuple(node(f"n{12 - k}") for k in range(12)))
    save(fabric, tmp_path / "d")
    assert read_dumps([tmp_path / "d"]).fabric() == fabric


def test_every_file_is_a_fabric_document_of_its_own(tmp_path: Path) -> None:
    for path in save(mixed(), tmp_path / "d"):
        raw = json.loads(path.read_text())
        assert raw["schema"] == "fabricdoc/fabric/1"
        assert path.read_text().isascii()
    one = read_dumps([tmp_path / "d" / "nodes" / "1-of-2-alpha.json"])
    assert [found.name for found in one.nodes] == ["alpha"]


def test_an_empty_folder_and_an_older_dump_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    save(mixed(), tmp_path / "d")
    save(crossed_pair(), tmp_path / "d")
    assert [one.name for one in read_dumps([tmp_path / "d"]).nodes] == ["alpha", "beta"]
    assert [one.name for one in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize("foreign", ["notes.txt", "fabric.json", "nodes/mine.txt", "nodes/1-of-1-x.json/y"])
def test_a_foreign_folder_is_left_alone(foreign: str, tmp_path: Path) -> None:
    save(mixed(), tmp_path / "d")
    target = tmp_path / "d" / foreign
    target.parent.mkdir(exist_ok=True)
    target.write_text("{}")
    with pytest.raises(UsageError, match="left alone"):
        save(crossed_pair(), tmp_path / "d")
    assert target.read_text() == "{}"


def test_a_file_and_a_link_to_a_foreign_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "precious").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "home")
    for name in ("file", "link"):
        with pytest.raises(UsageError):
            check_folder(tmp_path / name)


def test_a_full_disk_leaves_the_old_dump_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(mixed(), tmp_path / "d")

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saving, "_fill", full)
    with pytest.raises(ToolError, match="No space left"):
        save(crossed_pair(), tmp_path / "d")
    assert read_dumps([tmp_path / "d"]).fabric() == mixed().model_copy(
        update={"created": read_dumps([tmp_path / "d"]).created}
    )
    assert [one.name for one in tmp_path.iterdir()] == ["d"]


def test_a_failed_rename_brings_the_old_dump_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(mixed(), tmp_path / "d")
    real, seen = Path.rename, []

    def rename(self: Path, target: Path) -> Path:
        seen.append(self)
        if len(seen) == 2:
            raise OSError(5, "Input/output error")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(ToolError):
        save(crossed_pair(), tmp_path / "d")
    monkeypatch.undo()
    assert len(read_dumps([tmp_path / "d"]).failed) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["d"]


def test_files_can_be_read_by_others(tmp_path: Path) -> None:
    paths = save(mixed(), tmp_path / "d")
    assert {oct(path.stat().st_mode & 0o777) for path in paths} == {"0o644"}
    assert oct((tmp_path / "d").stat().st_mode & 0o777) == "0o755"


@pytest.mark.parametrize(
    ("name", "word"), [("a b", "a_b"), ("../x", ".._x"), ("ü", "_"), ("x" * 200, "x" * 80), ("/", "_")]
)
def test_a_nodes_name_is_no_path(name: str, word: str) -> None:
    names = list(saving.documents(Fabric(nodes=(node("p").model_copy(update={"name": name}),))))
    assert names == ["fabric.json", f"nodes/1-of-1-{word}.json"]
    assert saving.NODE_FILE.fullmatch(names[1].rpartition("/")[2])


def test_numbers_are_as_wide_as_the_last_one() -> None:
    names = list(saving.documents(Fabric(nodes=tuple(node(f"n{k}") for k in range(10)))))[1:]
    assert names == sorted(names) and names[0].startswith("nodes/01-of-10-")


@pytest.mark.parametrize(
    "head", ["", "{}", '{"schema": "fabricdoc/run/1"}', '{"schema": "fabricdoc/fabric/x"}', "\xff\xfe"]
)
def test_a_main_file_of_another_kind_makes_the_folder_foreign(head: str, tmp_path: Path) -> None:
    save(mixed(), tmp_path / "d")
    (tmp_path / "d" / "fabric.json").write_text(head, encoding="latin-1")
    with pytest.raises(UsageError, match="left alone"):
        save(crossed_pair(), tmp_path / "d")


@pytest.mark.parametrize("name", ["fabric.json", "nodes"])
def test_links_in_the_place_of_our_files_are_foreign(name: str, tmp_path: Path) -> None:
    save(mixed(), tmp_path / "d")
    (tmp_path / "d" / name).rename(tmp_path / "elsewhere")
    (tmp_path / "d" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="left alone"):
        save(crossed_pair(), tmp_path / "d")
