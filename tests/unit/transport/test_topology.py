"""ClusterShell's topology.conf, read by the real ClusterShell: the ways are those that its own router takes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fabricdoc.errors import InputError, UsageError
from fabricdoc.transport import Config, NodeSpec, as_configured, load_config, parse_nodes, read_hostfile
from fabricdoc.transport import topology as module
from fabricdoc.transport.topology import routed, topology_ways

pytestmark = pytest.mark.unit

Topology = pytest.importorskip("ClusterShell.Topology", reason="needs ClusterShell, which the dev environment installs")

ROOT = os.uname().nodename.partition(".")[0]
TREE = f"""
[routes]
{ROOT}: gw[1-2],login
gw[1-2]: n[001-128],sub[1-2]
sub[1-2]: far[1-40]
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return written(tmp_path, TREE)


def written(folder: Path, text: str, toml: str = "") -> Config:
    (folder / "topology.conf").write_text(text)
    (folder / "fabric.toml").write_text(f'[clustershell]\ntree = true\ntopology = "topology.conf"\n{toml}')
    return load_config(folder / "fabric.toml")


def ways(nodes: tuple[NodeSpec, ...]) -> dict[str, list[list[str]]]:
    return {node.name: [[gateway.name for gateway in level] for level in node.via] for node in nodes}


def test_every_node_gets_the_gateways_before_it(config: Config) -> None:
    assert ways(parse_nodes(["n007,far3,gw1,login,elsewhere,local"], config)) == {
        "n007": [["gw1", "gw2"]],
        "far3": [["gw1", "gw2"], ["sub1", "sub2"]],
        "gw1": [],
        "login": [],
        "elsewhere": [],
        "local": [],
    }


def test_clustershells_own_router_goes_the_same_way(config: Config) -> None:
    propagation = pytest.importorskip("ClusterShell.Propagation")
    tree = Topology.TopologyParser(config.topology).tree(ROOT)
    found = topology_ways(config)
    for host, levels in found.items():
        if host == ROOT:
            continue
        at = ROOT
        for level in levels:
            at = str(propagation.PropagationTreeRouter(at, tree).next_hop(host))
            assert at in level.split(",")
        assert str(propagation.PropagationTreeRouter(at, tree).next_hop(host)) == host
    assert len(found) == 1 + 3 + 128 + 2 + 40


def test_many_nodes_share_one_way(config: Config) -> None:
    nodes = parse_nodes(["n[001-128]"], config)
    assert len({id(node.via) for node in nodes}) == 1


def test_a_host_counts_whatever_its_user_port_and_name(config: Config) -> None:
    (node,) = parse_nodes(["mine=me@n001:2222"], config)
    assert ways((node,)) == {"mine": [["gw1", "gw2"]]} and node.target == "me@n001:2222"


def test_a_gateway_is_what_the_file_says_of_it(tmp_path: Path) -> None:
    tables = '[ssh]\nconfig = "mine"\n[[node]]\nname = "gw1"\nuser = "me"\npython = "/opt/python3"\n'
    (node,) = parse_nodes(["n001"], written(tmp_path, TREE, tables))
    first, second = node.via[0]
    assert (first.where.user, first.python) == ("me", "/opt/python3")
    assert (second.where.user, second.python, second.ssh_config) == ("", "python3", str(tmp_path / "mine"))


def test_the_files_own_nodes_a_hostfile_and_a_preset_are_routed(tmp_path: Path) -> None:
    config = written(tmp_path, TREE, '[[node]]\nname = "n[001-002]"\n')
    assert all(node.via for node in parse_nodes([], config))
    (tmp_path / "hosts").write_text("n003 slots=8\nfar1\nx\n")
    assert [len(node.via) for node in read_hostfile(tmp_path / "hosts", config)] == [1, 2, 0]
    assert as_configured(NodeSpec("n001", "n001"), config).via and as_configured(NodeSpec("n9", "far2"), config).via


def test_what_no_ssh_leads_to_has_no_gateway(config: Config) -> None:
    nodes = (NodeSpec("n001", "netns:1"), NodeSpec("n002", "docker:vllm"), NodeSpec("n003", "docker:n003/vllm"))
    assert [len(node.via) for node in routed(nodes, config)] == [0, 0, 1]
    assert routed((NodeSpec(ROOT, ROOT),), config)[0].via == ()


def test_without_tree_nothing_is_read() -> None:
    assert routed((NodeSpec("n001", "n001"),), Config(topology="/no/where"))[0].via == ()


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    first = parse_nodes(["n001"], written(tmp_path, TREE))
    second = parse_nodes(["n001"], written(tmp_path, TREE.replace("gw[1-2]", "gate[1-3]")))
    assert (len(first[0].via[0]), len(second[0].via[0])) == (2, 3)


def test_without_a_topology_it_says_what_to_write_and_whom_that_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(module, "is_file", lambda _path: False)
    (tmp_path / "fabric.toml").write_text("[clustershell]\ntree = true\n")
    with pytest.raises(
        InputError, match=r"fabric\.toml: tree = true, and ClusterShell has no topology\.conf"
    ) as caught:
        parse_nodes(["n001"], load_config(tmp_path / "fabric.toml"))
    assert f"{tmp_path}/none/topology.conf" in caught.value.message
    assert "gateways that you trust as yourself" in caught.value.fix


def test_clustershells_own_place_is_found_the_last_one_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    written(tmp_path, TREE)
    (tmp_path / "fabric.toml").write_text("[clustershell]\ntree = true\n")
    assert parse_nodes(["n001"], load_config(tmp_path / "fabric.toml"))[0].via


def test_without_clustershell_one_line_says_what_to_do(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    module._ways.cache_clear()
    monkeypatch.setitem(sys.modules, "ClusterShell.Topology", None)
    with pytest.raises(UsageError, match="needs ClusterShell, which can't be imported here") as caught:
        parse_nodes(["n001"], config)
    assert f"{sys.executable} -m pip install ClusterShell" in caught.value.fix


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "can't make a tree"),
        ("[routes]\n", "No route found"),
        ("[routes]\nother: gw1\ngw1: n001\n", "is not a valid root node"),
        (f"[routes]\n{ROOT}: gw1\ngw1: {ROOT}\n", "Loop detected"),
        (f"[routes]\n{ROOT}: gw[1-\n", "can't make a tree"),
        (f"[routes]\n{ROOT}: gw1\n{ROOT}: gw2\n", "can't make a tree"),
        ("nothing of the kind", "can't make a tree"),
        (f"[routes]\n{ROOT}: gw1\ngw1: n[1-20000]\n", "at most"),
        (f"[routes]\n{ROOT}: g1\n" + "".join(f"g{n}: g{n + 1}\n" for n in range(1, 12)), "more than 8 levels"),
    ],
)
def test_a_file_that_is_no_tree_is_refused_in_words(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_nodes(["n001"], written(tmp_path, text))
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", ["-oProxyUseFdpass", "me@gw1", "$(x)", "gw;x", "x" * 64])
def test_a_gateway_that_ssh_must_not_see_is_refused_with_its_file(name: str, tmp_path: Path) -> None:
    config = written(tmp_path, f"[routes]\n{ROOT}: {name}\n{name}: n001\n")
    with pytest.raises(UsageError, match=r"topology\.conf") as caught:
        parse_nodes(["n001"], config)
    assert caught.value.fix


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = Config(tree=True, topology=str(tmp_path / "none.conf"))
    with pytest.raises(InputError, match=r"none\.conf can't be read"):
        parse_nodes(["n001"], config)
