"""Variables that must be equal on all ranks."""

from __future__ import annotations

import pytest

from fabricdoc.checks.settings_pairs import check_settings_pairs
from fabricdoc.model.fabric import ConfFile, Fabric
from tests.fabrics.recorded import RECORDED
from tests.unit.checks.between import ids, of_host

pytestmark = pytest.mark.unit


def env(*values: dict[str, str]) -> Fabric:
    return of_host("environment", *values)


@pytest.mark.parametrize("name", list(RECORDED))
def test_recorded_fabrics_are_silent(name: str) -> None:
    assert check_settings_pairs(RECORDED[name]()) == ()


def test_the_node_with_another_value_is_named_with_the_line_that_sets_it() -> None:
    (found,) = check_settings_pairs(env({"NCCL_PROTO": "LL"}, {"NCCL_PROTO": "Simple"}, {"NCCL_PROTO": "LL"}))
    assert ids([found]) == [("env-differs-between-ranks", "warning", "beta")]
    assert [piece.text for piece in found.evidence] == ["NCCL_PROTO: LL, as on 2 of 3", "NCCL_PROTO: Simple"]
    assert found.fix == ("on beta:", "export NCCL_PROTO=LL")


def test_a_variable_that_one_node_lacks_is_a_difference() -> None:
    both = {"NCCL_ALGO": "Ring", "NCCL_IB_HCA": "mlx5"}
    found = check_settings_pairs(env(both, {"NCCL_IB_HCA": "mlx5"}))
    assert ids(found) == [("env-differs-between-ranks", "warning", "alpha, beta")]
    (extra,) = check_settings_pairs(env(both, {"NCCL_IB_HCA": "mlx5"}, {"NCCL_IB_HCA": "mlx5"}))
    assert extra.fix == ("on alpha:", "unset NCCL_ALGO")


@pytest.mark.parametrize(
    "fabric",
    [
        env({"NCCL_IB_HCA": "a"}, {"NCCL_IB_HCA": "b"}),
        env({"NCCL_SOCKET_IFNAME": "a"}, {"NCCL_SOCKET_IFNAME": "b"}),
        env({"NCCL_PROTO": "LL"}, {}),
        env({"NCCL_PROTO": "LL"}, {"NCCL_DEBUG": "INFO"}),
        env({"NCCL_PROTO": "LL"}),
        env({"NCCL_NO_SUCH_NAME": "1"}, {"NCCL_NO_SUCH_NAME": "2"}),
        env({"UCX_TLS": "rc"}, {"UCX_TLS": "tcp"}),
    ],
)
def test_what_may_differ_is_unknown_or_tells_nothing_is_silent(fabric: Fabric) -> None:
    assert check_settings_pairs(fabric) == ()


def test_a_file_counts_like_the_environment() -> None:
    confs = [(ConfFile(path="/etc/nccl.conf", values={"NCCL_BUFFSIZE": value}),) for value in ("4", "8", "4")]
    found = check_settings_pairs(of_host("nccl_conf", *confs))
    assert ids(found) == [("env-differs-between-ranks", "warning", "beta")]


def test_a_hostile_value_stays_inside_its_quotes() -> None:
    (found,) = check_settings_pairs(env({"NCCL_PROTO": "a;b"}, {"NCCL_PROTO": "LL"}, {"NCCL_PROTO": "a;b"}))
    assert found.fix[1] == "export NCCL_PROTO='a;b'"


def test_the_environment_wins_over_a_file_when_values_are_compared() -> None:
    conf = (ConfFile(path="/etc/nccl.conf", values={"NCCL_PROTO": "LL"}),)
    fabric = of_host("nccl_conf", conf, conf, environment={"NCCL_PROTO": "Simple"})
    assert check_settings_pairs(fabric) == ()


def test_each_variable_that_differs_is_a_finding_in_the_order_of_names() -> None:
    found = check_settings_pairs(
        env({"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}, {"NCCL_PROTO": "Simple", "NCCL_ALGO": "Tree"})
    )
    assert [one.evidence[0].text.partition(":")[0] for one in found] == ["NCCL_ALGO", "NCCL_PROTO"]
