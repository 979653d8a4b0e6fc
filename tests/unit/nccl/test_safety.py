"""What must never be tried, read as NCCL's own list parser reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.safety import ALGORITHMS, FUNCTIONS, PROTOCOLS, RING_TREE, allowed, reject_unsafe

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "value",
    [
        "LL128",
        "ll128",
        "LL,LL128",
        "^LL",
        "^Simple",
        "^",
        "^LL,Simple",
        "allreduce:LL128",
        "LL;allreduce:^LL",
        "allreduce:^Simple",
    ],
)
def test_a_value_that_forces_ll128_is_refused(value: str) -> None:
    reason = reject_unsafe({"NCCL_PROTO": value})
    assert reason is not None and "forces LL128" in reason and "corrupts data" in reason


@pytest.mark.parametrize(
    "value", ["Simple", "LL", "LL,Simple", "^LL128", "^ll128,LL", "allreduce:Simple", "LL,Simple;allgather:^LL128", ""]
)
def test_a_value_without_ll128_is_not(value: str) -> None:
    assert reject_unsafe({"NCCL_PROTO": value}) is None


@pytest.mark.parametrize(
    ("value", "function"),
    [
        ("Tree", "broadcast"),
        ("tree", "broadcast"),
        ("^ring", "broadcast"),
        ("PAT", "broadcast"),
        ("ring;allgather:tree", "allgather"),
        ("reducescatter:tree", "reducescatter"),
        ("allreduce:pat", "allreduce"),
    ],
)
def test_an_algorithm_list_that_leaves_a_collective_without_is_refused(value: str, function: str) -> None:
    reason = reject_unsafe({"NCCL_ALGO": value})
    assert reason is not None and f"leaves {function} without" in reason
    assert RING_TREE in reason


@pytest.mark.parametrize(
    "value", [RING_TREE, "allreduce:tree", "Ring", "Tree,Ring", "^NVLS,NVLSTree", "allgather:pat", "allreduce:ring"]
)
def test_an_algorithm_list_that_leaves_each_one_is_not(value: str) -> None:
    assert reject_unsafe({"NCCL_ALGO": value}) is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("NCCL_PROTO", "LL12", "no word"),
        ("NCCL_PROTO", "LL, Simple", "no word"),
        ("NCCL_ALGO", "ring;tree", "only the first part"),
        ("NCCL_ALGO", ";ring", "only the first part"),
        ("NCCL_ALGO", "all_reduce:tree", "no function"),
        ("NCCL_ALGO", "allreduce:", "no word"),
        ("NCCL_IB_HCA", " mlx5_0", "blank"),
        ("NCCL_IB_HCA", "mlx5_0 ", "blank"),
        ("NCCL_IB_HCA", "mlx5_0\nNCCL_NET=IB", "line break"),
        ("NCCL_IB_HCA", "mlx5_0\t", "control character"),
        ("NCCL_IB_HCA", "mlx5_0\x1b[31m", "control character"),
        ("NCCL_SOCKET_IFNAME", '"eth0"', "quote"),
        ("NCCL_SOCKET_IFNAME", "'eth0'", "quote"),
        ("NCCL_SOCKET_IFNAME", "e" * 1024, "longer"),
        ("nccl_proto", "LL", "no name"),
        ("NCCL_PROTO=LL\nX", "LL", "no name"),
        ("", "LL", "no name"),
    ],
)
def test_what_is_malformed_is_refused_with_its_reason(name: str, value: str, said: str) -> None:
    reason = reject_unsafe({"NCCL_DEBUG": "INFO", name: value})
    assert reason is not None and said in reason


def test_values_that_only_look_odd_pass() -> None:
    odd = {
        "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0",
        "NCCL_THREAD_THRESHOLDS": "8 8 64 64 8 64",
        "NCCL_HOSTID": "a-b.c",
        "GLOO_SOCKET_IFNAME": "a,b",
    }
    assert reject_unsafe(odd) is None
    assert reject_unsafe({}) is None


def test_allowed_reads_lists_as_nccl_does() -> None:
    assert allowed(RING_TREE, ALGORITHMS)["allreduce"] == {"tree"}
    assert allowed(RING_TREE, ALGORITHMS)["allgather"] == {"ring"}
    assert allowed("allreduce:^LL", PROTOCOLS) == {"allreduce": {"ll128", "simple"}}, "the others keep NCCL's choice"
    assert allowed("LL;allreduce:Simple;AllReduce:LL", PROTOCOLS)["allreduce"] == {"ll"}, "the last part wins"
    assert allowed("", PROTOCOLS) == {}


LISTS = st.builds(
    lambda sign, words: sign + ",".join(words),
    st.sampled_from(["", "^"]),
    st.lists(st.sampled_from([*PROTOCOLS, "LL128", "Simple"]), min_size=1),
)


@given(LISTS, st.dictionaries(st.sampled_from(FUNCTIONS), LISTS))
def test_ll128_never_gets_through(first: str, rest: dict[str, str]) -> None:
    value = ";".join([first, *(f"{function}:{words}" for function, words in rest.items())])
    lists = [first, *rest.values()] if len(rest) < len(FUNCTIONS) else list(rest.values())
    forced = any(words.startswith("^") != ("ll128" in words.lower().removeprefix("^").split(",")) for words in lists)
    assert (reject_unsafe({"NCCL_PROTO": value}) is not None) is forced


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=60), max_size=4))
def test_no_text_breaks_it_and_what_passes_is_one_clean_line(variables: dict[str, str]) -> None:
    if reject_unsafe(variables) is None:
        for name, value in variables.items():
            assert name.isascii() and name.replace("_", "").isalnum()
            assert value.isprintable() and value == value.strip() and not set(value) & set("'\"`")


@given(st.sampled_from(["NCCL_PROTO", "NCCL_ALGO"]), st.text(alphabet="lr128:;,^ simptewag", max_size=40))
def test_no_list_breaks_the_parser(name: str, value: str) -> None:
    reason = reject_unsafe({name: value})
    assert reason is None or isinstance(reason, str)
