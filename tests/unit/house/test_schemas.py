"""The JSON Schemas in docs/schemas/ are current, valid, and true of every document the models can hold."""

from __future__ import annotations

import importlib.util
import json
import types
import typing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from fabricdoc.model.documents import Document
from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

_spec = importlib.util.spec_from_file_location("fabricdoc_schemas", TREE / "tools" / "schemas.py")
assert _spec is not None
assert _spec.loader is not None
schemas = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(schemas)

KINDS: list[type[Document]] = schemas.document_kinds()
# JSON has no NaN and no infinity; documents hold whole numbers of 64 bits at most.
WORDS = st.text(max_size=8)
LEAVES: dict[object, st.SearchStrategy[Any]] = {
    str: WORDS,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
}


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type, for the types the models use."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in LEAVES:
        return LEAVES[annotation]
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values, arguments))
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if origin is dict:
        return st.dictionaries(WORDS, values(arguments[1]), max_size=2)
    if origin is typing.Annotated:
        return values(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return models(annotation)
    raise NotImplementedError(f"no strategy for {annotation}")


def models(kind: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Any instance of a model; a document keeps the header it gives itself."""
    header = ("schema_", "fabricdoc", "created") if issubclass(kind, Document) else ()
    fields = {name: field.annotation for name, field in kind.model_fields.items() if name not in header}
    return st.builds(kind, **{name: st.deferred(lambda a=annotation: values(a)) for name, annotation in fields.items()})


def committed(kind: type[Document]) -> dict[str, Any]:
    return json.loads((TREE / "docs" / "schemas" / f"{kind.kind}-{kind.edition}.json").read_text())


def test_there_are_documents_and_each_kind_has_its_own_name() -> None:
    ids = [kind.schema_id() for kind in KINDS]
    assert {"fabricdoc/fabric/1", "fabricdoc/run/1", "fabricdoc/preset/1", "fabricdoc/error/1"} <= set(ids)
    assert len(ids) == len(set(ids))
    assert all(kind.kind for kind in KINDS)


def test_the_committed_schemas_are_current() -> None:
    assert schemas.stale(TREE / "docs" / "schemas") == [], "run: make schemas"


@pytest.mark.long
def test_a_changed_a_missing_and_a_left_over_schema_are_seen(tmp_path: Path) -> None:
    texts = schemas.files()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert schemas.stale(tmp_path) == []
    (tmp_path / "gate-1.json").write_text("{}\n")
    (tmp_path / "run-1.json").unlink()
    (tmp_path / "old-1.json").write_text("{}\n")
    assert schemas.stale(tmp_path) == ["gate-1.json", "old-1.json", "run-1.json"]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_schema_is_a_valid_one(kind: type[Document]) -> None:
    schema = committed(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    assert schema["$id"] == kind.schema_id()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_document_fits_its_schema_and_reads_back(kind: type[Document]) -> None:
    validator = jsonschema.Draft202012Validator(committed(kind))

    @settings(max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(document=models(kind))
    def check(document: Document) -> None:
        text = document.model_dump_json()
        validator.validate(json.loads(text))
        assert kind.model_validate_json(text) == document

    check()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_another_kind_or_an_unknown_key_does_not_fit(kind: type[Document]) -> None:
    validator = jsonschema.Draft202012Validator(committed(kind))
    header = {"schema": "fabricdoc/other/1", "fabricdoc": "0", "created": "2026-01-01T00:00:00Z", "invented": 1}
    wrong = [list(error.path) or [error.validator] for error in validator.iter_errors(header)]
    assert ["schema"] in wrong
    assert ["additionalProperties"] in wrong
