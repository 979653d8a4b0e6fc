"""A preset whose time is over is not written unless that is asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fabricdoc.errors import InputError, UsageError
from fabricdoc.export import check_valid
from fabricdoc.model.preset import Preset
from tests.unit.export.presets_made import pair

pytestmark = pytest.mark.unit
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def until(text: str) -> Preset:
    return pair().model_copy(update={"expires": text})


@pytest.mark.parametrize("text", ["", "2026-12-01T00:00:00Z", "2026-12-01", "2026-11-30T00:00:01+00:00"])
def test_what_holds_passes(text: str) -> None:
    check_valid(until(text), now=NOW)


@pytest.mark.parametrize("text", ["2026-11-30T00:00:00Z", "2026-11-29", "2026-11-30T01:00:00+02:00"])
def test_what_is_over_is_refused_unless_it_is_asked_for(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_valid(until(text), now=NOW)
    assert caught.value.id == "preset-expired"
    assert "--expired" in caught.value.fix
    check_valid(until(text), now=NOW, expired=True)


def test_what_is_no_time_is_told() -> None:
    with pytest.raises(InputError, match="no time"):
        check_valid(until("soon"), now=NOW)
