"""The time now, as documents write it. Loads nothing, so that a command may answer in JSON without any model."""

from datetime import UTC, datetime


def utc_now() -> str:
    """The time now as ISO 8601 UTC with seconds, as every document's `created`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
