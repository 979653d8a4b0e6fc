"""Which node a process number is of, what is asked of each node, which processes serve, and whose log a line is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import InputError, NodeError, UsageError
from fabricdoc.model.delivery import Delivery
from fabricdoc.model.preset import Preset
from fabricdoc.transport import Answer, NodeSpec
from fabricdoc.workflow import check_delivery, delivering, read_where
from tests.unit.export.presets_made import HEAD, WORKER, node, pair, preset, printed

pytestmark = pytest.mark.unit

SAID = "{host}:11:22 [0] NCCL INFO "
LOG = f"{SAID}NCCL_IB_HCA set to {{hcas}}\n{SAID}NCCL_NET set by environment to IB\n"
LIBRARY = "/x/libnccl.so.2"


def process(
    pid: int, environ: dict[str, str], parent: int = 1, library: str | None = "/x/libnccl.so.2"
) -> dict[str, Any]:
    return {"pid": pid, "parent": parent, "name": "w", "library": library, "environ": environ, "files": []}


class Nodes:
    """Stands for the nodes: keeps what was asked, answers what it was told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **said: Any) -> None:
        self.said, self.asked = said, dict[str, dict[str, Any]]()
        monkeypatch.setattr(delivering, "ask", self.ask)
        monkeypatch.setattr(delivering, "this_hostname", lambda: "spark-b")

    def ask(self, specs: list[NodeSpec], module: str, request: dict[str, Any], *, deadline_s: float) -> list[Answer]:
        assert module == "delivered"
        self.asked |= {spec.name: request for spec in specs}
        return [self.answer(spec) for spec in specs]

    def answer(self, spec: NodeSpec) -> Answer:
        said = self.said.get(spec.name, NodeError("no answer"))
        message = {"event": "seen", "processes": said, "unread": ""} if isinstance(said, list) else None
        return Answer(spec, message, said if message is None else None, "", 0.1, 0.0)


def check(one: Preset, *words: tuple[str, str], only: str | None = None) -> Delivery:
    wheres = [read_where(kind, [value]) for kind, value in words]  # type: ignore[arg-type]
    return check_delivery(one, wheres, (), lambda _: None, only)


def test_a_plain_number_is_of_this_machine_and_others_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(monkeypatch, spark1=[process(3, HEAD)], spark2=[process(4711, WORKER)])
    assert check(pair(), ("pid", "4711")).answer == "delivered"
    assert (nodes.asked["spark2"]["pids"], nodes.asked["spark2"]["find"]) == ([4711], False)
    assert (nodes.asked["spark1"]["pids"], nodes.asked["spark1"]["find"]) == ([], True)
    assert nodes.asked["spark1"]["names"] == sorted(HEAD)


def test_all_processes_of_a_server_are_told_beside_its_delivery(monkeypatch: pytest.MonkeyPatch) -> None:
    children = [process(3, HEAD), process(5, HEAD, parent=3, library=None), {"pid": "x"}]
    Nodes(monkeypatch, spark1=children[:2], spark2=children[2:])
    one = pair()
    wheres = [read_where("pid", ["spark1=3"])]
    said, families = delivering.look_at_servers(one, wheres, delivering.nodes_of(one), lambda _: None)
    assert families == {"spark1": frozenset({3, 5}), "spark2": frozenset()}
    assert [(w.node, w.pid) for w in said.workers] == [("spark1", 3)]
    with pytest.raises(UsageError):
        delivering.look_at_servers(one, [read_where("pid", ["gamma=3"])], [], lambda _: None)


