"""The RDMA ping as a step: real probes over made-up verbs, and what links and findings say afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fabricdoc.checks import judged
from fabricdoc.errors import NodeError
from fabricdoc.fabric import rails_of, rdma_ping, rdma_talk
from fabricdoc.fabric.rdma_ping import proven_by_rdma
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, GidChoice, Link, Node
from fabricdoc.transport import NodeSpec
from tests.fabrics import hca, link, netdev, node
from tests.rdma_wire import Probes, Wires

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

A0, B1 = "alpha/hca-p0", "beta/hca-p1"
LINK_0, LINK_1 = "alpha/p0 - beta/p1", "alpha/p1 - beta/p0"


def with_hcas(name: str, ips: tuple[str, str]) -> Node:
    """A node with two ports p0 and p1, an HCA on each, and NCCL's choice of GIDs."""
    ports = [netdev(f"p{at}", ip=ip) for at, ip in enumerate(ips)]
    hcas = [hca(f"hca-p{at}", f"p{at}", ip=ip) for at, ip in enumerate(ips)]
    choices = [
        GidChoice(hca=f"hca-p{at}", port=1, index=3, gid=f"::ffff:{ip}", why="first") for at, ip in enumerate(ips)
    ]
    return node(name, netdevs=ports, hcas=hcas).model_copy(update={"nccl_gids": tuple(choices)})


def crossed() -> Fabric:
    alpha, beta = with_hcas("alpha", ("10.77.0.1", "10.77.1.1")), with_hcas("beta", ("10.77.1.2", "10.77.0.2"))
    links = (
        link(("alpha", "p0", "10.77.0.1"), ("beta", "p1", "10.77.0.2"), hca=True),
        link(("alpha", "p1", "10.77.1.1"), ("beta", "p0", "10.77.1.2"), hca=True),
    )
    return Fabric(nodes=(alpha, beta), links=links)


