"""Base and the sets made from rails: exact selectors, per node, with the reason."""

from __future__ import annotations

import pytest

from fabricdoc.bench.base import bare_default, base_candidate, rail_candidates, selectors
from fabricdoc.errors import ExitStatus, InconclusiveError
from fabricdoc.fabric import Rail, RailPort, rails_of
from tests.fabrics import crossed_pair

pytestmark = pytest.mark.unit

NAMES = ["alpha", "beta"]


def hca_rails() -> list[Rail]:
    def port(node: str, k: int) -> RailPort:
        return RailPort(node, f"enp1s0f{k}np{k}", f"10.0.{k}.1", f"rocep1s0f{k}")

    return [Rail((port("alpha", 0), port("beta", 1)), True), Rail((port("alpha", 1), port("beta", 0)), True)]


def test_gloo_base_is_the_first_rail_with_each_nodes_own_name() -> None:
    base = base_candidate("gloo", rails_of(crossed_pair()), NAMES, single=True)
    assert base.node_variables == {"alpha": {"GLOO_SOCKET_IFNAME": "p0"}, "beta": {"GLOO_SOCKET_IFNAME": "p1"}}
    assert base.role == "base"
    assert "alpha/p0 - beta/p1" in base.why
    assert "proven" in base.why


def test_nccl_selectors_are_exact_and_force_the_network() -> None:
    assert selectors("nccl", hca_rails(), "beta") == {
        "NCCL_NET": "IB",
        "NCCL_IB_HCA": "=rocep1s0f1,rocep1s0f0",
        "NCCL_SOCKET_IFNAME": "=enp1s0f1np1",
    }


def test_without_hcas_nccl_uses_sockets_and_says_so() -> None:
    rails = rails_of(crossed_pair())
    assert selectors("nccl", rails, "alpha") == {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "=p0,p1"}


def test_base_holds_every_rail_unless_single() -> None:
    rails = rails_of(crossed_pair())
    base = base_candidate("nccl", rails, NAMES, single=False)
    assert base.node_variables["beta"]["NCCL_SOCKET_IFNAME"] == "=p1,p0"


def test_no_rail_is_inconclusive_not_a_guess() -> None:
    with pytest.raises(InconclusiveError) as caught:
        base_candidate("gloo", [], NAMES, single=True)
    assert caught.value.status is ExitStatus.INCONCLUSIVE
    assert "cables" in caught.value.fix


def test_both_nics_is_every_rail_and_each_other_rail_stands_alone() -> None:
    sets = rail_candidates("gloo", rails_of(crossed_pair()), NAMES)
    assert [(c.name, c.node_variables["alpha"]["GLOO_SOCKET_IFNAME"]) for c in sets] == [
        ("both-nics", "p0,p1"),
        ("rail-1", "p1"),
    ]
    assert all(c.targets == ("rails",) and c.on_base for c in sets)


def test_one_rail_leaves_nothing_to_weigh() -> None:
    assert rail_candidates("gloo", rails_of(crossed_pair())[:1], NAMES) == ()


def test_default_sets_nothing_and_stands_alone() -> None:
    default = bare_default()
    assert (default.variables, default.node_variables, default.on_base) == ({}, {}, False)
