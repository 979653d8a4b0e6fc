"""Slurm: the exact words for srun, and the allocation as Slurm's environment tells it."""

from __future__ import annotations

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.transport import NodeSpec, Peer, allocated_nodes, allocated_peers
from fabricdoc.transport.config import Config
from fabricdoc.transport.slurm import allocated_names, allocation, srun_argv
from fabricdoc.transport.targets import command_for, reached_by

pytestmark = pytest.mark.unit

NODE = NodeSpec("n", "slurm:node02", env={"A": "1,2"})


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[01-02],gpu3")


@pytest.mark.usefixtures("inside")
def test_the_words_for_srun() -> None:
    command = command_for(NODE, lambda python: [python, "-I", "-c", "x"])
    assert command.argv == (
        *("srun", "--jobid=4711", "--nodelist=node02", "-N1", "-n1", "--overlap", "--export=ALL", "--mpi=none"),
        *("--cpu-bind=none", "--unbuffered", "--immediate=10", "python3", "-I", "-c", "x"),
    )
    assert (command.kind, command.over_ssh, reached_by(NODE)) == ("slurm", False, "slurm")
    assert command.env["A"] == "1,2"


@pytest.mark.usefixtures("inside")
def test_the_allocations_nodes_in_slurms_order() -> None:
    assert allocated_names() == ("node01", "node02", "gpu3")
    assert [(node.name, node.target) for node in allocated_nodes(Config())] == [
        ("node01", "slurm:node01"),
        ("node02", "slurm:node02"),
        ("gpu3", "slurm:gpu3"),
    ]


@pytest.mark.usefixtures("inside")
def test_what_the_file_says_of_a_name_is_kept() -> None:
    known = NodeSpec("node02", "me@10.0.0.2", python="/opt/p", ports=("enp1s0",), user="me")
    nodes = allocated_nodes(Config((known,)))
    assert nodes[1] == NodeSpec("node02", "slurm:node02", python="/opt/p", ports=("enp1s0",))


def test_the_jobs_nodes_are_hosts_for_ssh_and_outside_one_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert allocated_peers() == ()
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    assert allocated_peers() == ()
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[001-999]")
    assert allocated_peers()[:2] == (Peer("node001", "the Slurm job"), Peer("node002", "the Slurm job"))
    assert len(allocated_peers()) == 256


@pytest.mark.usefixtures("inside")
def test_a_node_of_another_job_is_refused() -> None:
    with pytest.raises(UsageError, match=r"node09 is not a node of this allocation \(job 4711\)"):
        srun_argv(NodeSpec("n", "slurm:node09"), ["true"])


def test_outside_an_allocation_one_line_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for act in (allocation, allocated_names, lambda: srun_argv(NODE, ["true"]), lambda: allocated_nodes(Config())):
        with pytest.raises(UsageError, match="no Slurm allocation here") as caught:
            act()
        assert "salloc" in caught.value.fix
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    with pytest.raises(UsageError, match="SLURM_JOB_NODELIST"):
        allocated_nodes(Config())


@pytest.mark.parametrize("job", ["--help", "0", "1;id", "4711_2", "9" * 11])
def test_a_job_id_that_is_none_never_reaches_srun(monkeypatch: pytest.MonkeyPatch, job: str) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", job)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node02")
    with pytest.raises(UsageError, match="not a number"):
        srun_argv(NODE, ["true"])


def test_the_older_names_of_the_variables_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOBID", "12")
    monkeypatch.setenv("SLURM_NODELIST", "a[1-2]")
    assert (allocation(), allocated_names()) == ("12", ("a1", "a2"))


@pytest.mark.parametrize("listed", ["n[1-99999]", "n[x]", "a,a", "a b"])
def test_a_list_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, listed: str) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_JOB_NODELIST", listed)
    with pytest.raises(UsageError):
        allocated_nodes(Config())
