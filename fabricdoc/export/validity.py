"""Whether a preset may still be written: its own time is not over.

Whether the fabric is still the one measured is the gate's question.
"""

from __future__ import annotations

from datetime import UTC, datetime

from fabricdoc.errors import InputError, UsageError
from fabricdoc.model.preset import Preset


def check_valid(preset: Preset, *, expired: bool = False, now: datetime | None = None) -> None:
    """UsageError for a preset whose time is over, unless `expired` lets it pass; InputError for no time at all."""
    if not preset.expires:
        return
    end = _time(preset)
    if (now or datetime.now(UTC)) >= end and not expired:
        raise UsageError(
            f"preset {preset.name} was to be measured again by {preset.expires}",
            fix="measure again: fabricdoc bench; or write it all the same: --expired",
            id="preset-expired",
        )


def _time(preset: Preset) -> datetime:
    try:
        end = datetime.fromisoformat(preset.expires)
    except ValueError as error:
        raise InputError(
            f"preset {preset.name}: expires is {preset.expires[:40]!r}, which is no time",
            fix="write it as 2027-01-31T00:00:00Z, or take the line out",
        ) from error
    return end if end.tzinfo is not None else end.replace(tzinfo=UTC)
