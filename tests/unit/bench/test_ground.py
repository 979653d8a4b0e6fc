"""Which candidates are offered on which ground, with the reason for those that are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.candidates import load_candidates
from fabricdoc.bench.ground import Ground, not_read, offered, strangers
from fabricdoc.bench.offers import Offer
from fabricdoc.errors import InputError
from fabricdoc.model.run import Candidate, NotOffered

pytestmark = pytest.mark.unit

OPEN = {"any": "", "dmabuf": "", "peermem": ""}
PAIR = Ground(nodes=("alpha", "beta"), nccl=("2.28.9",), rails=2, network="ib", gpu_direct=OPEN)


def offer(**more: object) -> Offer:
    return Offer.model_validate({"name": "x", "variables": {"NCCL_IB_TC": "106"}, "set_name": "s", **more})


def reason(one: Offer, ground: Ground = PAIR) -> str:
    kept, left = offered([one], ground)
    assert len(kept) + len(left) == 1
    return left[0].reason if left else ""


@pytest.mark.parametrize(
    ("when", "ground", "said"),
    [
        ({}, {}, ""),
        ({"nccl": ">=2.24"}, {}, ""),
        ({"nccl": ">=2.30"}, {}, "needs NCCL >=2.30, here is 2.28.9"),
        ({"nccl": ">=2.20,<2.24"}, {}, "needs NCCL >=2.20,<2.24, here is 2.28.9"),
        ({"nccl": ">=2.24"}, {"nccl": ()}, "needs NCCL >=2.24, the version here is unknown"),
        ({"nccl": ">=2.24"}, {"nccl": ("nonsense",)}, "needs NCCL >=2.24, here is nonsense"),
        ({"platforms": ["gb10"]}, {}, "is for gb10, this is another platform"),
        ({"platforms": ["gb10"]}, {"platforms": ("gb10",)}, ""),
        ({"rails": 2}, {}, ""),
        ({"rails": 2}, {"rails": 1}, "needs 2 rails between the nodes, there is 1"),
        ({"rails": 3}, {}, "needs 3 rails between the nodes, there are 2"),
        ({"rails": 2}, {"rails": 0}, "needs 2 rails between the nodes, there is none"),
        ({"nodes": 3}, {}, "needs 3 nodes, there are 2"),
        ({"network": "ib"}, {}, ""),
        ({"network": "ib"}, {"network": "socket"}, "needs an HCA (RDMA device) on every rail"),
        ({"network": "socket"}, {}, "is for sockets, and the rails are RDMA"),
        ({"gpu_direct": "any"}, {}, ""),
        ({"gpu_direct": "peermem"}, {"gpu_direct": {"peermem": "not loaded"}}, "needs GPUDirect RDMA: not loaded"),
        ({"gpu_direct": "any"}, {"gpu_direct": {}}, "needs GPUDirect RDMA: it was not looked at"),
    ],
)
def test_what_must_be_so(when: dict[str, object], ground: dict[str, object], said: str) -> None:
    here = Ground(**{**PAIR.__dict__, **ground})  # type: ignore[arg-type]
    assert reason(offer(when=when), here) == said


def test_a_variable_that_is_younger_than_the_library() -> None:
    young = offer(variables={"NCCL_IB_SUBNET_AWARE_ROUTING": "1"})
    assert reason(young).startswith("NCCL 2.28.9 does not read NCCL_IB_SUBNET_AWARE_ROUTING yet (since 2.30")
    assert reason(young, Ground(nodes=("a",), nccl=("2.32.3",))) == ""


@pytest.mark.parametrize(
    ("name", "version", "gone"),
    [
        ("NCCL_AGG_CHANNEL_SIZE", "2.19.4", False),  # "Last in 2.19.4"
        ("NCCL_AGG_CHANNEL_SIZE", "2.20.3", True),
        ("NCCL_LL_THRESHOLD", "2.28.9", True),  # "Ignored since 2.5"
        ("NCCL_MNNVL", "2.20.5", False),  # "Only 2.20"
        ("NCCL_MNNVL", "2.21.5", True),
        ("NCCL_CREATE_THREAD_CONTEXT", "2.28.9", False),  # "Last in 2.30.4"
        ("NCCL_CREATE_THREAD_CONTEXT", "2.30.7", True),
        ("NCCL_MLOPART_RDMA_ENABLE", "2.31.2", False),  # "gone in 2.32"
        ("NCCL_MLOPART_RDMA_ENABLE", "2.32.3", True),
        ("NCCL_NCCL_ALLOC_P2P_NET_LL_BUFFERS", "2.16.2", False),
        ("NCCL_NCCL_ALLOC_P2P_NET_LL_BUFFERS", "2.16.5", True),  # its words name no end that a program could read
        ("NCCL_IB_TC", "2.32.3", False),
        ("NCCL_MAX_NCHANNELS", "2.32.3", False),  # deprecated, still read
        ("NO_SUCH", "2.32.3", False),
        ("NCCL_LL_THRESHOLD", "unknown", False),
    ],
)
def test_what_a_library_reads_no_more(name: str, version: str, gone: bool) -> None:
    assert ("does not read" in not_read(name, version)) is gone


def test_a_users_own_file_is_refused_for_what_this_nccl_does_not_read() -> None:
    place = "my.toml line 3, candidate 1 ('x')"
    young = offer(variables={"NCCL_IB_SUBNET_AWARE_ROUTING": "1"}, own=True, place=place)
    with pytest.raises(InputError) as caught:
        offered([young], PAIR)
    assert caught.value.message.startswith(f"{place}: NCCL 2.28.9 does not read NCCL_IB_SUBNET_AWARE_ROUTING yet")
    old = offer(variables={"NCCL_LL_THRESHOLD": "0"}, own=True, place=place)
    with pytest.raises(InputError, match="any more"):
        offered([old], PAIR)


def test_a_users_own_condition_is_no_error() -> None:
    waiting = offer(variables={"NCCL_IB_SUBNET_AWARE_ROUTING": "1"}, own=True, when={"nccl": ">=2.30.7"})
    assert reason(waiting) == "needs NCCL >=2.30.7, here is 2.28.9"


def test_values_for_a_node_that_is_not_there() -> None:
    one = offer(node_variables={"gamma": {"NCCL_IB_HCA": "=mlx5_0"}})
    assert "'gamma', which is no node of this bench (alpha, beta)" in reason(one)
    with pytest.raises(InputError, match="gamma"):
        offered([one.model_copy(update={"own": True, "place": "f"})], PAIR)


def test_a_value_for_one_node_alone_that_must_agree() -> None:
    one = offer(node_variables={"alpha": {"NCCL_PROTO": "Simple"}})
    assert reason(one) == "NCCL_PROTO must be equal on all ranks, and is Simple on alpha, (unset) on beta"
    free = offer(node_variables={"alpha": {"NCCL_IB_HCA": "=mlx5_0"}})
    assert reason(free) == ""


def test_the_same_variables_are_not_tried_twice() -> None:
    twin = offer(name="y")
    kept, left = offered([offer(), twin], PAIR)
    assert [one.name for one in kept] == ["x"]
    assert left == (NotOffered(name="y", set_name="s", reason="has the same variables as x"),)


def test_kept_candidates_are_plain_documents() -> None:
    offers = load_candidates(["default", "decode"], backend="nccl")
    kept, _ = offered(offers, PAIR)
    assert {type(candidate) for candidate in kept} == {Candidate}
    assert [Candidate.model_validate_json(candidate.model_dump_json()) for candidate in kept] == list(kept)
    assert kept[0].role == "default"
    assert {candidate.set_name for candidate in kept[1:]} == {"decode"}


SETS = ["default", "decode", "gdr", "roce", "socket", "gb10"]
ALL = load_candidates(SETS, backend="nccl")


@given(
    st.lists(st.sampled_from(ALL), unique_by=lambda one: one.name),
    st.sampled_from([(), ("2.18.1",), ("2.24.3",), ("2.28.9", "2.30.7"), ("2.32.3",), ("nonsense",)]),
    st.integers(0, 8),
    st.sampled_from(["", "ib", "socket"]),
    st.sampled_from([(), ("gb10",)]),
    st.dictionaries(st.sampled_from(["any", "dmabuf", "peermem"]), st.sampled_from(["", "closed"])),
)
def test_every_candidate_is_either_kept_or_left_out_with_a_reason(
    offers: list[Offer],
    nccl: tuple[str, ...],
    rails: int,
    network: str,
    platforms: tuple[str, ...],
    direct: dict[str, str],
) -> None:
    ground = Ground(("a", "b"), nccl, rails, network, platforms, direct)  # type: ignore[arg-type]
    kept, left = offered(offers, ground)
    assert sorted([one.name for one in kept] + [one.name for one in left]) == sorted(one.name for one in offers)
    assert all(one.reason and one.set_name for one in left)


def test_sockets_get_no_roce_and_gb10_gets_its_own() -> None:
    sockets = {one.name for one in offered(ALL, Ground(("a", "b"), ("2.28.9",), 2, "socket"))[0]}
    assert "sockets-4x4" in sockets
    assert not sockets & {"qps-4", "tc-106", "gdr-off", "inline", "gb10-ctas-8"}
    spark = {one.name for one in offered(ALL, Ground(("a", "b"), ("2.30.7",), 2, "ib", ("gb10",), {"any": "no"}))[0]}
    assert {"gb10-ctas-16", "ll128-c2c-off", "cumem-off", "nvls-off", "ignore-affinity"} <= spark
    assert not spark & {"gdr-off", "gdr-sys", "sockets-4x4"}


def test_names_that_no_nccl_reads_come_with_the_nearest() -> None:
    assert strangers({"NCCL_IB_HCAS": "x", "NCCL_PROTO": "LL", "UCX_TLS": "rc"}) == (
        "NCCL_IB_HCAS is no variable NCCL knows; did you mean NCCL_IB_HCA?",
    )
    assert strangers({"NCCL_ZZZZZZZZZZZZZZZZ": ""}) == ("NCCL_ZZZZZZZZZZZZZZZZ is no variable NCCL knows",)
