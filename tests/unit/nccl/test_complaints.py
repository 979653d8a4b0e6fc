"""The ids that lint and candidates share, and how bad each is."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from fabricdoc.nccl.complaints import SEVERITIES, Complaint

pytestmark = pytest.mark.unit

WANTED = {
    *("unknown-variable", "does-nothing", "bad-value", "out-of-range", "selector-space", "ll128-forced-by-exclusion"),
    *("ll128-forced-by-name", "algo-without-function-form", "gid-index-pinned", "contradiction", "debug-left-on"),
    *("removed-variable", "not-yet-in-this-version", "empty-value"),
}


def test_every_id_has_a_severity() -> None:
    assert SEVERITIES.keys() >= WANTED
    assert set(SEVERITIES.values()) == {"error", "warning", "info"}


def test_a_complaint_is_a_value_with_the_severity_of_its_id() -> None:
    one = Complaint("bad-value", "NCCL_NET", "m")
    assert (one.severity, one.culprit, one.others) == ("error", "", ())
    assert Complaint("something-new", "NCCL_NET", "m").severity == "warning"
    with pytest.raises(FrozenInstanceError):
        one.id = "x"  # type: ignore[misc]
