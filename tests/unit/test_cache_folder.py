"""Where the user's cache is."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc import files
from fabricdoc.files import cache_folder

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("given", "home", "wanted"),
    [
        ("/x", "/h", "/x/fabricdoc"),
        ("", "/h", "/h/.cache/fabricdoc"),
        ("relative", "/h", "/h/.cache/fabricdoc"),
        ("/x", None, "/x/fabricdoc"),
        ("", None, None),
    ],
)
def test_the_cache_folder(given: str, home: str | None, wanted: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    monkeypatch.setattr(files, "home_folder", lambda: Path(home) if home else None)
    assert cache_folder() == (Path(wanted) if wanted else None)
