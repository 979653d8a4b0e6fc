"""`fabricdoc init`: which hosts become nodes, what the file says, and that no file is ever lost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.cli import main
from fabricdoc.errors import InputError, UsageError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, FailedNode, Node
from fabricdoc.model.netdev import Address, Neighbour
from fabricdoc.transport import NodeSpec, Peer, load_config
from fabricdoc.workflow import after_init, check_absent, config_text, find_nodes, write_config
from fabricdoc.workflow.starting import Found, fabric_networks, neighbours_of
from tests.fabrics import crossed_pair, hca

pytestmark = pytest.mark.unit

NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,20}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=20).filter(
    lambda text: not text.startswith("-")
)


def machine(name: str, *, boot: str, hcas: bool = True) -> Node:
    one = crossed_pair().nodes[0]
    host = one.host.model_copy(update={"boot_id": boot})
    return one.model_copy(update={"name": name, "host": host, "hcas": (hca("rocep1s0f0", "p0"),) if hcas else ()})


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> dict[str, Node | str]:
    """Targets and what answers there: a node, or the id of a failure."""
    answers: dict[str, Node | str] = {"local": machine("here", boot="b0")}

    def scan(specs: Sequence[NodeSpec]) -> Fabric:
        nodes, failed = [], []
        for spec in specs:
            said = answers.get(spec.target, "node-unreachable")
            if isinstance(said, Node):
                nodes.append(said.model_copy(update={"name": spec.name, "target": spec.target}))
            else:
                message = f"{spec.name}: no"
                failed.append(FailedNode(name=spec.name, target=spec.target, id=said, message=message, fix="mend it"))
        return Fabric(nodes=tuple(nodes), failed=tuple(failed), links=Unknown(unknown="not asked"))

    monkeypatch.setattr("fabricdoc.workflow.starting.scan", scan)
    monkeypatch.setattr("fabricdoc.workflow.starting.socket.gethostname", lambda: "here")
    monkeypatch.setattr("fabricdoc.workflow.starting.hosts_of", lambda _path, _networks: ())
    monkeypatch.setattr("fabricdoc.workflow.starting.announced_peers", lambda _netdevs: ())
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.delenv("SLURM_JOBID", raising=False)
    return answers


def known(monkeypatch: pytest.MonkeyPatch, *targets: str) -> None:
    peers = tuple(Peer(target, "known_hosts") for target in targets)
    monkeypatch.setattr("fabricdoc.workflow.starting.known_peers", lambda _folder, _system: peers)


def names(found: Found) -> list[str]:
    return [node.name for node in found.nodes]


def test_hosts_that_answer_with_an_hca_are_nodes(world: dict[str, Node | str], monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, "spark2", "nas", "off", "new", "spark2.lan")
    world |= {
        "spark2": machine("x", boot="b2"),
        "spark2.lan": machine("x", boot="b2"),
        "nas": machine("x", boot="b3", hcas=False),
        "new": "ssh-host-unknown",
    }
    found = find_nodes((), lambda _text: None)
    assert found.nodes == (NodeSpec("here", "local"), NodeSpec("spark2", "spark2"))
    assert found.remarks == (
        "nas (known_hosts): has no HCA",
        "spark2.lan (known_hosts): is a machine of another name above",
        "new: no (known_hosts); mend it",
    )


def test_a_machine_that_only_asks_is_no_node(world: dict[str, Node | str], monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, "spark1")
    world |= {"local": machine("x", boot="b0", hcas=False), "spark1": machine("x", boot="b1")}
    assert names(find_nodes((), lambda _text: None)) == ["spark1"]


def test_nobody_found_leaves_this_machine(world: dict[str, Node | str], monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch)
    world["local"] = machine("x", boot="b0", hcas=False)
    assert names(find_nodes((), lambda _text: None)) == ["here"]


def test_named_nodes_are_kept_as_they_are(world: dict[str, Node | str], monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, "spark2")
    world["spark2"] = machine("x", boot="b2")
    named = (NodeSpec("far", "far.example.com", python="/opt/p"), NodeSpec("spark2", "me@spark2:22"))
    assert find_nodes(named, lambda _text: None).nodes == (NodeSpec("here", "local"), *named)


@pytest.mark.parametrize("own", [NodeSpec("me", "local"), NodeSpec("here", "10.0.0.1")])
def test_this_machine_is_written_once_where_it_is_named(
    world: dict[str, Node | str], monkeypatch: pytest.MonkeyPatch, own: NodeSpec
) -> None:
    known(monkeypatch, "spark2")
    world["spark2"] = machine("x", boot="b2")
    assert find_nodes((own,), lambda _text: None).nodes == (own, NodeSpec("spark2", "spark2"))


def test_every_place_that_names_a_host_is_looked_at_and_named_in_the_remark(
    world: dict[str, Node | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch, "spark1")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[1-2]")
    own = machine("x", boot="b0")
    world["local"] = own.model_copy(update={"neighbours": (Neighbour(ip="10.0.0.9", netdev="p0", state="stale"),)})
    place = "fabricdoc.workflow.starting."
    monkeypatch.setattr(place + "hosts_of", lambda path, _networks: (Peer("spark3", path.name),))
    monkeypatch.setattr(place + "announced_peers", lambda netdevs: (Peer("169.254.1.2", f"mDNS on {min(netdevs)}"),))
    for target in ("node1", "node2", "spark1", "spark3", "169.254.1.2", "10.0.0.9"):
        world[target] = "ssh-permission"
    remarks = find_nodes((), lambda _text: None).remarks
    assert [remark.partition(";")[0] for remark in remarks] == [
        "node1: no (the Slurm job)",
        "node2: no (the Slurm job)",
        "spark1: no (known_hosts)",
        "spark3: no (hosts)",
        "169.254.1.2: no (mDNS on p0)",
        "10.0.0.9: no (neighbour on p0)",
    ]


@pytest.mark.long
def test_a_flood_of_neighbours_is_asked_in_part_and_does_not_push_out_the_known(
    world: dict[str, Node | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch, *(f"spark{number}" for number in range(200)))
    rows = tuple(
        Neighbour(ip=f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}", netdev="p0", state="reachable") for n in range(100_000)
    )
    world["local"] = machine("x", boot="b0").model_copy(update={"neighbours": rows})
    world["spark100"], world["10.0.0.100"] = machine("x", boot="b1"), machine("x", boot="b2")
    begun = time.monotonic()
    found = find_nodes((), lambda _text: None)
    assert time.monotonic() - begun < 5
    assert names(found) == ["here", "spark100", "10.0.0.100"]
    assert found.remarks[-1].startswith(f"{100_000 + 200 - 256} more hosts are near and were not asked")


def test_hostile_names_of_netdevs_and_addresses_come_to_nothing(
    world: dict[str, Node | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch)
    odd = 'p0";\x1b[31m\n#'
    own = machine("x", boot="b0").model_copy(update={"hcas": (hca("rocep1s0f0", odd),)})
    rows = tuple(
        Neighbour(ip=ip, netdev=odd, state="stale")
        for ip in ("fe80::1", "-oProxyCommand=x", "10.0.0.2\n[ssh]", "'", "10.0.0.3")
    )
    world["local"] = own.model_copy(update={"neighbours": rows})
    world["10.0.0.3"] = "ssh-host-unknown"
    found = find_nodes((), lambda _text: None)
    text = config_text(found)
    assert names(found) == ["here"]
    assert [line for line in text.splitlines() if "10.0.0.3" in line] == [
        '# 10.0.0.3: no (neighbour on p0";?[31m?#); mend it'
    ]


def test_the_networks_of_a_fabric_are_those_of_its_ports_and_none_that_holds_everything() -> None:
    node = crossed_pair().nodes[0].model_copy(update={"hcas": (hca("rocep1s0f0", "p0"),)})
    assert [str(network) for network in fabric_networks(node)] == ["10.77.0.0/24"]
    assert fabric_networks(node.model_copy(update={"netdevs": Unknown(unknown="x")})) == []
    assert fabric_networks(node.model_copy(update={"hcas": Unknown(unknown="x")})) == []
    wide = node.netdevs[0].model_copy(update={"addresses": (Address(ip="10.0.0.1", prefix=0, family="ipv4"),)})
    assert fabric_networks(node.model_copy(update={"netdevs": (wide,)})) == []


def test_what_is_no_text_is_not_written(tmp_path: Path) -> None:
    node = NodeSpec("a", "a", python="/opt/\udcff")
    with pytest.raises(UsageError, match="no UTF-8"):
        write_config(tmp_path / "fabric.toml", config_text(Found((node,), ())), force=False)
    assert list(tmp_path.iterdir()) == []


def test_neighbours_count_on_ports_of_hcas_and_while_they_live() -> None:
    node, port = machine("a", boot="b"), "p0"
    rows = (
        Neighbour(ip="10.0.0.2", netdev=port, state="stale"),
        Neighbour(ip="fe80::2", netdev=port, state="REACHABLE"),
        Neighbour(ip="10.0.0.3", netdev=port, state="failed"),
        Neighbour(ip="10.0.0.4", netdev="docker0", state="reachable"),
    )
    found = neighbours_of(node.model_copy(update={"neighbours": rows}))
    assert [peer.target for peer in found] == ["10.0.0.2", f"[fe80::2%{port}]"]
    assert list(neighbours_of(node.model_copy(update={"neighbours": Unknown(unknown="x")}))) == []


@pytest.mark.long
@given(
    st.lists(
        st.builds(
            NodeSpec,
            name=NAMES,
            target=NAMES.filter(lambda host: host != "local"),
            python=TEXTS,
            role=st.sampled_from(["", "head", "worker"]),
            image=TEXTS,
            container=TEXTS,
            ports=st.lists(TEXTS, max_size=3).map(tuple),
            env=st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), TEXTS, max_size=3),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda node: node.name,
    ),
    st.lists(st.text(max_size=40), max_size=3),
)
def test_the_file_reads_back_as_the_nodes_written(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[NodeSpec], remarks: list[str]
) -> None:
    file = tmp_path_factory.mktemp("any") / "fabric.toml"
    write_config(file, config_text(Found(tuple(nodes), tuple(remarks))), force=False)
    assert load_config(file).nodes == tuple(nodes)


def test_nodes_that_gateways_lead_to_keep_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, gateway = tmp_path / "fabric.toml", NodeSpec("gw1", "gw1")
    file.write_text("[clustershell]\ntree = true\ntopology = 'mine/topology.conf'\n")
    node = NodeSpec("n1", "n1", via=((gateway,),))
    write_config(file, config_text(Found((node,), ())), force=True)
    assert (load_config(file).tree, load_config(file).topology) == (True, str(tmp_path / "mine/topology.conf"))
    write_config(file, config_text(Found((gateway,), ())), force=True)
    assert not load_config(file).tree


def test_a_file_that_is_there_is_never_lost_but_by_force(tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text("mine")
    for act in (lambda: check_absent(file, force=False), lambda: write_config(file, "x", force=False)):
        with pytest.raises(UsageError, match="there already") as caught:
            act()
        assert "--force" in caught.value.fix
    assert file.read_text() == "mine"
    write_config(file, "new", force=True)
    assert file.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["fabric.toml"]
    with pytest.raises(InputError, match="can't be written"):
        write_config(tmp_path / "absent" / "fabric.toml", "x", force=False)


@pytest.mark.usefixtures("world")
def test_the_command_shows_what_it_wrote_and_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known(monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    said = capsys.readouterr()
    assert said.out == (tmp_path / "fabric.toml").read_text()
    assert 'name = "here"' in said.out
    assert "fabricdoc init --force --nodes local,OTHER_HOST" in said.err
    assert main(["init"]) == 2
    assert main(["init", "--force", "--json"]) == 0
    assert '"files"' in capsys.readouterr().out


def test_what_follows_is_a_scan_of_two_nodes_and_with_one_its_other_end() -> None:
    one, two = NodeSpec("vm", "local"), NodeSpec("spark-b", "192.0.2.7")
    assert after_init(Found((one, two), ()))[0] == "fabricdoc scan"
    assert after_init(Found((one,), ()))[0] == "fabricdoc init --force --nodes local,OTHER_HOST"
