"""What a quick gate looks at: which nodes and ports, with which variables, and what is left out when time is short."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from fabricdoc import fabric as fabric_room
from fabricdoc.errors import UsageError
from fabricdoc.fabric import at_most
from fabricdoc.gate import Floors
from fabricdoc.model.delivery import Delivery
from fabricdoc.model.fabric import Counters, Fabric, FailedNode, Gpu, Tenant
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import Gate, Level
from fabricdoc.model.preset import Fingerprint, Line, NodePreset, NodePrint, PortPrint, Preset
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow import delivering, gate_looking, gate_ports
from fabricdoc.workflow.checking import Asked
from fabricdoc.workflow.delivering import read_where
from fabricdoc.workflow.gate_looking import gate_nodes, look_quickly, standing, with_variables
from tests import fabrics

pytestmark = pytest.mark.unit


def preset(*netdevs: str) -> Preset:
    words = dict.fromkeys(("run", "objective", "choice", "reason", "exercised"), "")
    lines = (Line(name="NCCL_NET", value="IB", kind="placed", evidence=""),)
    nodes = tuple(NodePreset(name=n, target=f"user@{n}", python="/opt/py", lines=lines) for n in ("alpha", "beta"))
    ports = tuple(PortPrint(netdev=n, hca=None, mac="m", mtu=1, speed_mbps=1) for n in netdevs or ("p0",))
    facts = dict.fromkeys(("hostname", "kernel", "torch", "nccl", "nvidia_driver"), "x")
    prints = (NodePrint.model_validate({"name": "alpha", "ports": ports, **facts}),)
    fields = {**words, "name": "pair", "profile": "tiny", "backend": "nccl", "nodes": nodes}
    return Preset.model_validate({**fields, "fingerprint": Fingerprint(nodes=prints)})


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def test_the_presets_own_nodes_with_their_ports_and_pythons() -> None:
    alpha, beta = gate_nodes(Asked(preset()))
    assert (alpha.name, alpha.target, alpha.python, alpha.ports) == ("alpha", "user@alpha", "/opt/py", ("p0",))
    assert beta.ports == ()


def test_nodes_that_are_named_beat_them_and_keep_the_ports_they_list() -> None:
    mine = (NodeSpec("alpha", "local", ports=("mine",)), NodeSpec("beta", "local"))
    assert [spec.ports for spec in gate_nodes(Asked(preset(), mine))] == [("mine",), ()]
    assert [spec.python for spec in gate_nodes(Asked(preset(), mine, python="py"))] == ["py", "py"]


def test_nodes_that_are_named_keep_the_python_they_were_measured_with() -> None:
    """Named anew is where they are reached; torch and NCCL are still those of that python."""
    mine = (NodeSpec("alpha", "10.0.0.1"), NodeSpec("beta", "b", python="/their/own"), NodeSpec("gamma", "c"))
    named = gate_nodes(Asked(preset(), mine))
    assert [(spec.target, spec.python) for spec in named] == [
        ("10.0.0.1", "/opt/py"),
        ("b", "/their/own"),
        ("c", "python3"),
    ]
    assert [spec.python for spec in gate_nodes(Asked(None, mine))] == ["python3", "/their/own", "python3"]


def test_a_presets_ports_are_names_never_patterns() -> None:
    (port,) = gate_nodes(Asked(preset("*")))[0].ports
    assert [fnmatchcase(name, port) for name in ("*", "eth0")] == [True, False]


def test_one_nodes_own_part_is_that_node_alone() -> None:
    assert [spec.name for spec in gate_nodes(Asked(preset(), local="beta"))] == ["beta"]
    with pytest.raises(UsageError) as caught:
        gate_nodes(Asked(preset(), local="gamma"))
    assert caught.value.fix == "nodes: alpha, beta"


def test_the_users_file_says_which_image_and_role_a_node_has(elsewhere: Path) -> None:
    (elsewhere / "fabric.toml").write_text(
        '[[node]]\nname = "beta"\ntarget = "elsewhere"\nimage = "vllm:1"\nrole = "head"\n'
    )
    alpha, beta = gate_nodes(Asked(preset()))
    assert (alpha.image, beta.image, beta.role, beta.target) == ("", "vllm:1", "head", "user@beta")


def test_the_jobs_variables_stand_in_for_those_of_the_shell() -> None:
    fabric = fabrics.crossed_pair()
    host = fabric.nodes[0].host.model_copy(update={"environment": {"NCCL_ALGO": "Tree", "OMP_NUM_THREADS": "4"}})
    fabric = fabric.model_copy(update={"nodes": (fabric.nodes[0].model_copy(update={"host": host}),)})
    (node,) = with_variables(fabric, {"alpha": {"NCCL_NET": "IB"}}).nodes
    assert node.host.environment == {"OMP_NUM_THREADS": "4", "NCCL_NET": "IB"}
    assert with_variables(fabric, {}).nodes[0].host.environment == {"OMP_NUM_THREADS": "4"}


class Nodes:
    """A pair that answers the gate's questions; what was asked is kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fabric = fabrics.crossed_pair()
        self.asked: list[str] = []
        self.ports: Any = None
        self.evidence: Any = None
        self.deadline_s, self.hashed = 0.0, False
        monkeypatch.setattr(gate_looking, "SharedScan", self.begin)
        monkeypatch.setattr(gate_looking, "scan", self.scan)
        monkeypatch.setattr(fabric_room, "map_cables", self.cables)
        monkeypatch.setattr(fabric_room, "with_own_ports", self.own_ports)
        monkeypatch.setattr(gate_looking, "named_users", self.users)

    def begin(self, specs: Any, *, deadline_s: float, cuda: bool, hashed: bool) -> str:
        assert cuda is False
        self.deadline_s, self.hashed = deadline_s, hashed
        return "begun"

    def scan(self, specs: Any, *, begun: Any, judge: bool) -> Fabric:
        assert (begun, judge) == ("begun", False)
        self.asked.append(f"scan {','.join(spec.name for spec in specs)}")
        names = [spec.name for spec in specs]
        return self.fabric.model_copy(update={"nodes": tuple(n for n in self.fabric.nodes if n.name in names)})

    def cables(self, specs: Any, fabric: Fabric, _progress: Any, evidence: Any) -> Fabric:
        self.asked.append("cables")
        self.evidence = evidence
        assert fabric.nodes[0].host.environment["NCCL_NET"] == "IB"
        return fabric

    def own_ports(self, spec: NodeSpec, fabric: Fabric, ports: Any) -> Fabric:
        self.asked.append(f"ports of {spec.name}")
        self.ports = ports
        return fabric

    def users(self, spec: NodeSpec, users: Any) -> list[dict[str, str]]:
        self.asked.append(f"users of {spec.name}")
        return [{"text": f"python (pid {one.pid})", "stop": f"kill {one.pid}"} for one in users]


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    return Nodes(monkeypatch)