class Bench:
    """The step with its probes replaced; `opened` says whether any were started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wires = Wires()
        self.probes: Probes | None = None
        self.opened: list[list[str]] = []
        self.placed: list[list[tuple[str, str]]] = []
        self.down: dict[str, NodeError] = {}
        self.setup: Any = lambda probes: None
        monkeypatch.setattr(rdma_ping, "open_some", self._open)
        limits = {"wait_s": 2.0, "greet_s": 2.0, "answer_s": 2.0, "answer_each_s": 0.1, "all_s": 60.0}
        monkeypatch.setattr(rdma_talk, "ping_limit", limits.__getitem__)

    def _open(self, specs: Sequence[NodeSpec], module: str) -> tuple[Probes, dict[str, NodeError]]:
        assert module == "rdma_ping"
        self.opened.append([spec.name for spec in specs])
        self.placed.append([(spec.container, spec.image) for spec in specs])
        failed = {spec.name: self.down[spec.name] for spec in specs if spec.name in self.down}
        self.probes = Probes(self.wires, [spec.name for spec in specs if spec.name not in failed])
        self.setup(self.probes)
        return self.probes, failed

    def run(self, fabric: Fabric) -> Fabric:
        specs = [NodeSpec(one.name, "local") for one in fabric.nodes]
        found = proven_by_rdma(specs, fabric, lambda _text: None)
        assert self.wires.left == 0, "an end was left open"
        return found


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def links(fabric: Fabric) -> tuple[Link, ...]:
    assert not isinstance(fabric.links, Unknown)
    return fabric.links


def test_a_healthy_pair_is_proven_by_rdma_and_keeps_its_beacons(bench: Bench) -> None:
    found = bench.run(crossed())
    assert found.findings == ()
    for one in links(found):
        assert (one.rdma, one.proof.method, [more.method for more in one.more_proofs]) == (
            True,
            "rdma-ping",
            ["beacon"],
        )
        assert 4 <= min(one.proof.frames_a_to_b, one.proof.frames_b_to_a) <= 12
    first = links(found)[0].proof.detail
    assert first.startswith("send and write of 8 to 8192 bytes both ways, path MTU 4096, round trip ")
    assert first.endswith("GID 3 ::ffff:10.77.0.1 and GID 3 ::ffff:10.77.0.2")
    assert len(rails_of(found)) == 2


def test_the_smaller_active_mtu_is_the_path_mtu(bench: Bench) -> None:
    bench.wires.active_mtu = 1024
    assert "to 2048 bytes both ways, path MTU 1024" in links(bench.run(crossed()))[0].proof.detail


def test_without_hcas_nothing_is_started(bench: Bench) -> None:
    bare = Fabric(nodes=(node("alpha"), node("beta")), links=(link(("alpha", "p0", None), ("beta", "p1", None)),))
    assert bench.run(bare) is bare
    none = crossed().model_copy(update={"links": ()})
    assert bench.run(none) is none
    assert bench.opened == []


def test_a_port_that_is_down_is_left_out(bench: Bench) -> None:
    fabric = crossed()
    beta = fabric.nodes[1]
    assert isinstance(beta.hcas, tuple)
    down = hca("hca-p1", "p1", ip="10.77.0.2", state="DOWN")
    beta = beta.model_copy(update={"hcas": (beta.hcas[0], down)})
    found = bench.run(fabric.model_copy(update={"nodes": (fabric.nodes[0], beta)}))
    assert [one.proof.method for one in links(found)] == ["beacon", "rdma-ping"]
    assert isinstance(links(found)[0].rdma, Unknown)


def test_a_broken_path_is_an_error_and_no_rail(bench: Bench) -> None:
    bench.wires.is_lost = lambda source, target, size: A0 in (source, target)
    found = bench.run(crossed())
    (finding,) = found.findings
    assert (finding.id, finding.severity, finding.subject) == ("rdma-path-broken", "error", LINK_0)
    assert {one.file for one in finding.evidence} == {"alpha", "beta"}
    assert "IBV_WC_RETRY_EXC_ERR (12)" in finding.evidence[0].text
    assert (links(found)[0].rdma, links(found)[0].proof.method) == (False, "beacon")
    assert [rail.ports[0].netdev for rail in rails_of(found)] == ["p1"]


def test_it_outlives_the_judgement_that_follows(bench: Bench) -> None:
    bench.wires.is_lost = lambda source, target, size: A0 in (source, target)
    assert "rdma-path-broken" in {one.id for one in judged(bench.run(crossed())).findings}


def test_a_one_way_cut_names_the_direction(bench: Bench) -> None:
    bench.wires.is_lost = lambda source, target, size: source == B1
    (finding,) = bench.run(crossed()).findings
    assert (finding.id, finding.subject) == ("rdma-one-way", LINK_0)
    assert "RDMA messages of alpha arrive at beta/p1" in finding.cause
    assert "nothing that beta sends arrives at alpha/p0" in finding.cause


def test_whole_packets_that_are_lost_are_a_black_hole_with_its_direction(bench: Bench) -> None:
    bench.wires.is_lost = lambda source, target, size: source == A0 and size > 1500
    (finding,) = bench.run(crossed()).findings
    assert (finding.id, finding.subject) == ("rdma-mtu-black-hole", LINK_0)
    assert "packets of 4096 bytes are lost from alpha to beta:" in finding.cause
    assert "ip link show p0" in finding.fix and "ip link show p1" in finding.fix


@pytest.mark.parametrize(
    ("errno", "name", "words"),
    [
        (61, "ENODATA", "GID index 3 of hca-p0 is an empty slot"),
        (22, "EINVAL", "refused the connection from ::ffff:10.77.0.1 to ::ffff:10.77.0.2"),
        (110, "ETIMEDOUT", "Nobody answered ARP for ::ffff:10.77.0.2 at p0"),
        (101, "ENETUNREACH", "alpha has no way to ::ffff:10.77.0.2: p0 is down"),
    ],
)
def test_a_connection_that_is_refused_has_its_errno_named(bench: Bench, errno: int, name: str, words: str) -> None:
    bench.wires.errnos[(A0, "rtr")] = errno
    found = bench.run(crossed())
    (finding,) = found.findings
    assert (finding.id, finding.severity, finding.subject) == ("rdma-connect-failed", "error", LINK_0)
    assert f"ibv_modify_qp to RTR failed, {name} ({errno})" in finding.evidence[0].text
    assert words in finding.cause
    assert finding.fix
    assert links(found)[0].rdma is False


def test_a_node_that_cant_lock_memory_is_warned_of_and_the_link_is_not_known(bench: Bench) -> None:
    bench.wires.errnos[(A0, "open")] = 12
    found = bench.run(crossed())
    (finding,) = found.findings
    assert (finding.id, finding.severity, finding.subject) == ("rdma-setup-failed", "warning", "alpha/hca-p0")
    assert "ulimit -l" in finding.cause
    assert isinstance(links(found)[0].rdma, Unknown)
    assert links(found)[1].rdma is True
    assert len(rails_of(found)) == 2


def test_nodes_without_verbs_are_named_once_with_the_install_line(bench: Bench) -> None:
    absent = {"event": "able", "provider": "", "reasons": {"pyverbs": "No module", "libibverbs": "cannot open"}}

    def lacking(probes: Probes) -> None:
        probes.greetings = {"alpha": absent, "beta": absent}

    bench.setup = lacking
    found = bench.run(crossed())
    (finding,) = found.findings
    assert (finding.id, finding.severity, finding.subject) == ("rdma-not-tried", "info", "alpha, beta")
    assert finding.evidence[0].text == "pyverbs: No module; libibverbs: cannot open"
    assert "apt-get install libibverbs1" in finding.fix[0]
    assert {one.proof.method for one in links(found)} == {"beacon"}
    for one in links(found):
        assert isinstance(one.rdma, Unknown) and "cannot open" in one.rdma.unknown
    assert len(rails_of(found)) == 2


def test_a_node_that_does_not_start_has_failed_and_its_links_stay_as_they_were(bench: Bench) -> None:
    bench.down = {"beta": NodeError("beta: no answer from ssh in 5 s", fix="look at beta", id="node-unreachable")}
    found = bench.run(crossed())
    assert [(one.proof, one.more_proofs) for one in links(found)] == [(one.proof, ()) for one in links(crossed())]
    for one in links(found):
        assert one.rdma == Unknown(unknown="beta: no answer from ssh in 5 s")
    (finding,) = found.findings
    assert (finding.id, finding.subject, finding.fix) == ("rdma-not-tried", "beta", ("look at beta",))
    assert [(one.name, one.id, one.fix) for one in found.failed] == [("beta", "node-unreachable", "look at beta")]


def test_one_of_three_that_does_not_start_costs_only_its_own_links(bench: Bench) -> None:
    nodes = tuple(with_hcas(name, (f"10.77.0.{at}", f"10.88.{at}.1")) for at, name in enumerate("abc", start=1))
    star = tuple(link(("a", "p0", None), (other, "p0", None), kind="segment", hca=True) for other in "bc")
    bench.down = {"c": NodeError("c: down", fix="look at c")}
    found = bench.run(Fabric(nodes=nodes, links=star))
    assert [(one.a.node, one.b.node, one.rdma is True) for one in links(found)] == [("a", "b", True), ("a", "c", False)]
    assert [one.name for one in found.failed] == ["c"]


@pytest.mark.parametrize("at", ["open", "connect", "ping", "close"])
def test_a_probe_that_dies_costs_its_own_pairs_only(bench: Bench, at: str) -> None:
    def dying(probes: Probes) -> None:
        probes.dies = {"beta": at}

    bench.setup = dying
    found = bench.run(crossed())
    if at == "close":
        assert [one.rdma for one in links(found)] == [True, True]
        return
    assert all(isinstance(one.rdma, Unknown) for one in links(found))
    (finding,) = found.findings
    assert (finding.id, finding.subject) == ("rdma-not-tried", "beta")
    assert [(one.name, one.message) for one in found.failed] == [("beta", "beta: its probe ended")]


def test_a_probe_that_answers_nonsense_proves_nothing(bench: Bench) -> None:
    def lying(node: str, message: dict[str, Any]) -> dict[str, Any]:
        if node == "beta" and message["event"] == "pinged":
            return {**message, "pairs": [{"id": 0, "tests": "all passed", "laps_us": [1e300]}]}
        return message

    def set_up(probes: Probes) -> None:
        probes.edit = lying

    bench.setup = set_up
    found = bench.run(crossed())
    assert {one.proof.method for one in links(found)} == {"beacon"}
    assert all(one.rdma is not True for one in links(found))


def test_a_silent_probe_ends_with_the_deadline(bench: Bench) -> None:
    def set_up(probes: Probes) -> None:
        probes.edit = lambda node, message: None if node == "beta" and message["event"] == "opened" else message

    bench.setup = set_up
    found = bench.run(crossed())
    (finding,) = found.findings
    assert finding.subject == "beta"
    assert "did not answer in 2 s" in finding.evidence[0].text
    assert [(one.name, one.id) for one in found.failed] == [("beta", "node-timeout")]
    assert found.failed[0].message == "beta: the RDMA ping probe did not answer in 2 s"


def test_the_peer_never_chooses_the_gid_that_is_connected_to(bench: Bench) -> None:
    def lying(node: str, message: dict[str, Any]) -> dict[str, Any]:
        for pair in message.get("pairs", []):
            pair["gid"] = "::ffff:192.0.2.9"
        return message

    def set_up(probes: Probes) -> None:
        probes.edit = lying

    bench.setup = set_up
    bench.run(crossed())
    assert bench.probes is not None
    told = [
        pair["gid"] for _node, message in bench.probes.asked if message["do"] == "connect" for pair in message["pairs"]
    ]
    assert len(told) == 4 and "::ffff:192.0.2.9" not in told


def test_pairs_of_a_switch_without_a_link_of_their_own_get_one(bench: Bench) -> None:
    """Three nodes told as a star: the pair that has no link is pinged too."""
    nodes = tuple(with_hcas(name, (f"10.77.0.{at}", f"10.88.{at}.1")) for at, name in enumerate("abc", start=1))
    star = tuple(link(("a", "p0", None), (other, "p0", None), kind="segment", hca=True) for other in "bc")
    found = links(bench.run(Fabric(nodes=nodes, links=star)))
    assert [(one.a.node, one.b.node, one.kind, one.rdma) for one in found] == [
        ("a", "b", "segment", True),
        ("a", "c", "segment", True),
        ("b", "c", "segment", True),
    ]


UNKNOWN = Unknown(unknown="beacons need CAP_NET_RAW on the nodes")


def test_where_no_beacon_could_be_sent_rdma_itself_proves_links(bench: Bench) -> None:
    found = bench.run(crossed().model_copy(update={"links": UNKNOWN}))
    assert [(one.a.netdev, one.b.netdev, one.kind, one.proof.method, one.rdma) for one in links(found)] == [
        ("p0", "p1", "segment", "rdma-ping", True),
        ("p1", "p0", "segment", "rdma-ping", True),
    ]
    assert (links(found)[0].a.hca, links(found)[0].a.ip) == ("hca-p0", "10.77.0.1")
    assert [rail.proven for rail in rails_of(found)] == [True, True]


def test_where_nothing_passes_either_links_stay_unknown_and_it_is_told(bench: Bench) -> None:
    bench.wires.is_lost = lambda source, target, size: True
    found = bench.run(crossed().model_copy(update={"links": UNKNOWN}))
    assert found.links == UNKNOWN
    assert [(one.id, one.subject) for one in found.findings] == [
        ("rdma-path-broken", LINK_0),
        ("rdma-path-broken", LINK_1),
    ]


def test_a_guess_that_fails_is_no_finding_for_ports_that_meet_others(bench: Bench) -> None:
    """All four ports in one subnet over two cables: each port reaches one of two."""
    alpha, beta = with_hcas("alpha", ("10.77.0.1", "10.77.0.2")), with_hcas("beta", ("10.77.0.3", "10.77.0.4"))
    cables = ({"alpha/hca-p0", "beta/hca-p1"}, {"alpha/hca-p1", "beta/hca-p0"})
    bench.wires.is_lost = lambda source, target, size: {source, target} not in cables
    found = bench.run(Fabric(nodes=(alpha, beta), links=UNKNOWN))
    assert [(one.a.netdev, one.b.netdev) for one in links(found)] == [("p0", "p1"), ("p1", "p0")]
    assert found.findings == ()


def container_spec(target: str = "local", **more: Any) -> NodeSpec:
    return NodeSpec("alpha", target, container="vllm", image="image", python="/opt/python3", **more)


def without_verbs(fabric: Fabric) -> Fabric:
    """The hosts themselves have no libibverbs (the builders' do not tell)."""
    host = fabric.nodes[0].host.model_copy(update={"libibverbs": Unknown(unknown="libibverbs.so.1 can't be loaded")})
    return fabric.model_copy(update={"nodes": tuple(one.model_copy(update={"host": host}) for one in fabric.nodes)})


@pytest.mark.parametrize(
    "where", [{"container": "vllm"}, {"image": "vllm:1"}, {"container": "vllm", "image": "vllm:1"}]
)
def test_a_node_without_libibverbs_is_pinged_from_where_its_server_is(where: dict[str, str]) -> None:
    node = without_verbs(crossed()).nodes[0]
    for target in ("local", "me@spark1:2222"):
        assert rdma_ping.needs_server(NodeSpec("alpha", target, **where), node)
    assert not rdma_ping.needs_server(NodeSpec("alpha", "netns:1", **where), node), "another network than the host's"
    assert not rdma_ping.needs_server(NodeSpec("alpha", "local"), node)


def test_a_node_with_libibverbs_is_pinged_as_it_is(bench: Bench) -> None:
    alpha, beta = crossed().nodes
    has = alpha.model_copy(update={"host": alpha.host.model_copy(update={"libibverbs": "/usr/lib/libibverbs.so.1"})})
    assert not rdma_ping.needs_server(container_spec(), has)
    proven_by_rdma(
        [container_spec(), NodeSpec("beta", "local")],
        crossed().model_copy(update={"nodes": (has, beta)}),
        lambda _text: None,
    )
    assert bench.placed == [[("", ""), ("", "")]], "neither container nor image is asked"


def test_a_container_that_is_gone_costs_nothing_but_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def opening(specs: Sequence[NodeSpec], module: str) -> tuple[Probes, dict[str, NodeError]]:
        asked.append([spec.container for spec in specs])
        bench.down = {"alpha": NodeError("alpha: no such container")} if asked[-1][0] else {}
        return bench._open(specs, module)

    monkeypatch.setattr(rdma_ping, "open_some", opening)
    specs = [container_spec(), NodeSpec("beta", "local")]
    found = proven_by_rdma(specs, without_verbs(crossed()), lambda _text: None)
    assert asked == [["vllm", ""], ["", ""]]
    assert [one.rdma for one in links(found)] == [True, True]
