"""Hostfiles in every launcher's form, and complaints that name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import InputError
from fabricdoc.transport import NodeSpec
from fabricdoc.transport.config import Config
from fabricdoc.transport.hostfile import MAX_BYTES, read_hostfile

pytestmark = pytest.mark.unit

A, B = NodeSpec("a", "a"), NodeSpec("b", "b")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "hosts"


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a\nb\n", (A, B)),
        ("b\na", (B, A)),
        ("# two\n\n  a  # the first\n\tb\t# and the second\n", (A, B)),
        ("a\r\nb\r\n", (A, B)),
        ("a slots=8\nb slots=8 max_slots=16\n", (A, B)),
        ("a slots = 8\nb  max-slots =4 # all\n", (A, B)),
        ("a cpu=2\nb count=3\n", (A, B)),
        ("a:8\nb:1024\n", (A, B)),
        ("a:8 ifname=eth1\nb:8 binding=user:0,1\n", (A, B)),
        ("a slots=4 username=me\n", (NodeSpec("a", "a", user="me"),)),
        ("a user=me\n", (NodeSpec("a", "a", user="me"),)),
        ("a\na\na\nb\nb\n", (A, B)),
        ("n[01-02]\nn[01-02]:8\n", (NodeSpec("n01", "n01"), NodeSpec("n02", "n02"))),
        ("n[1,3],a\n", (NodeSpec("n1", "n1"), NodeSpec("n3", "n3"), A)),
        ("x=a:2222\n", (NodeSpec("x", "a:2222"),)),
        ("me@a:2222\n", (NodeSpec("a", "me@a:2222"),)),
        ("x=a slots=2\n", (NodeSpec("x", "a"),)),
        ("here=local\nnetns:4711\n", (NodeSpec("here", "local"), NodeSpec("netns-4711", "netns:4711"))),
        ("[fe80::1]:8\n", (NodeSpec("fe80--1", "[fe80::1]:8"),)),
    ],
)
def test_every_form_is_read(file: Path, text: str, wanted: tuple[NodeSpec, ...]) -> None:
    file.write_bytes(text.encode())
    assert read_hostfile(file, Config()) == wanted


def test_a_name_of_the_fabric_file_means_that_node(file: Path) -> None:
    known = NodeSpec("a", "elsewhere", python="/opt/p", ssh_config="/cfg")
    file.write_text("a slots=8\nb\n")
    wanted = (known, NodeSpec("b", "b", ssh_config="/cfg"))
    assert read_hostfile(file, Config((known,), ssh_config="/cfg")) == wanted


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a\nb c\n", 2, "can't read 'c' after the node"),
        ("a\n\n# x\nb slot5=2\n", 4, "can't read 'slot5=2'"),
        ("a slots=many\n", 1, "'many' is no number"),
        ("a slots=\n", 1, "'' is no number"),
        ("a\n-oProxyCommand=x\n", 2, "can't be a node's name"),
        ("a\nb;id\n", 2, "can't read the node"),
        ("a:2222\n", 1, "number is that of processes"),
        ("a user=-l\n", 1, "can't be a user's name"),
        ("x=a\nx=b\n", 2, "two nodes are named x: a and b"),
        ("me@a\nyou@a\n", 2, "two nodes are named a"),
        ("n[5-1]\n", 1, "backwards"),
        ("n[1-16384]\nm\n", 2, "at most 16384"),
        ("netns:7 user=me\n", 1, "only for nodes reached by ssh"),
        ("a,,b\n", 1, "empty"),
    ],
)
def test_a_complaint_names_file_and_line(file: Path, text: str, line: int, words: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        read_hostfile(file, Config())
    assert caught.value.message.startswith(f"{file}:{line}: ")


@pytest.mark.parametrize("text", ["", "\n\n", "# nobody\n"])
def test_a_file_without_a_node_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError, match="names no node"):
        read_hostfile(file, Config())


def test_what_is_no_readable_text_is_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        read_hostfile(file, Config())
    with pytest.raises(InputError, match="can't be read"):
        read_hostfile(tmp_path, Config())
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_hostfile(file, Config())
    file.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(InputError, match="longer than"):
        read_hostfile(file, Config())


@given(st.text(alphabet="ab1[]-,=:@#/ \tslotuer\n", max_size=60))
def test_any_text_is_nodes_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("any") / "hosts"
    file.write_text(text)
    try:
        nodes = read_hostfile(file, Config())
    except InputError as error:
        assert str(file) in error.message
    else:
        assert len({node.name for node in nodes}) == len(nodes) > 0
