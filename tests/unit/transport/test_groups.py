"""Groups: names checked before ClusterShell sees them, and one clear line where it is not there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.transport.config import Config
from fabricdoc.transport.groups import expression_nodes, group_nodes, is_expression, is_group
from fabricdoc.transport.nodes import parse_nodes

pytestmark = pytest.mark.unit

GROUPS = {
    "@compute": ["node1", "node2"],
    "@slurm:gpu": ["gpu1"],
    "@empty": [],
    "@huge": [f"n{number}" for number in range(16385)],
    "@odd": ["a;b"],
}


class NodeSetError(Exception):
    """Stands for ClusterShell's NodeSetException."""


class FakeNodeSet:
    """What this room uses of ClusterShell.NodeSet.NodeSet."""

    asked: list[str] = []

    def __init__(self, word: str) -> None:
        self.asked.append(word)
        if word == "@no:source":
            raise LookupError("no")
        if word not in GROUPS:
            raise NodeSetError(f"unknown group {word}")
        self._names = GROUPS[word]

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


@pytest.fixture
def clustershell(monkeypatch: pytest.MonkeyPatch) -> None:
    package, sets, utils = (ModuleType(f"ClusterShell{part}") for part in ("", ".NodeSet", ".NodeUtils"))
    sets.NodeSet, sets.NodeSetException = FakeNodeSet, NodeSetError  # type: ignore[attr-defined]
    utils.GroupResolverError, utils.GroupSourceError = LookupError, RuntimeError  # type: ignore[attr-defined]
    for module in (package, sets, utils):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(FakeNodeSet, "asked", [])


@pytest.mark.usefixtures("clustershell")
def test_a_group_is_its_nodes_among_others() -> None:
    names = [node.name for node in parse_nodes(["@compute,node9", "@slurm:gpu"], Config())]
    assert names == ["node1", "node2", "node9", "gpu1"]


@pytest.mark.usefixtures("clustershell")
@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("@nobody", "unknown group"),
        ("@no:source", "does not know it"),
        ("@empty", "no nodes"),
        ("@huge", "at most 16384"),
        ("@odd", "can't read the node"),
    ],
)
def test_a_group_that_can_not_be_used(word: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_nodes([word], Config())
    assert caught.value.fix


@pytest.mark.usefixtures("clustershell")
@pytest.mark.parametrize("word", ["@", "@a b", "@$(id)", "@a;id", "@-x", "@a:b:c", "@'", "@a\n"])
def test_a_name_that_a_sites_command_could_stumble_on_never_gets_there(word: str) -> None:
    with pytest.raises(UsageError, match="can't be a group's name"):
        group_nodes(word)
    assert FakeNodeSet.asked == []


@given(st.text(max_size=20))
def test_only_plain_words_pass(text: str) -> None:
    if is_group("@" + text) and not text.replace(":", "").replace("*", "").isidentifier():
        with pytest.raises(UsageError):
            group_nodes("@" + text)


@pytest.mark.usefixtures("clustershell")
def test_a_set_with_operators_is_handed_over_whole_and_others_are_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GROUPS, "node[1-3],x!node2,@gpu", ["node1", "node3", "x"])
    names = [node.name for node in parse_nodes(["z2,z1", "node[1-3],x!node2,@gpu"], Config())]
    assert names == ["z2", "z1", "node1", "node3", "x"]
    assert FakeNodeSet.asked == ["node[1-3],x!node2,@gpu"]


@pytest.mark.usefixtures("clustershell")
@pytest.mark.parametrize(
    "item",
    [
        "a!$(id)",
        "a!@b;c",
        "@a b&c",
        "me@n1!n2",
        "n=a!b",
        "a!",
        "!a",
        "a&&b",
        "a!`x`",
        "a!'b'",
        "@-x!a",
        "a\n!b",
        "a&b:1",
        "a!b\x00",
    ],
)
def test_an_expression_that_a_sites_command_could_stumble_on_never_gets_there(item: str) -> None:
    with pytest.raises(UsageError, match="can't stand in a node set"):
        parse_nodes([item], Config())
    assert FakeNodeSet.asked == []


def test_a_namespaces_file_is_no_expression() -> None:
    assert not is_expression("a=netns:/run/x*y")
    assert [node.target for node in parse_nodes(["a=netns:/run/x*y"], Config())] == ["netns:/run/x*y"]
    assert not is_expression("node[1-3],@gpu")


@given(st.text(max_size=20))
def test_only_names_sets_and_groups_pass(text: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_.*?\[\],/@:!&^ -]*", text):
        with pytest.raises(UsageError):
            expression_nodes(f"a!{text}")


def test_without_clustershell_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ClusterShell.NodeSet", None)
    with pytest.raises(UsageError, match="ClusterShell's, which can't be imported") as caught:
        parse_nodes(["@compute"], Config())
    assert f"{sys.executable} -m pip install ClusterShell" in caught.value.fix
    with pytest.raises(UsageError, match=r"`!`, `&`, `\^`, `\*` and `\?` are ClusterShell's, which can't") as caught:
        parse_nodes(["node[1-9]!node3"], Config())
    assert f"{sys.executable} -m pip install ClusterShell" in caught.value.fix


def test_sets_need_no_clustershell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ClusterShell.NodeSet", None)
    assert [node.name for node in parse_nodes(["node[1-2]"], Config())] == ["node1", "node2"]
