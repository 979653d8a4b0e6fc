"""The front door of the workflow: every public name has exactly one home, and loading is lazy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fabricdoc import fabric, report, workflow

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("room", [fabric, workflow, report], ids=lambda room: room.__name__)
def test_every_public_name_is_found_in_its_home(room: object) -> None:
    homes = [name for names in room.HOMES.values() for name in names]  # type: ignore[attr-defined]
    assert sorted(homes) == sorted(room.__all__)  # type: ignore[attr-defined]
    assert len(set(homes)) == len(homes)
    for name in homes:
        assert callable(getattr(room, name))


def test_no_name_is_also_a_module() -> None:
    assert not set(workflow.__all__) & set(workflow.HOMES)
    assert not set(report.__all__) & set(report.HOMES)
    assert not set(fabric.__all__) & set(fabric.HOMES)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError):
        workflow.nothing  # noqa: B018


@pytest.mark.long
def test_looking_loads_no_tuning() -> None:
    code = "import sys; from fabricdoc.workflow import look; print('fabricdoc.tuning' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
