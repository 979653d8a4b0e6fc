"""Current settings, read on every node by the real probe on this machine; nodes that lack them are named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.bench import CurrentSource, parse_current
from fabricdoc.errors import InputError, NodeError, UsageError
from fabricdoc.transport import Answer, NodeSpec
from fabricdoc.workflow import current
from fabricdoc.workflow.current import read_on_nodes

pytestmark = pytest.mark.unit

HERE = [NodeSpec("here", "local")]
PAIR = [NodeSpec("alpha", "a"), NodeSpec("beta", "b")]


def saying(monkeypatch: pytest.MonkeyPatch, **nodes: Any) -> list[tuple[str, dict[str, Any]]]:
    asked = []

    def ask(specs: Any, module: str, request: Any, *, deadline_s: float) -> tuple[Answer, ...]:
        assert module == "settings"
        asked.append((specs[0].name, request))
        return (Answer(specs[0], nodes[specs[0].name], None, "", 0.1, 0.0),)

    monkeypatch.setattr(current, "ask", ask)
    return asked


def test_a_relative_path_is_a_file_here_and_counts_for_every_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("serve.env").write_text("NCCL_PROTO=LL\n")
    asked = saying(monkeypatch)
    values = read_on_nodes(parse_current("serve.env"), PAIR)
    assert values == {"alpha": {"NCCL_PROTO": "LL"}, "beta": {"NCCL_PROTO": "LL"}}
    assert asked == []


def test_an_absolute_path_is_read_on_every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = saying(
        monkeypatch, alpha={"values": {"NCCL_IB_HCA": '"=a"', "HF_TOKEN": "x"}}, beta={"values": {"NCCL_IB_HCA": "=b"}}
    )
    values = read_on_nodes(parse_current("/opt/serve.env"), PAIR)
    assert values == {"alpha": {"NCCL_IB_HCA": "=a"}, "beta": {"NCCL_IB_HCA": "=b"}}
    assert asked[0] == ("alpha", {"do": "read", "kind": "file", "value": "/opt/serve.env"})


def test_where_no_node_has_the_file_the_one_here_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "serve.env"
    file.write_text("NCCL_PROTO=LL\n")
    gone = {"problem": f"{file}: No such file or directory", "missing": True}
    saying(monkeypatch, alpha=gone, beta=gone)
    assert read_on_nodes(parse_current(str(file)), PAIR) == {
        "alpha": {"NCCL_PROTO": "LL"},
        "beta": {"NCCL_PROTO": "LL"},
    }
    saying(monkeypatch, alpha={"values": {"NCCL_PROTO": "LL"}}, beta=gone)
    with pytest.raises(InputError, match=r"beta: .*No such file"):
        read_on_nodes(parse_current(str(file)), PAIR)


def test_a_pid_or_container_that_is_missing_on_one_node_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    saying(monkeypatch, alpha={"values": {"NCCL_PROTO": "LL"}}, beta={"problem": "no process 7 runs there"})
    with pytest.raises(NodeError) as caught:
        read_on_nodes(parse_current("pid:7"), PAIR)
    assert caught.value.message == "--current pid:7: beta: no process 7 runs there"
    assert caught.value.fix == "name one for each node: --current pid:alpha=...,beta=..."
    assert caught.value.id == "current-missing"


def test_what_may_not_be_read_says_as_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    denied = {"problem": "/proc/7/environ: Permission denied", "denied": True}
    saying(monkeypatch, alpha={"values": {}}, beta=denied)
    with pytest.raises(NodeError) as caught:
        read_on_nodes(parse_current("pid:7"), PAIR)
    assert caught.value.id == "current-unreadable"
    assert "connect as that user" in caught.value.fix


def test_each_nodes_own_pid_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = saying(monkeypatch, alpha={"values": {"NCCL_PROTO": "LL"}}, beta={"values": {"NCCL_PROTO": "LL"}})
    read_on_nodes(parse_current("pid:alpha=12,beta=34"), PAIR)
    assert [request["value"] for _, request in asked] == ["12", "34"]


@pytest.mark.parametrize(
    ("text", "said"), [("pid:alpha=12", "no pid for beta"), ("pid:alpha=1,beta=2,gamma=3", "'gamma', which is no node")]
)
def test_nodes_left_out_or_strange_are_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_on_nodes(parse_current(text), PAIR)


def test_a_server_without_any_is_said_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    saying(monkeypatch, alpha={"values": {}}, beta={"values": {}})
    for text in ("pid:7", "/opt/serve.env"):
        with pytest.raises(InputError, match="sets no communication variable"):
            read_on_nodes(parse_current(text), PAIR)


@pytest.mark.parametrize(
    "values", [3, None, [1], {"NCCL_PROTO": 3}, {"HF_TOKEN": "x"}, {f"NCCL_{n}": "x" * 9999 for n in range(999)}]
)
def test_what_a_node_says_is_not_trusted(monkeypatch: pytest.MonkeyPatch, values: Any) -> None:
    saying(monkeypatch, alpha={"values": {"NCCL_ALGO": "Ring"}}, beta={"values": values})
    found = read_on_nodes(parse_current("pid:7"), PAIR)["beta"]
    assert len(found) <= 256
    assert all(name.startswith("NCCL_") and len(value) <= 4096 for name, value in found.items())


@pytest.mark.long
def test_the_real_probe_reads_a_real_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This very process, whose environment at its start is in /proc."""
    started = Path("/proc/self/environ").read_bytes().decode("utf-8", "replace").split("\0")
    wanted = {line.partition("=")[0] for line in started if line.startswith(("NCCL_", "GLOO_"))}
    source = CurrentSource("pid", str(os.getpid()))
    if wanted:
        assert set(read_on_nodes(source, HERE)["here"]) >= wanted
    else:
        with pytest.raises(InputError, match="sets no communication variable"):
            read_on_nodes(source, HERE)


@pytest.mark.long
def test_the_real_probe_reads_a_real_file_and_names_a_missing_process(tmp_path: Path) -> None:
    file = tmp_path / "serve.env"
    file.write_text("export NCCL_ALGO='ring;allreduce:tree'\nHF_TOKEN=x\n")
    assert read_on_nodes(parse_current(str(file)), HERE) == {"here": {"NCCL_ALGO": "ring;allreduce:tree"}}
    with pytest.raises(NodeError, match="here: no process 4194304 runs there"):
        read_on_nodes(parse_current("pid:4194304"), HERE)
