"""Active RoCE ports and the GID that NCCL looks for."""

from __future__ import annotations

import pytest

from fabricdoc.checks.gids import check_gids
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Gid, Hca, Netdev
from tests.fabrics import hca, netdev, node
from tests.fabrics.altering import changed
from tests.fabrics.spark import spark_twin_bare

pytestmark = pytest.mark.unit

LOCAL = "fe80:0000:0000:0000:4e4e:eaff:fe00:0001"


def gid(index: int, kind: Fact[str], ipv4: str | None = None) -> Gid:
    text = f"0000:0000:0000:0000:0000:ffff:0a00:{index:04x}" if ipv4 else LOCAL
    return Gid(index=index, gid=text, type=kind, netdev="p0", ipv4=ipv4, link_local=ipv4 is None)


def fabric(gids: Fact[tuple[Gid, ...]], port: Netdev | None = None, **changed: object) -> Fabric:
    base = hca("rocep1s0f0", "p0")
    one = base.ports[0].model_copy(update={"gids": gids, **changed})
    device: Hca = base.model_copy(update={"ports": (one,)})
    return Fabric(nodes=(node("alpha", netdevs=[port or netdev("p0")], hcas=[device]),))


BARE = (gid(0, "IB/RoCE v1"), gid(1, "RoCE v2"))


def test_an_ipv4_roce_v2_gid_at_any_index_is_enough() -> None:
    assert check_gids(fabric((*BARE, gid(2, "IB/RoCE v1", "10.0.0.1"), gid(5, "RoCE v2", "10.0.0.1")))) == ()
    assert check_gids(fabric((gid(1, "RoCE v2", "10.0.0.1"),))) == ()


def test_a_twin_without_an_address_is_told_with_its_names() -> None:
    (found,) = check_gids(fabric(BARE))
    assert (found.id, found.severity, found.subject) == ("gid-auto-selected-link-local", "warning", "alpha/rocep1s0f0")
    assert [piece.text for piece in found.evidence] == [
        "rocep1s0f0 port 1 ACTIVE, p0 without an IPv4 address",
        f"GID 0 {LOCAL} IB/RoCE v1",
        f"GID 1 {LOCAL} RoCE v2",
    ]
    assert found.fix[0].startswith("give p0 an IPv4 address")
    assert "leave rocep1s0f0 out of NCCL_IB_HCA on alpha" in found.fix[1]


def test_an_address_that_has_only_a_v1_gid_is_not_enough() -> None:
    (found,) = check_gids(fabric((*BARE, gid(2, "IB/RoCE v1", "10.0.0.1")), netdev("p0", ip="10.0.0.1")))
    assert found.evidence[0].text == "rocep1s0f0 port 1 ACTIVE, p0 10.0.0.1/24"


def test_an_empty_table_is_told() -> None:
    assert len(check_gids(fabric(()))) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "DOWN"},
        {"state": Unknown(unknown="x")},
        {"link_layer": "InfiniBand"},
        {"netdev": Unknown(unknown="x")},
    ],
)
def test_ports_that_are_down_or_no_roce_are_left_out(changed: dict[str, object]) -> None:
    assert check_gids(fabric(BARE, None, **changed)) == ()


def test_what_can_not_be_read_is_not_judged() -> None:
    assert check_gids(fabric(Unknown(unknown="x"))) == ()
    assert check_gids(fabric((*BARE, gid(3, Unknown(unknown="EINVAL"), "10.0.0.1")))) == ()


def test_a_member_of_a_bond_has_no_address_of_its_own() -> None:
    assert check_gids(fabric(BARE, netdev("p0").model_copy(update={"master": "bond0"}))) == ()


def test_a_long_table_is_cut() -> None:
    (found,) = check_gids(fabric(tuple(gid(index, "RoCE v2") for index in range(40))))
    assert len(found.evidence) == 9


def test_a_twin_that_has_the_address_is_named() -> None:
    (found,) = check_gids(spark_twin_bare())
    assert found.subject == "spark-b/roceP2p1s0f0"
    assert "Its twin rocep1s0f0 has one" in found.cause
    assert found.fix[0].endswith("(not that of enp1s0f0np0)")


def test_without_known_cages_or_with_two_bare_twins_no_twin_is_named() -> None:
    bare = changed(spark_twin_bare(), "spark-b", "node", cages=())
    assert ["twin" in found.cause for found in check_gids(bare)] == [False]
    both = changed(spark_twin_bare(), "spark-b", "port", "rocep1s0f0", gids=())
    assert ["twin" in found.cause for found in check_gids(both)] == [False, False]