def look(asked: Asked, floors: Floors | None = None, before: Gate | None = None) -> Any:
    return look_quickly(asked, floors or Floors(), lambda: before, lambda _: None)


def test_all_nodes_their_cables_and_the_launchers_ports(nodes: Nodes) -> None:
    looked = look(Asked(preset(), ports=(5601,)))
    assert nodes.asked == ["scan alpha,beta", "cables"]
    assert (looked.head, looked.ports, looked.only, looked.late) == ("alpha", (5601,), "", ())
    assert len(nodes.evidence.proofs) == 1  # LLDP: no RDMA message is sent by a quick gate
    assert [one.source for one in looked.delivery.workers] == ["the preset", "the preset"]
    assert nodes.deadline_s == pytest.approx(9.0)


def test_only_a_deeper_level_has_the_time_to_hash_nccls_file(nodes: Nodes) -> None:
    seen = []
    for level in ("quick", "smoke", "full"):
        look(Asked(preset(), level=level))  # type: ignore[arg-type]
        seen.append(nodes.hashed)
    assert seen == [False, True, True]


def test_one_node_asks_no_other(nodes: Nodes) -> None:
    looked = look(Asked(preset(), local="alpha"))
    assert nodes.asked == ["scan alpha", "ports of alpha"]
    assert (looked.only, looked.head, nodes.ports) == ("alpha", "alpha", (29500,))


