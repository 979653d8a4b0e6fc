"""Whole texts: which node, what is left out, the plainest file that carries all."""

from __future__ import annotations

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export import FORMATS, env_file, format_named, left_out, render
from tests.unit.export.presets_made import ALGO, HARDER, alone, pair

pytestmark = pytest.mark.unit


def test_the_default_is_env() -> None:
    both = pair()
    assert render(both, both.nodes[0]) == render(both, both.nodes[0], "env")


@pytest.mark.parametrize("fmt", FORMATS)
def test_without_a_node_only_formats_of_all_nodes_are_written(fmt: str) -> None:
    if format_named(fmt).scope == "node":
        with pytest.raises(UsageError, match="one node's"):
            render(pair(), None, fmt)
    else:
        assert render(pair(), None, fmt)


@pytest.mark.parametrize("fmt", ["slurm", "mpirun", "ray", "eugr", "sparkrun"])
def test_one_nodes_hca_list_never_goes_to_all(fmt: str) -> None:
    both = pair({"NCCL_ALGO": "Ring"})
    text = render(both, None, fmt)
    assert "rocep1s0f" not in text
    assert "Ring" in text
    assert "NCCL_IB_HCA, NCCL_SOCKET_IFNAME" in left_out(both, None, fmt)


@pytest.mark.parametrize("fmt", ["k8s", "k8s-configmap", "slurm-prolog", "mpirun-wrapper"])
def test_formats_of_all_nodes_hold_each_nodes_own(fmt: str) -> None:
    text = render(pair(), None, fmt)
    assert text.index("=rocep1s0f1,") < text.index("=rocep1s0f0,")
    assert left_out(pair(), None, fmt) == ""


def test_a_value_of_another_node_that_can_not_be_carried_refuses_the_whole() -> None:
    both = pair()
    bad = both.nodes[1].model_copy(update={"lines": alone({"NCCL_X": "a\nb"}).nodes[0].lines})
    mixed = both.model_copy(update={"nodes": (both.nodes[0], bad)})
    with pytest.raises(UsageError, match="NCCL_X"):
        render(mixed, None, "k8s")
    assert render(mixed, both.nodes[0], "bash")


def test_a_value_that_is_left_out_anyway_refuses_nothing() -> None:
    both = pair()
    bad = both.nodes[1].model_copy(update={"lines": (*both.nodes[1].lines, *alone({"NCCL_X": "a;b"}).nodes[0].lines)})
    mixed = both.model_copy(update={"nodes": (both.nodes[0], bad)})
    assert "NCCL_X" not in render(mixed, None, "mpirun")


def test_the_plainest_file_that_carries_all() -> None:
    for values, name in (({"A1": "1"}, "alpha.env"), ({"A1": ALGO}, "alpha.docker-env"), ({"A1": "'x'"}, "alpha.sh")):
        one = alone(values)
        assert env_file(one, one.nodes[0])[0] == name
    one = alone({"A1": "a\nb"})
    with pytest.raises(UsageError):
        env_file(one, one.nodes[0])


def test_left_out_says_where_it_goes() -> None:
    one = alone(HARDER)
    assert left_out(one, one.nodes[0], "bash") == ""
    assert left_out(one, one.nodes[0], "nccl-conf").startswith("nccl-conf holds no A_QUOTE, A_DOLLAR")
    assert left_out(one, one.nodes[0], "nccl-conf").endswith("set them in the environment")
