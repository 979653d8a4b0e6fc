"""Texts of several files, put together per node: the cases that folders do not show."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.dumps.files import Source
from fabricdoc.dumps.texts import FromTexts, Texts

pytestmark = pytest.mark.unit

LINK = "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev e0 \n"


def read(*files: tuple[str, str], folder: str = "d", certain: bool = False) -> FromTexts:
    texts = Texts()
    for name, text in files:
        texts.add(Source(Path("/d") / name, f"d/{name}", folder, certain), text)
    return texts.nodes()


def test_the_target_says_where_a_node_comes_from() -> None:
    assert [one.target for one in read(("x.txt", LINK)).nodes] == ["d/x.txt"]
    assert [one.target for one in read(("n1/x.txt", LINK), folder="n1", certain=True).nodes] == ["d/n1"]


def test_a_text_that_tells_nothing_names_no_node() -> None:
    found = read(("spark9.txt", "hello\n"), ("spark1.txt", LINK))
    assert [one.name for one in found.nodes] == ["spark1"]
    assert [note.kind for note in found.notes] == ["unrecognised"]


def test_a_prompt_is_weak_evidence_of_the_hostname() -> None:
    text = f"me@spark:~$ rdma link\n{LINK}me@spark:~$ hostname\nspark.lab.example\n"
    (one,) = read(("x.txt", text)).nodes
    assert (one.name, one.host.hostname) == ("spark", "spark.lab.example")


def test_facts_that_make_no_report_are_a_note() -> None:
    text = f"3: {'e' * 60}: <UP> mtu 1500\n" + LINK
    assert len(read(("x.txt", text)).nodes) == 1


def test_outputs_above_the_first_prompt_belong_to_the_file() -> None:
    found = read(("n1-rdma.txt", f"{LINK}me@other:~$ rdma link\n{LINK}"))
    assert [one.name for one in found.nodes] == ["n1"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.text("abc-_.1", min_size=1, max_size=8), st.sampled_from([LINK, "x", "", "me@h:~$ rdma link"])),
        max_size=6,
    )
)
def test_any_set_of_files_is_put_together(files: list[tuple[str, str]]) -> None:
    found = read(*files)
    assert len({one.name for one in found.nodes}) == len(found.nodes)
    assert set(found.facts) == {one.name for one in found.nodes}