def test_a_workers_own_part_leaves_the_ports_of_the_head_out(nodes: Nodes) -> None:
    """Ranks meet on the head, and a server on a worker may hold that port."""
    assert look(Asked(preset(), local="beta")).head == ""
    assert nodes.asked == ["scan beta"]
    named = (NodeSpec("alpha", "a", role="worker"), NodeSpec("beta", "b", role="head"))
    assert look(Asked(preset(), named, local="beta")).head == "beta"
    assert look(Asked(preset(), named, local="alpha")).head == ""
    assert nodes.asked[1:] == ["scan beta", "ports of beta", "scan alpha"]


def test_a_profile_that_asks_little_is_looked_at_little(nodes: Nodes) -> None:
    look(Asked(preset()), Floors(only=("memory", "gpu-idle")))
    assert nodes.asked == ["scan alpha,beta"]


def test_when_the_time_is_over_after_the_scan_the_rest_is_left_out(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(preset(), deadline_s=5.0)
    late = Asked(preset(), deadline_s=5.0, begun=asked.begun - 60.0)
    looked = look(late)
    assert nodes.asked == ["scan alpha,beta"]
    assert looked.late == ("cables and ports",)
    assert nodes.deadline_s == pytest.approx(0.1)


def test_every_wait_is_within_the_deadline(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float] = []
    monkeypatch.setattr(gate_looking, "with_images", lambda _s, fabric, _p, start: left.append(at_most(60.0)) or fabric)
    look(Asked(preset(), deadline_s=5.0))
    assert 0.0 < left[0] <= 5.0


@pytest.mark.parametrize("level", ["quick", "smoke", "full"])
def test_no_container_is_started_for_what_an_image_holds(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch, level: Level
) -> None:
    started: list[bool] = []
    monkeypatch.setattr(gate_looking, "with_images", lambda _s, fabric, _p, start: started.append(start) or fabric)
    look(Asked(preset(), level=level))
    assert started == [False]


def busy(fabric: Fabric, *pids: int) -> Fabric:
    tenants = tuple(Tenant(pid=pid, name="python") for pid in pids)
    no = fabrics.NOT_READ
    gpu = Gpu(
        index=0, name="H200", uuid=no, pci=no, compute_capability=no, memory_bytes=1, processes=pids, tenants=tenants
    )
    nodes = tuple(one.model_copy(update={"gpus": (gpu,)}) if one.name == "beta" else one for one in fabric.nodes)
    return fabric.model_copy(update={"nodes": nodes})


def test_a_port_that_another_gate_held_is_looked_at_again(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one node as well as between two; of a server that runs the ports are its own, and nodes that failed are
    not waited for again."""
    taken = Finding(id="rendezvous-port-taken", severity="info", subject="alpha 10.0.0.1:29500", cause="c", fix=("f",))
    monkeypatch.setattr(gate_ports, "PAUSE_S", 0.0)
    first = nodes.fabric.model_copy(update={"findings": (taken,)})
    asked: list[list[str]] = []

    def again(specs: Any, bare: Fabric, _progress: Any) -> Fabric:
        asked.append([spec.name for spec in specs])
        return bare

    kinds = fabric_room.every_kind(())._replace(weak=(again,))
    monkeypatch.setattr(fabric_room, "every_kind", lambda _ports: kinds)
    monkeypatch.setattr(fabric_room, "map_cables", lambda *_: first)
    monkeypatch.setattr(
        delivering, "look_at_servers", lambda *_: (Delivery(preset="p", answer="delivered", reason=""), {})
    )
    assert look(Asked(preset())).fabric.findings == ()
    assert asked == [["alpha", "beta"]]
    assert look(Asked(preset(), wheres=(read_where("pid", ["7"]),))).fabric.findings == (taken,)
    gone = FailedNode(name="beta", target="b", id="node-timeout", message="m", fix="f")
    monkeypatch.setattr(fabric_room, "map_cables", lambda *_: first.model_copy(update={"failed": (gone,)}))
    assert look(Asked(preset())).fabric.findings == (taken,)
    assert asked == [["alpha", "beta"]]
    monkeypatch.setattr(
        fabric_room,
        "with_own_ports",
        lambda _s, fabric, _p: fabric.model_copy(update={"findings": (taken,)}) if len(asked) == 1 else fabric,
    )
    monkeypatch.setattr(gate_ports.time, "sleep", lambda _: asked.append([]))
    looked = look(Asked(preset(), local="alpha"))
    assert "rendezvous-port-taken" not in {one.id for one in looked.fabric.findings}


def test_who_uses_a_gpu_is_asked_for_only_there(nodes: Nodes) -> None:
    nodes.fabric = busy(nodes.fabric, 7, 8)
    looked = look(Asked(preset()))
    assert nodes.asked[-1] == "users of beta"
    assert looked.users.words == {"beta": ["python (pid 7)", "python (pid 8)"]}
    assert looked.users.stop == {"beta": ["kill 7", "kill 8"]}


def test_the_server_that_is_judged_is_no_stranger(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes.fabric = busy(nodes.fabric, 7, 8)
    said = Delivery(preset="pair", answer="delivered", reason="")

    def servers(_preset: Any, wheres: Any, specs: Any, _progress: Any) -> Any:
        assert [spec.name for spec in specs] == ["alpha", "beta"]
        assert wheres[0].kind == "pid"
        return said, {"beta": frozenset({7})}

    monkeypatch.setattr(delivering, "look_at_servers", servers)
    looked = look(Asked(preset(), wheres=(read_where("pid", ["beta=7"]),)))
    assert looked.delivery is said
    assert looked.users.words == {"beta": ["python (pid 8)"]}
    assert looked.serving == {"beta": frozenset({7})}


def test_without_a_preset_nothing_is_delivered_and_no_variable_is_the_jobs(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fabric_room, "map_cables", lambda _s, fabric, _p, _e: fabric)
    looked = look(Asked(None, (NodeSpec("alpha", "local"), NodeSpec("beta", "local"))))
    assert (looked.preset, looked.delivery, looked.variables) == (None, None, {})


def test_counters_of_the_last_gate_make_growth(nodes: Nodes) -> None:
    counters = (Counters(subject="mlx5_0/1", source="port", values={"link_downed": 5}),)
    fabric = nodes.fabric
    nodes.fabric = fabric.model_copy(
        update={"nodes": tuple(one.model_copy(update={"counters": counters}) for one in fabric.nodes)}
    )
    then = (datetime.now(UTC) - timedelta(seconds=90)).strftime("%Y-%m-%dT%H:%M:%SZ")
    fields: dict[str, Any] = {"preset": "pair", "answer": "go", "reason": "", "boots": {"alpha": "b"}, "created": then}
    before = Gate(**fields, counters={"alpha": {"mlx5_0/1 port link_downed": 3}})
    alpha, beta = look(Asked(preset()), before=before).fabric.nodes
    assert alpha.counters[0].deltas == {"link_downed": 2}
    assert 89 < alpha.watched_s < 150
    assert beta.watched_s == 0
    broken = before.model_copy(update={"created": "then"})
    assert look(Asked(preset()), before=broken).fabric.nodes[0].watched_s == 0


def test_what_stands_is_kept_for_the_next(nodes: Nodes) -> None:
    counters, boots = standing(nodes.fabric)
    assert (counters, boots) == ({}, {"alpha": "b", "beta": "b"})


def test_findings_of_the_checks_come_from_the_jobs_variables(nodes: Nodes) -> None:
    """One node is judged here, with the preset's variables: an interface that is not there is the checks' finding."""
    given = preset()
    line = Line(name="NCCL_SOCKET_IFNAME", value="=eth7", kind="placed", evidence="")
    nodes_ = tuple(one.model_copy(update={"lines": (line,)}) for one in given.nodes)
    looked = look(Asked(given.model_copy(update={"nodes": nodes_}), local="alpha"))
    found: list[Finding] = [one for one in looked.fabric.findings if one.id == "socket-ifname-not-found"]
    assert [one.subject.startswith("alpha") for one in found] == [True]


def test_a_short_deadline_is_not_kept_back_whole(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float] = []
    monkeypatch.setattr(gate_looking, "with_images", lambda _s, fabric, _p, start: left.append(at_most(1e6)) or fabric)
    look(Asked(preset(), deadline_s=600.0))
    asked = Asked(preset(), deadline_s=1.0)
    monkeypatch.setattr(type(asked), "left", lambda _self: 1.0)
    look(asked)
    assert 590.0 < left[0] <= 598.0
    assert 0.0 < left[1] <= 0.8
