"""The real ClusterShell: its node sets mean what ours do, and a site's groups are found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.transport.config import Config
from fabricdoc.transport.nodes import parse_nodes
from fabricdoc.transport.nodesets import expand

NodeSets = pytest.importorskip("ClusterShell.NodeSet", reason="needs ClusterShell, which the dev environment installs")

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
GROUPS = """[Main]
default: lab
[lab]
map: sed -n 's/^$GROUP: //p' $CFGDIR/groups.txt
all: sed 's/^.*: //' $CFGDIR/groups.txt
list: sed 's/:.*//' $CFGDIR/groups.txt
"""
ASK = """import json, sys
from fabricdoc.errors import UsageError
from fabricdoc.transport.config import Config
from fabricdoc.transport.nodes import parse_nodes
def read(item):
    try:
        return [node.name for node in parse_nodes([item], Config())]
    except UsageError as error:
        return error.message
json.dump([read(item) for item in sys.argv[1:]], sys.stdout)
"""


def ranges(width: int) -> st.SearchStrategy[str]:
    def written(ends: tuple[int, int, int]) -> str:
        first, last, step = *sorted(ends[:2]), ends[2]
        if first == last:
            return f"{first:0{width}d}"
        return f"{first:0{width}d}-{last:0{width}d}" + (f"/{step}" if step > 1 else "")

    return st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(1, 4)).map(written)


@pytest.mark.long
@given(st.integers(2, 3), st.data())
def test_a_set_means_the_same_nodes_in_both(width: int, data: st.DataObject) -> None:
    brackets = data.draw(st.lists(st.lists(ranges(width), min_size=1, max_size=3), min_size=1, max_size=2))
    word = "n" + "x".join(f"[{','.join(parts)}]" for parts in brackets)
    assert sorted(expand(word)) == sorted(NodeSets.NodeSet(word))


@pytest.mark.parametrize(
    ("item", "names"),
    [
        ("node[1-5]!node[2-3]", ["node1", "node4", "node5"]),
        ("node[1-3],x&node2", ["node2"]),
        ("node[1-3]^node[3-4]", ["node1", "node2", "node4"]),
        ("rack[1-2]n[01-02]!rack1n01", ["rack1n02", "rack2n01", "rack2n02"]),
    ],
)
def test_operators_are_clustershells(item: str, names: list[str]) -> None:
    assert sorted(node.name for node in parse_nodes([item], Config())) == names


@pytest.mark.parametrize(
    ("item", "words"),
    [("node1!node1", "no node is left"), ("node[1-x]!node1", "does not know"), ("n[1-99999]!n1", "at most")],
)
def test_what_it_refuses_is_a_usage_error(item: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_nodes([item], Config())


@pytest.mark.long
def test_a_sites_groups_wildcards_and_operators(tmp_path: Path) -> None:
    (tmp_path / "groups.conf").write_text(GROUPS)
    (tmp_path / "groups.txt").write_text("compute: node[01-04]\ngpu: node[03-04],gpu1\n")
    items = ["@compute", "@lab:gpu,z", "@compute!@gpu", "@compute&@gpu", "node*!node01", "gpu?!node01", "@nobody"]
    env = {**os.environ, "CLUSTERSHELL_CFGDIR": str(tmp_path), "PYTHONPATH": ":".join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", ASK, *items], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    *found, nobody = json.loads(done.stdout)
    assert found == [
        ["node01", "node02", "node03", "node04"],
        ["gpu1", "node03", "node04", "z"],
        ["node01", "node02"],
        ["node03", "node04"],
        ["node02", "node03", "node04"],
        ["gpu1"],
    ]
    assert "@nobody" in nobody
