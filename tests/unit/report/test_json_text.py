"""Documents as JSON: ASCII, strict, the same after reading back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.findings import ErrorDocument
from fabricdoc.report.json_text import json_text

pytestmark = pytest.mark.unit


def test_every_kind_reads_back_as_the_same_document(samples: Any) -> None:
    for document in (*samples.all(), *samples.all_long()):
        text = json_text(document)
        assert text.isascii()
        assert text.endswith("}\n")
        assert type(document).model_validate_json(text) == document
        assert list(json.loads(text))[:3] == ["schema", "fabricdoc", "created"]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_and_no_control_character_is_left(text: str) -> None:
    made = json_text(ErrorDocument(id="x", message=text))
    assert json.loads(made)["message"] == text
    assert all(letter == "\n" or letter.isprintable() for letter in made)


def test_what_is_no_number_is_null(samples: Any) -> None:
    verdict = samples.verdict().model_copy(update={"smallest_effect": float("inf"), "floor": float("nan")})
    read = json.loads(json_text(verdict))
    assert read["smallest_effect"] is None
    assert read["floor"] is None
    with pytest.raises(ValueError, match="JSON"):
        json_text({"x": float("nan")})


def test_a_plain_mapping() -> None:
    assert json.loads(json_text({"a": "é"})) == {"a": "é"}