def test_numbers_by_node(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(monkeypatch, spark1=[process(3, HEAD)], spark2=[process(4, WORKER)])
    assert check(pair(), ("pid", "spark1=3,spark2=4")).answer == "delivered"
    assert [nodes.asked[name]["pids"] for name in ("spark1", "spark2")] == [[3], [4]]


def test_a_container_is_meant_on_every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(monkeypatch, spark1=[process(3, HEAD)], spark2=[process(4, WORKER)])
    check(pair(), ("container", "vllm"))
    assert [nodes.asked[name]["container"] for name in ("spark1", "spark2")] == ["vllm", "vllm"]
    check(pair(), ("container", "spark1=head,spark2=worker"))
    assert [nodes.asked[name]["container"] for name in ("spark1", "spark2")] == ["head", "worker"]


def test_a_plain_number_that_could_be_any_nodes_is_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    Nodes(monkeypatch)
    two = preset(node("a", HEAD), node("b", WORKER))
    with pytest.raises(UsageError) as caught:
        check(two, ("pid", "1"))
    assert caught.value.fix == "--pid a=PID,b=PID"


def test_narrowed_to_one_node_the_other_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(monkeypatch, spark1=[process(3, HEAD)])
    assert check(pair(), ("pid", "3"), only="spark1").answer == "delivered"
    assert list(nodes.asked) == ["spark1"]


def test_a_node_that_does_not_answer_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    Nodes(monkeypatch, spark1=[process(3, HEAD)])
    found = check(pair(), ("pid", "spark1=3,spark2=4"))
    assert (found.answer, found.reason) == ("could-not-tell", "spark2: no answer")


def test_the_processes_that_serve_are_those_with_nccl_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = process(2, {}, library=None)
    Nodes(monkeypatch, spark1=[shell, process(3, HEAD, parent=2)], spark2=[process(4, WORKER)])
    found = check(pair(), ("pid", "spark1=2,spark2=4"))
    assert found.answer == "delivered"
    assert [one.pid for one in found.workers] == [3, 4]


def test_before_nccl_is_loaded_the_leaves_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = process(2, {}, library=None)
    Nodes(monkeypatch, spark1=[shell, process(3, HEAD, parent=2, library=None)], spark2=[process(4, WORKER)])
    assert [one.pid for one in check(pair(), ("pid", "spark1=2,spark2=4")).workers] == [3, 4]


def test_an_answer_that_is_no_answer_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    Nodes(monkeypatch, spark1=[{"pid": "x"}], spark2=[process(4, WORKER)])
    assert "can't be read" in check(pair(), ("pid", "spark1=3,spark2=4")).reason


def log(folder: Path, name: str, *ranks: tuple[str, str]) -> str:
    file = folder / name
    file.write_text("".join(LOG.format(host=host, hcas=hcas) for host, hcas in ranks))
    return str(file)


def test_one_log_of_both_ranks_is_split_by_host(tmp_path: Path) -> None:
    bare = {"NCCL_NET": "IB"}
    one, two = ({**bare, "NCCL_IB_HCA": values["NCCL_IB_HCA"]} for values in (HEAD, WORKER))
    prints = (printed("spark1", "p", hostname="spark-a"), printed("spark2", "p", hostname="spark-b"))
    both = preset(node("spark1", one), node("spark2", two), prints=prints)
    right = log(tmp_path, "log", ("spark-a", one["NCCL_IB_HCA"]), ("spark-b", two["NCCL_IB_HCA"]))
    assert check(both, ("log", right)).answer == "delivered"
    wrong = log(tmp_path, "log2", ("spark-a", one["NCCL_IB_HCA"]), ("spark-b", one["NCCL_IB_HCA"]))
    found = check(both, ("log", wrong))
    assert found.reason == "on spark2: NCCL_IB_HCA differs"
    assert found.workers[1].source == "log2"


def test_a_log_can_be_said_to_be_a_nodes(tmp_path: Path) -> None:
    file = log(tmp_path, "log", ("box", WORKER["NCCL_IB_HCA"]))
    found = check(pair(), ("log", f"spark2={file}"))
    assert [(v.name, v.outcome) for v in found.workers[0].variables if v.outcome != "unknown"] == [
        ("NCCL_NET", "delivered"),
        ("NCCL_IB_HCA", "delivered"),
    ]
    assert found.answer == "could-not-tell"


def test_a_log_without_variables_can_not_tell(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("INFO starting\n")
    found = check(preset(node("a", HEAD)), ("log", str(file)))
    assert found.answer == "could-not-tell"
    with pytest.raises(InputError):
        check(preset(node("a", HEAD)), ("log", str(tmp_path / "absent")))


def test_process_and_log_together_are_one_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment has it right, and the log shows that the program changed it."""
    one = preset(node("a", {"NCCL_NET": "IB"}, target="local"))
    Nodes(monkeypatch, a=[process(11, {"NCCL_NET": "IB"})])
    file = tmp_path / "log"
    file.write_text("box:11:22 [0] NCCL INFO NCCL_NET set by environment to Socket\n")
    found = check(one, ("pid", "11"), ("log", str(file)))
    (worker,) = found.workers
    assert worker.variables[0].outcome == "overridden"
    assert worker.source == "/proc/11/environ, log"


@pytest.mark.parametrize(
    ("kind", "word"),
    [("pid", "x"), ("pid", "0"), ("pid", "-1"), ("pid", "a=x"), ("pid", "a=1,a=2"), ("pid", ""), ("container", "a=")],
)
def test_words_that_name_nothing(kind: Any, word: str) -> None:
    with pytest.raises(UsageError):
        read_where(kind, [word])


def test_words() -> None:
    assert read_where("pid", ["a=1,b=2"]).values == {"a": "1", "b": "2"}
    assert read_where("pid", ["a=1", "b=2"]).values == {"a": "1", "b": "2"}
    assert read_where("log", ["a=/x,y"]).values == {"a": "/x,y"}


def test_a_log_whose_name_has_an_equals_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tp=2.log").write_text("")
    assert read_where("log", ["tp=2.log"]).values == {"": "tp=2.log"}


@pytest.mark.parametrize("word", [("pid", "gamma=1"), ("container", "gamma=x"), ("log", "gamma=x")])
def test_a_node_that_is_not_of_the_preset(word: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match="gamma") as caught:
        check(pair(), word)
    assert caught.value.fix == "nodes: spark1, spark2"
