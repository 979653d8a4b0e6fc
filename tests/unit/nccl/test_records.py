"""Records are values: frozen, comparable, small, and each has a line of its own that says what it is."""

from __future__ import annotations

import dataclasses
import inspect
from typing import get_args

import pytest

from fabricdoc.nccl import records

pytestmark = pytest.mark.unit

KINDS = [kind for _, kind in inspect.getmembers(records, dataclasses.is_dataclass)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_record_is_frozen_and_says_what_it_is(kind: type) -> None:
    assert kind.__doc__ and "(" not in kind.__doc__.split("\n")[0][:12], "a sentence, not the generated signature"
    one = kind(*[None] * len(dataclasses.fields(kind)))
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
        setattr(one, dataclasses.fields(kind)[0].name, 1)
    assert not hasattr(one, "__dict__")


def test_every_record_but_a_devices_is_a_typed_event() -> None:
    assert set(KINDS) - set(get_args(records.Typed)) == {records.Device}
