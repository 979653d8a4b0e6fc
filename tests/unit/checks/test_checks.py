"""All checks together: a healthy fabric is silent, findings come in order, and nothing but the document is read."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.checks import check_fabric, load_catalogue
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics import crossed_pair, hca, netdev, node

pytestmark = pytest.mark.unit


def lab() -> Fabric:
    """The crossed pair as the lab makes it: one kernel, a MAC of its own for every port."""
    nodes = []
    for number, one in enumerate(crossed_pair().nodes):
        assert not isinstance(one.netdevs, Unknown)
        ports = [p.model_copy(update={"mac": f"02:00:00:00:{number:02x}:{k:02x}"}) for k, p in enumerate(one.netdevs)]
        nodes.append(one.model_copy(update={"netdevs": tuple(ports)}))
    return Fabric(nodes=tuple(nodes))


def test_a_healthy_lab_has_no_error_and_no_warning() -> None:
    assert [found.id for found in check_fabric(lab()) if found.severity != "info"] == []


def test_an_empty_fabric_and_one_of_unknowns_have_no_findings() -> None:
    hidden = Unknown(unknown="time limit")
    bare = node("alpha").model_copy(update=dict.fromkeys(("hcas", "netdevs", "routes", "gpus"), hidden))
    assert check_fabric(Fabric()) == ()
    assert check_fabric(Fabric(nodes=(bare,))) == ()


def sick() -> Fabric:
    alpha = node("alpha", netdevs=[netdev("p0", ip="10.0.0.1"), netdev("p1", ip="10.0.0.2")])
    beta = node(
        "beta", netdevs=[netdev("p0", ip="10.0.0.1", mtu=1500, mac="02:00:00:00:00:09")], hcas=[hca("mlx5_0", "p0")]
    )
    return Fabric(nodes=(alpha, beta))


def test_errors_come_first_then_warnings_then_information() -> None:
    found = check_fabric(sick())
    order = ["error", "warning", "info"]
    assert [order.index(one.severity) for one in found] == sorted(order.index(one.severity) for one in found)
    assert [one.id for one in found if one.severity == "error"] == ["duplicate-address", "uverbs-missing"]
    assert {one.id for one in found if one.severity == "warning"} == {
        "hca-sets-differ-between-nodes",
        "mtu-mismatch",
        "nics-share-subnet",
    }


def test_every_finding_is_whole() -> None:
    for found in check_fabric(sick()):
        assert found.id in load_catalogue()
        assert found.evidence, found.id
        assert found.cause.endswith("."), found.id
        assert found.cause[0].isupper() or found.cause.startswith(("mlx5", "roce")), found.id
        assert found.fix, found.id


def test_the_same_document_gives_the_same_findings_without_reading_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    load_catalogue()
    first = check_fabric(sick())

    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("a check opened a file")

    monkeypatch.setattr(builtins, "open", refuse)
    assert check_fabric(sick()) == first


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4), st.sampled_from([1500, 9000])), max_size=6))
def test_any_set_of_ports_is_judged_without_failing(ports: list[tuple[int, int, int]]) -> None:
    netdevs = [netdev(f"p{k}", ip=f"10.0.{net}.{host}", mtu=mtu) for k, (net, host, mtu) in enumerate(ports)]
    fabric = Fabric(nodes=(node("alpha", netdevs=netdevs[::2]), node("beta", netdevs=netdevs[1::2])))
    for found in check_fabric(fabric):
        assert found.severity in ("error", "warning", "info")
        assert found.id in load_catalogue()
