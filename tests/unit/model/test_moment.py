"""The time of documents: UTC to the second, and loaded without any model."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from fabricdoc.model import documents
from fabricdoc.model.moment import utc_now

pytestmark = pytest.mark.unit


def test_utc_with_seconds_as_every_document_has_it() -> None:
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", utc_now())
    assert documents.utc_now is utc_now


def test_it_loads_no_models() -> None:
    code = "import sys; from fabricdoc.model.moment import utc_now; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
