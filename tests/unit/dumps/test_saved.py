"""Documents from elsewhere are checked like a node's report; what is missing, twice or broken is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps import read_dumps, save, saved
from fabricdoc.errors import InputError, NodeError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Cage, Fabric
from tests.fabrics import crossed_pair, hca, netdev, node

pytestmark = pytest.mark.unit


def test_what_scan_printed_is_read(tmp_path: Path) -> None:
    fabric = crossed_pair()
    (tmp_path / "scan.json").write_text(fabric.model_dump_json(by_alias=True))
    assert read_dumps([tmp_path / "scan.json"]).fabric() == fabric


def test_what_was_derived_stays() -> None:
    one = node("a").model_copy(update={"cages": (Cage(id="x/p0", hcas=("a", "b"), by="told"),), "clock_offset_s": 0.5})
    fabric = Fabric(nodes=(one,))
    assert saved.checked(fabric.model_dump_json(by_alias=True)) == fabric


def test_what_an_older_version_did_not_derive_is_derived_now() -> None:
    raw = json.loads(Fabric(nodes=(node("a", hcas=[hca("mlx5_0", "p0")]),)).model_dump_json(by_alias=True))
    assert saved.checked(json.dumps(raw)).nodes[0].nccl_gids == ()
    del raw["nodes"][0]["nccl_gids"]
    assert [one.hca for one in saved.checked(json.dumps(raw)).nodes[0].nccl_gids] == ["mlx5_0"]


def test_a_missing_node_file_is_named(tmp_path: Path) -> None:
    save(crossed_pair(), tmp_path / "d")
    (tmp_path / "d" / "nodes" / "2-of-2-beta.json").unlink()
    read = read_dumps([tmp_path / "d"])
    assert [one.name for one in read.nodes] == ["alpha"]
    assert ["holds 1 of the 2 nodes" in note.message for note in read.notes] == [True]


def test_a_node_counts_once(tmp_path: Path) -> None:
    save(crossed_pair(), tmp_path / "before")
    save(crossed_pair(), tmp_path / "after")
    read = read_dumps([tmp_path / "before", tmp_path / "after"])
    assert len(read.nodes) == 2
    assert {note.kind for note in read.notes} == {"contradiction"}
    assert "before/nodes/1-of-2-alpha.json" in read.notes[0].message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "fabricdoc/run/1"}, "another kind"),
        ({"schema": "fabricdoc/fabric/9"}, "wanted 'fabricdoc/fabric/1'"),
        ({"nodes": [{"name": "x"}]}, "no name or target"),
        ({"nodes": [{"name": "x", "target": "x"}]}, "hcas"),
        ({"nodes": 3}, "nodes is no list"),
        ({"nodes": [{"name": "x" * 2000, "target": "x"}]}, "more than 1000"),
        ({"invented": 1}, "invented"),
        ({"links": 3}, "links"),
    ],
)
def test_a_broken_document_says_where(change: dict[str, object], said: str, tmp_path: Path) -> None:
    raw = json.loads(crossed_pair().model_dump_json(by_alias=True)) | change
    (tmp_path / "x.json").write_text(json.dumps(raw))
    with pytest.raises(InputError, match=said):
        read_dumps([tmp_path / "x.json"])


def test_hostile_values_are_refused() -> None:
    fabric = Fabric(nodes=(node("a", netdevs=[netdev("p0", ip="10.0.0.1")]),))
    text = fabric.model_dump_json(by_alias=True)
    for old, new in (('"10.0.0.1"', '"10.0.0.999"'), ('"Test OS"', f'"{"x" * 5000}"'), ("9000", str(2**70))):
        assert old in text
        with pytest.raises((ValueError, NodeError)):
            saved.checked(text.replace(old, new))


@given(st.integers(0, 4000), st.text(max_size=5))
def test_a_document_cut_or_scribbled_on_is_a_note(place: int, scribble: str) -> None:
    text = crossed_pair().model_dump_json(by_alias=True)
    note = saved.Saved().add("f", text[:place] + scribble)
    assert note is None or note.kind == "unreadable"


def test_deep_nesting_is_a_note() -> None:
    note = saved.Saved().add("f", '{"schema": "fabricdoc/fabric/1", "nodes": ' + "[" * 100_000)
    assert note is not None


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ('{"schema": "fabricdoc/fabric/1"}', True),
        ('\n {\n "schema" : "fabricdoc/run/1"', True),
        ('{"created": 1, "schema": "fabricdoc/fabric/1"}', False),
        ('[{"schema": "fabricdoc/fabric/1"}]', False),
        ('{"schema": "other/fabric/1"}', False),
        ("", False),
    ],
)
def test_a_document_says_what_it_is_first(text: str, is_one: bool) -> None:
    assert saved.is_document(text) is is_one


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], []),
        (["d/nodes/1-of-2-a.json", "d/nodes/2-of-2-b.json"], []),
        (["d/nodes/1-of-3-a.json", "d/nodes/3-of-3-c.json"], ["holds 2 of the 3"]),
        (["a/nodes/1-of-2-a.json", "b/nodes/1-of-2-a.json"], ["holds 1 of the 2"] * 2),
        (["1-of-2-a.json"], []),
        (["d/nodes/one-of-2-a.json"], []),
    ],
)
def test_what_is_missing_is_told_by_the_names_of_the_others(files: list[str], said: list[str]) -> None:
    notes = saved.missing(files)
    assert [note.message[: len(text)] for note, text in zip(notes, said, strict=True)] == said


def test_links_are_those_of_all_documents_or_the_first_reason() -> None:
    found = saved.Saved()
    assert str(found.all_links()) == str(Unknown(unknown="no file tells the links"))
    for name, links in (("a", Unknown(unknown="not asked")), ("b", crossed_pair().links), ("c", ())):
        one = Fabric(nodes=(node(name),), links=links)
        assert found.add(f"{name}.json", one.model_dump_json(by_alias=True)) is None
    links = crossed_pair().links
    assert found.all_links() == links
    found.links = found.links[:1]
    assert found.all_links() == Unknown(unknown="not asked")


def test_a_node_file_tells_no_links() -> None:
    found = saved.Saved()
    one = Fabric(nodes=(node("a"),), links=())
    assert found.add("d/nodes/1-of-1-a.json", one.model_dump_json(by_alias=True)) is None
    assert (found.links, found.created) == ([], [])
