"""Quoting that several writers share, read by real shells and a YAML library."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.export.quoting import shell, yaml
from tests.unit.export import readers

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", readers.SHELLS)
def test_a_word_stays_a_word(name: str, tmp_path: Path) -> None:
    words = ["=ls", "it's", "''", '"$HOME`id`"', "a;b", "", "~", "* ? [x]", "\\", "a\nb"]
    assert readers.shell_words(name, " ".join(shell(word) for word in words), tmp_path) == words


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_yaml_text_stays_text(text: str) -> None:
    assert readers.yaml_reads(f"a: {yaml(text)}") == {"a": text}


@pytest.mark.parametrize("text", ["1", "yes", "null", "0x10", "1e3", "", "a: b", "- x", "#x", "&a", "*a", "!x", "%x"])
def test_yaml_makes_nothing_else_of_it(text: str) -> None:
    assert readers.yaml_reads(yaml(text)) == text
