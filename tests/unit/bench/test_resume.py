"""A run is taken up on the same ground only, and every difference is named."""

from __future__ import annotations

import pytest

from fabricdoc.bench.resume import differences, refuse_other_course, taken_up
from fabricdoc.errors import InputError, UsageError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Endpoint, Link, LinkProof
from fabricdoc.model.run import Launch, Run
from tests.unit.bench.scripted import candidates, plan_of, run_of

pytestmark = pytest.mark.unit


def _link(mac: str = "02:00:00:00:00:01") -> Link:
    return Link(
        a=Endpoint(node="alpha", netdev="eth0", mac=mac),
        b=Endpoint(node="beta", netdev="eth1", mac="02:00:00:00:00:02"),
        kind="cable", proof=LinkProof(method="beacon", at="2026-11-29T09:59:00Z", frames_a_to_b=3, frames_b_to_a=3),
    )  # fmt: skip


def _stored(**changes: object) -> Run:
    run = run_of(plan_of(candidates(2))).model_copy(update={"links": (_link(),), "status": "interrupted"})
    return run.model_copy(update=changes)


def test_the_same_ground_gives_the_stored_run() -> None:
    stored = _stored()
    assert taken_up(stored, stored.nodes, stored.links) == stored


def test_links_are_the_same_from_either_end() -> None:
    stored, link = _stored(), _link()
    turned = link.model_copy(update={"a": link.b, "b": link.a})
    assert list(differences(stored, stored.nodes, (turned,))) == []


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("nccl", "2.30.7", "nccl of beta was 2.28.9, now 2.30.7"),
        ("kernel", "6.2", "kernel of beta was 6.1, now 6.2"),
        ("gpus", ("H200",), "gpus of beta was none, now H200"),
        ("target", "beta.lan", "target of beta was netns:beta, now beta.lan"),
        ("nccl", Unknown(unknown="no torch"), None),
    ],
)
def test_what_differs_on_a_node_is_named(field, value, text) -> None:
    stored = _stored()
    nodes = (stored.nodes[0], stored.nodes[1].model_copy(update={field: value}))
    if text is None:
        assert taken_up(stored, nodes, stored.links) == stored
        return
    with pytest.raises(UsageError) as error:
        taken_up(stored, nodes, stored.links)
    assert error.value.message == f"run run-1 was measured on other ground: {text}"
    assert error.value.id == "resume-differs"


def test_other_nodes_and_links_are_named() -> None:
    stored = _stored()
    others = (stored.nodes[0], stored.nodes[1].model_copy(update={"name": "gamma"}))
    assert list(differences(stored, others, stored.links)) == ["its nodes were alpha, beta, now alpha, gamma"]
    gone, new = differences(stored, stored.nodes, (_link("02:00:00:00:00:09"),))
    assert gone == "the link alpha/eth0 (02:00:00:00:00:01) to beta/eth1 (02:00:00:00:00:02) is gone"
    assert new.endswith("(02:00:00:00:00:02) is new")


def test_a_complete_run_has_nothing_left_and_one_cut_by_its_budget_has() -> None:
    done = _stored(status="complete")
    with pytest.raises(UsageError, match="nothing is left to measure"):
        taken_up(done, done.nodes, done.links)
    cut = _stored(status="complete", reason="the time budget of 60 s left no room for block 4 (search)")
    assert taken_up(cut, cut.nodes, cut.links) == cut


def test_a_launch_out_of_course_is_refused_and_one_in_course_is_not() -> None:
    launch = Launch(
        number=9, round="search", block=2, position=1, candidate="c0", status="ok", seconds=1.0,
        started="2026-11-29T10:00:00Z",
    )  # fmt: skip
    refuse_other_course(launch, "c0", "search", 2, 1)
    for other in (("c1", "search", 2, 1), ("c0", "confirm", 2, 1), ("c0", "search", 3, 1), ("c0", "search", 2, 0)):
        with pytest.raises(InputError, match="launch 9 is c0 in search block 2, place 1"):
            refuse_other_course(launch, *other)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"NCCL_NVLS_ENABLE": "0"}, {}, ["NCCL_NVLS_ENABLE in the environment of alpha was 0, now unset"]),
        ({}, {"GLOO_SOCKET_IFNAME": "eth1"}, ["GLOO_SOCKET_IFNAME in the environment of alpha was unset, now eth1"]),
        ({"NCCL_VERSION": "1", "CUDA_VISIBLE_DEVICES": "0"}, {"NCCL_VERSION": "2"}, []),
        (None, {"NCCL_PROTO": "LL"}, []),
    ],
)
def test_what_the_ranks_would_inherit_otherwise_is_named(before, now, told) -> None:
    stored = _stored()
    first, other = stored.nodes
    stored = stored.model_copy(update={"nodes": (first.model_copy(update={"environment": before}), other)})
    nodes = (first.model_copy(update={"environment": now}), other)
    assert list(differences(stored, nodes, stored.links)) == told
