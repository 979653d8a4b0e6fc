"""The place and the fault of a file that is no valid document, in one line."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from fabricdoc.model.delivery import Delivery
from fabricdoc.model.faults import first_fault

pytestmark = pytest.mark.unit

GOOD = {"preset": "pair", "answer": "delivered", "reason": ""}


def fault(**fields: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        Delivery.model_validate({**GOOD, **fields})
    return first_fault(caught.value)


def test_the_place_is_named_as_one_would_write_it() -> None:
    assert fault(unseen=[{"node": "a", "reason": ""}, {"node": "b"}]) == "unseen[1].reason: Field required"
    assert fault(reason=3) == "reason: Input should be a valid string"
    assert fault(strange=1).startswith("strange: ")


def test_what_is_of_no_single_place_is_the_documents() -> None:
    assert fault(schema="fabricdoc/run/1") == (
        "the document: Value error, schema is 'fabricdoc/run/1', wanted 'fabricdoc/delivery/1'"
    )


def test_of_several_faults_the_first_is_told() -> None:
    assert fault(reason=3, workers=[{}]).startswith("reason: ")
