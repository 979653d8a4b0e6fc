"""Lists: selectors, protocols, algorithms, GIDs, ranges and levels, bad and nearly bad."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lists import MOST_ENTRIES, check_list, has_grammar
from fabricdoc.nccl.versions import Release

pytestmark = pytest.mark.unit

HCA, IF = "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME"


def check(name: str, value: str, release: Release | None = None) -> list[Complaint]:
    return list(check_list(name, value, release))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (HCA, "mlx5_0, mlx5_1", "selector-space"),
        (HCA, " mlx5_0", "selector-space"),
        (HCA, "=mlx5_0 ", "selector-space"),
        (HCA, "=^mlx5_0", "bad-value"),
        (HCA, "=mlx5_0,=mlx5_1", "bad-value"),
        (HCA, "mlx5_0+mlx5_1", "bad-value"),
        (HCA, "mlx5_0;mlx5_1", "bad-value"),
        (HCA, "mlx5_0:one", "bad-value"),
        (HCA, "^", "bad-value"),
        (HCA, "=", "bad-value"),
        (HCA, ",".join(f"mlx5_{number}" for number in range(MOST_ENTRIES + 1)), "out-of-range"),
        (IF, "e", "bad-value"),
        (IF, "eth0, eth1", "selector-space"),
        ("GLOO_SOCKET_IFNAME", "=eth0", "bad-value"),
        ("GLOO_SOCKET_IFNAME", "eth0, eth1", "selector-space"),
        ("NCCL_PROTO", "LL128", "ll128-forced-by-name"),
        ("NCCL_PROTO", "ll,ll128,simple", "ll128-forced-by-name"),
        ("NCCL_PROTO", "allreduce:LL128", "ll128-forced-by-name"),
        ("NCCL_PROTO", "^LL", "ll128-forced-by-exclusion"),
        ("NCCL_PROTO", "^Simple", "ll128-forced-by-exclusion"),
        ("NCCL_PROTO", "LL,Simple;allreduce:^LL", "ll128-forced-by-exclusion"),
        ("NCCL_PROTO", "LL12", "bad-value"),
        ("NCCL_ALGO", "Tree", "algo-without-function-form"),
        ("NCCL_ALGO", "^Ring", "algo-without-function-form"),
        ("NCCL_ALGO", "broadcast:tree", "algo-without-function-form"),
        ("NCCL_ALGO", "Rnig", "bad-value"),
        ("NCCL_ALGO", "ring;tree", "bad-value"),
        ("NCCL_IB_GID_INDEX", "3", "gid-index-pinned"),
        ("NCCL_IB_GID_INDEX", "0", "gid-index-pinned"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0.0", "bad-value"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0.0/40", "bad-value"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0/24", "bad-value"),
        ("NCCL_NET_GDR_LEVEL", "phb", "bad-value"),
        ("NCCL_NET_GDR_LEVEL", "FAR", "bad-value"),
        ("NCCL_P2P_LEVEL", "9", "out-of-range"),
        ("NCCL_NET_FORCE_MERGE", "a, b;c,d", "selector-space"),
    ],
)
def test_bad_lists(name: str, value: str, expected: str) -> None:
    assert [complaint.id for complaint in check(name, value)] == [expected]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (HCA, "=mlx5_0,mlx5_1"),
        (HCA, "^=mlx5_0:1"),
        (HCA, "rocep1s0f0:1:0:2,roceP2p1s0f0:1:1"),
        (HCA, ",".join(f"mlx5_{number}" for number in range(MOST_ENTRIES))),
        (IF, "=eth0"),
        (IF, "^docker,lo"),
        (IF, "ib"),
        ("GLOO_SOCKET_IFNAME", "eth0,eth1"),
        ("NCCL_PROTO", "LL,Simple"),
        ("NCCL_PROTO", "^LL128"),
        ("NCCL_PROTO", "Simple;allreduce:LL"),
        ("NCCL_ALGO", "ring;allreduce:tree"),
        ("NCCL_ALGO", "Ring"),
        ("NCCL_ALGO", "^NVLS"),
        ("NCCL_ALGO", "allreduce:tree"),
        ("NCCL_IB_GID_INDEX", "-1"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0.0/16"),
        ("NCCL_IB_ADDR_RANGE", "fd00::/8"),
        ("NCCL_NET_GDR_LEVEL", "PHB"),
        ("NCCL_P2P_LEVEL", "5"),
        ("NCCL_NET_MERGE_LEVEL", "PORT"),
        ("NCCL_NET_FORCE_MERGE", "a,b;c,d"),
        ("NCCL_BUFFSIZE", "anything: no list"),
    ],
)
def test_nearly_bad_lists(name: str, value: str) -> None:
    assert check(name, value) == []


@pytest.mark.parametrize(
    ("name", "value", "release", "complains"),
    [
        ("NCCL_ALGO", "Tree", (2, 23, 4), False),
        ("NCCL_ALGO", "Tree", (2, 24, 3), True),
        ("NCCL_ALGO", "ring;allreduce:tree", (2, 23, 4), True),
        ("NCCL_ALGO", "ring;allreduce:tree", (2, 24, 3), False),
        ("NCCL_ALGO", "ring,tree", (2, 18, 3), False),
        ("NCCL_PROTO", "Simple;allreduce:LL", (2, 23, 4), True),
        ("NCCL_PROTO", "Simple;allreduce:LL", (2, 24, 3), False),
        ("NCCL_ALGO", "allreduce:tree", (2, 30, 7), False),
        ("NCCL_ALGO", "allreduce:tree", (2, 31, 1), True),
        ("NCCL_ALGO", "ring;allreduce:tree", (2, 31, 1), False),
        ("NCCL_ALGO", "ring", (2, 31, 1), False),
        ("NCCL_ALGO", "broadcast:ring;reduce:ring;allgather:ring;reducescatter:ring;allreduce:tree", (2, 31, 1), False),
        ("NCCL_IB_GID_INDEX", "3", (2, 20, 5), False),
        ("NCCL_IB_GID_INDEX", "3", (2, 21, 5), True),
    ],
)
def test_what_depends_on_the_release(name: str, value: str, release: Release, complains: bool) -> None:
    assert bool(check(name, value, release)) == complains


def test_the_fix_is_the_line_to_write() -> None:
    assert check(HCA, "=mlx5_0, mlx5_1")[0].fix == "NCCL_IB_HCA==mlx5_0,mlx5_1"
    assert check(HCA, "^mlx5_0, mlx5_1")[0].culprit == " mlx5_1"
    assert check(HCA, "=^mlx5_0")[0].fix == "NCCL_IB_HCA=^=mlx5_0"
    assert check(HCA, "a+b")[0].fix == "NCCL_IB_HCA=a,b"
    assert check("NCCL_ALGO", "Tree")[0].fix == "NCCL_ALGO=ring;allreduce:tree"
    assert check("NCCL_ALGO", "allreduce:tree", (2, 31, 1))[0].fix == "NCCL_ALGO=ring;allreduce:tree"
    assert "broadcast, reduce, allgather, reducescatter" in check("NCCL_ALGO", "allreduce:tree", (2, 31, 1))[0].message
    assert check("NCCL_NET_GDR_LEVEL", "phb")[0].fix == "NCCL_NET_GDR_LEVEL=PHB"
    assert check("NCCL_NET_FORCE_MERGE", "a, b; c,d")[0].fix == "NCCL_NET_FORCE_MERGE=a,b;c,d"


@pytest.mark.parametrize("name", [HCA, IF, "NCCL_PROTO", "NCCL_ALGO", "NCCL_NET_FORCE_MERGE", "NCCL_IB_ADDR_RANGE"])
def test_following_the_fix_ends_the_complaint(name: str) -> None:
    """A fix that is a whole setting is itself without complaint."""
    for value in ("a, b", "=^x", "=a,=b", "a+b", "Tree", "^Ring", "10.0.0.0"):
        for complaint in check(name, value):
            setting, _, right = complaint.fix.partition("=")
            if setting == name and " " not in right:
                assert check(name, right) == [], (value, complaint.fix)


@given(
    st.sampled_from([HCA, IF, "NCCL_PROTO", "NCCL_ALGO", "NCCL_IB_ADDR_RANGE", "NCCL_P2P_LEVEL", "GLOO_SOCKET_IFNAME"]),
    st.text(min_size=1, max_size=60),
)
def test_no_text_breaks_it(name: str, value: str) -> None:
    assert has_grammar(name)
    assert all(complaint.name == name for complaint in check(name, value))
