"""The `lab` document, and what importing the room costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from fabricdoc.lab import LabSpec, LabState, lab_document
from fabricdoc.lab.model import LabDocument
from fabricdoc.lab.spec import lab_node

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[3]


def _state() -> LabState:
    spec = LabSpec(rails=1)
    nodes = tuple(lab_node(spec, index, 100 + index) for index in range(2))
    return LabState("lab", 99, 12345, "boot", "2026-11-29T12:00:00Z", spec, nodes)


def test_the_document_starts_with_its_schema_and_comes_back() -> None:
    text = lab_document([_state()]).model_dump_json()
    assert next(iter(json.loads(text).items())) == ("schema", "fabricdoc/lab/1")
    assert json.loads(text)["labs"][0]["nodes"][1]["target"] == "netns:101"
    again = LabDocument.model_validate_json(text)
    assert again.labs == (_state(),)


def test_no_lab_is_a_document_too() -> None:
    assert lab_document(()).model_dump()["labs"] == ()


def test_another_kind_of_document_is_refused() -> None:
    with pytest.raises(ValidationError):
        LabDocument.model_validate({"schema": "fabricdoc/run/1", "labs": []})


def test_importing_the_room_loads_no_pyroute2_pydantic_or_asyncio() -> None:
    code = (
        "import sys, fabricdoc.lab, fabricdoc.lab.holder\n"
        "print([name for name in ('pyroute2', 'pydantic', 'asyncio', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "[]\n"
