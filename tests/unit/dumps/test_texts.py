"""Texts of several files, put together per node: the cases that folders do not show."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.dumps.files import Source
from fabricdoc.dumps.texts import FromTexts, Texts
from fabricdoc.model.documents import Unknown

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


@pytest.mark.long
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
    assert set(found.facts) == set(found.sources) == {one.name for one in found.nodes}

    assert set(found.facts) == {one.name for one in found.nodes}

    assert set(found.facts) == {one.name for one in found.nodes}


def test_two_hosts_in_one_file_are_two_nodes() -> None:
    text = f"me@n1:~$ rdma link\n{LINK}me@n2:~$ rdma link\n{LINK}"
    found = read(("session.log", text))
    assert [(one.name, one.host.hostname) for one in found.nodes] == [("n1", "n1"), ("n2", "n2")]
    assert [one.target for one in found.nodes] == ["d/session.log"] * 2


def test_a_folder_that_names_nodes_wins_over_one_prompt_and_not_over_two() -> None:
    one = f"me@other:~$ rdma link\n{LINK}"
    assert [node.name for node in read(("n1/x.txt", one), folder="n1", certain=True).nodes] == ["n1"]
    both = f"{one}me@third:~$ rdma link\n{LINK}"
    assert [node.name for node in read(("n1/x.txt", both), folder="n1", certain=True).nodes] == ["other", "third"]


def test_two_files_of_one_node_are_put_together_and_their_contradictions_named() -> None:
    down = LINK.replace("ACTIVE", "DOWN")
    found = read(("n1-rdma.txt", LINK), ("n1-ip.txt", "2: e0: <UP> mtu 9000\n"), ("n1_rdma_link.txt", down))
    (one,) = found.nodes
    assert not isinstance(one.netdevs, Unknown) and one.netdevs[0].mtu == 9000
    assert [note.kind for note in found.notes] == ["contradiction"]
    assert "port mlx5_0 1 state is DOWN here and ACTIVE in d/n1-rdma.txt:1" in found.notes[0].message


def test_names_are_bounded() -> None:
    found = read((f"{'n' * 200}-rdma.txt", LINK))
    assert [len(one.name) for one in found.nodes] == [100]


def test_every_fact_has_its_file_and_line() -> None:
    found = read(("a-rdma.txt", f"\n\n{LINK}"))
    place = found.facts["a"].places["port", "mlx5_0", 1, "state"]
    assert (place.file, place.line) == ("d/a-rdma.txt", 3)
