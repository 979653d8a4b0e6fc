"""A malformed profile is one line that names the file and the place in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.errors import InputError
from fabricdoc.serving import load_profile, read_profile
from fabricdoc.serving.reading import parse_profile

pytestmark = pytest.mark.unit

GOOD = """
name = "p"
summary = "s"
source = "t"
[decode]
rows = 1
[[decode.collectives]]
role = "r"
op = "all_reduce"
count = 3
size = 20480
send_bytes = 20480
[[decode.collectives]]
role = "g"
op = "all_gather"
count = 2
size = 4096
send_bytes = 1024
[prefill]
rows = 1
"""


def test_totals_are_computed() -> None:
    totals = parse_profile(GOOD, "x").decode.totals
    assert totals.model_dump() == {
        "collectives": 5, "all_reduce": 3, "all_gather": 2, "all_reduce_bytes": 61440, "all_gather_bytes": 8192,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('op = "all_reduce"', 'op = "gather"', r"decode\.collectives\[0\]\.op: "),
        ("count = 3", 'count = "many"', r"decode\.collectives\[0\]\.count: "),
        ("count = 3", "count = 0", r"decode\.collectives\[0\] \(r\): count, size and send_bytes must be"),
        ("size = 20480\n", "", r"decode\.collectives\[0\]\.size: Field required"),
        ("count = 3", "count = 3\nspeed = 9", r"decode\.collectives\[0\]\.speed: Extra inputs"),
        ("send_bytes = 20480", "send_bytes = 10240", r"\(r\): an all_reduce sends its message"),
        ("send_bytes = 1024", "send_bytes = 1000", r"collectives\[1\] \(g\): an all_gather's size is send_bytes x"),
        ("send_bytes = 1024", "send_bytes = 4096", r"collectives\[1\] \(g\): an all_gather's size is send_bytes x"),
        ("[decode]\nrows = 1", '[decode]\nrows = "x"', r"decode\.rows: "),
        ('name = "p"', "", r"name: Field required"),
        ('name = "p"', 'name = "p"\nschema = "fabricdoc/run/1"', r"schema is 'fabricdoc/run/1'"),
        ('name = "p"', 'name = "p', r"line 2"),
        ("[prefill]\nrows = 1", "", r"prefill: Field required"),
        ("[prefill]\nrows = 1", "[prefill]\nrows = 1\ncollectives = 3", r"prefill\.collectives: "),
        ("rows = 1\n[[", "rows = 1\ntotals = {collectives = 4}\n[[", r"decode\.totals does not match"),
        ("[prefill]", "[[captured]]\nrows = 1\n[prefill]", r"captured\[0\]\.batch: Field required"),
        ("[prefill]", "[[captured]]\nrows = 1\nbatch = 1\ntotals = 3\n[prefill]", r"captured\[0\]\.totals does not"),
        ('name = "p"', 'name = "p"\ncaptured = 3', r"captured: Input should be a valid tuple"),
        ("count = 3", "count = 2000000", r"decode\.collectives\[0\] \(r\): more than 1000000 calls"),
        (
            "size = 20480\nsend_bytes = 20480",
            "size = 9000000000000\nsend_bytes = 9000000000000",
            "or 1099511627776 byte",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, old: str, new: str, place: str) -> None:
    path = tmp_path / "bad.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError, match=place) as caught:
        read_profile(path)
    assert str(path) in caught.value.message
    assert caught.value.fix
    assert "\n" not in caught.value.message


def test_the_printed_document_can_be_read_again(tmp_path: Path) -> None:
    profile = load_profile("qwen3.8-flash-next-tp2")
    path = tmp_path / "printed.json"
    path.write_text(profile.model_dump_json())
    assert load_profile(path) == profile


def test_a_printed_document_with_a_touched_count_is_refused(tmp_path: Path) -> None:
    content = json.loads(load_profile("dense-small-tp2").model_dump_json())
    content["decode"]["collectives"][0]["count"] = 2
    path = tmp_path / "touched.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="totals does not match"):
        load_profile(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00\x01"])
def test_bytes_that_are_no_text_are_an_input_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=str(path)):
        read_profile(path)


def test_a_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Is a directory"):
        read_profile(tmp_path)


@pytest.mark.parametrize("text", ["[]", "3", "null", '"x"'])
def test_json_of_another_form_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match="no table of keys"):
        parse_profile(text, "x.json", is_json=True)


@pytest.mark.long
@settings(deadline=None)
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["decode", "prefill", "collectives", "totals", "rows", "name", "size"]), inner, max_size=4),
    max_leaves=12))  # fmt: skip
def test_no_json_at_all_ends_in_anything_but_a_profile_or_an_input_error(content: object) -> None:
    with pytest.raises(InputError):
        parse_profile(json.dumps(content), "x.json", is_json=True)
