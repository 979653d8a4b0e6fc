"""The history of gates: kept whole, listed newest first, bounded, and no harm to a store of runs."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from fabricdoc.errors import InputError, StoreError
from fabricdoc.model.gate import Gate
from fabricdoc.store import RunStore, gate_named, gates, keep_gate, last_gate, list_gates, load_gate, new_gate_id

pytestmark = pytest.mark.unit


def make(id: str, *nodes: str, answer: str = "go") -> Gate:
    fields = {
        "id": id,
        "preset": "pair",
        "nodes": nodes or ("a", "b"),
        "answer": answer,
        "reason": "so",
        "seconds": 0.5,
    }
    return Gate.model_validate({**fields, "counters": {"a": {"x port link_downed": 3}}, "boots": {"a": "boot"}})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def test_a_gate_comes_back_whole_and_newest_first(store: Path) -> None:
    first, second = make("g1"), make("g2", answer="no-go")
    for one in (first, second):
        keep_gate(one, store)
    assert load_gate("g1", store) == first
    (newest, oldest) = list_gates(store)
    assert (newest.id, newest.answer, newest.nodes, newest.seconds) == ("g2", "no-go", ("a", "b"), 0.5)
    assert oldest.id == "g1"
    assert [one.id for one in list_gates(store, most=1)] == ["g2"]


def test_the_last_gate_is_of_exactly_these_nodes(store: Path) -> None:
    for one in (make("g1", "a", "b"), make("g2", "a"), make("g3", "b", "a")):
        keep_gate(one, store)
    assert [getattr(last_gate(nodes, store), "id", None) for nodes in (["a", "b"], ["a"], ["c"])] == ["g1", "g2", None]


def test_a_store_without_gates_has_none_and_is_not_written(store: Path) -> None:
    assert (list_gates(store), load_gate("g1", store), last_gate(["a"], store)) == ((), None, None)
    assert not store.exists()
    RunStore.open(store, write=True).close()
    before = store.read_bytes()
    assert list_gates(store) == ()
    assert store.read_bytes() == before


def test_runs_and_gates_live_in_one_file(store: Path) -> None:
    keep_gate(make("g1"), store)
    with RunStore.open(store, write=True) as runs:
        assert runs.list_runs() == ()
    assert [one.id for one in list_gates(store)] == ["g1"]


def test_only_the_newest_are_kept(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "MOST_KEPT", 3)
    for number in range(6):
        keep_gate(make(f"g{number}"), store)
    assert [one.id for one in list_gates(store)] == ["g5", "g4", "g3"]


def test_an_id_is_kept_once(store: Path) -> None:
    keep_gate(make("g1"), store)
    with pytest.raises(StoreError):
        keep_gate(make("g1"), store)


def test_a_document_that_can_not_be_read_any_more_is_none(store: Path) -> None:
    keep_gate(make("g1"), store)
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE gates SET document = '{}'")
    assert load_gate("g1", store) is None
    assert last_gate(["a", "b"], store) is None
    with pytest.raises(InputError) as caught:
        gate_named("g1", store)
    assert "g1" in caught.value.fix


def test_no_such_gate_names_the_newest(store: Path) -> None:
    with pytest.raises(InputError) as caught:
        gate_named("nothing", store)
    assert "none is kept yet" in caught.value.fix


def test_a_file_that_is_no_store_is_refused(store: Path) -> None:
    store.write_text("x" * 400)
    with pytest.raises(InputError):
        keep_gate(make("g1"), store)
    assert store.read_text() == "x" * 400


def test_ids_are_their_own() -> None:
    ids = {new_gate_id() for _ in range(50)}
    assert len(ids) > 45
    assert all(id.startswith("g20") for id in ids)
