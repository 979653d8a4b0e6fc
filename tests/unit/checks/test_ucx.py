"""UCX_NET_DEVICES against the interfaces and HCAs of a node."""

from __future__ import annotations

import pytest

from fabricdoc.checks.ucx import check_ucx
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit


def node(value: str) -> Fabric:
    return changed(spark_one_cable(), "spark-b", "host", environment={"UCX_NET_DEVICES": value})


@pytest.mark.parametrize("value", ["enp9s0", "mlx5_0:1", "rocep1s0f0", "rocep1s0f0:2", "enp9s0, mlx5_1:1", "EnP7s7"])
def test_names_that_are_not_there(value: str) -> None:
    assert ids(check_ucx, node(value)) == [("ucx-devices-not-found", "warning", "spark-b: UCX_NET_DEVICES")]


@pytest.mark.parametrize(
    "value", ["", "all", "enP7s7", "enp9s0,enP7s7", "rocep1s0f0:1", "mlx5_0:1, rocep1s0f0:1", "^lo", "mlx5_*:1", "lo"]
)
def test_names_that_are_there_or_can_not_be_judged(value: str) -> None:
    assert ids(check_ucx, node(value)) == []


def test_unknown_devices_say_nothing() -> None:
    for part in ("hcas", "netdevs"):
        assert ids(check_ucx, changed(node("x"), "*", "node", **{part: Unknown(unknown="x")})) == []


def test_what_is_there_is_shown() -> None:
    found = only(check_ucx, node("mlx5_0:1"), "ucx-devices-not-found")
    assert texts(found)[0] == "UCX_NET_DEVICES=mlx5_0:1 (environment)"
    assert "rocep1s0f0:1" in texts(found)[2]
    assert found.fix == ("on spark-b: export UCX_NET_DEVICES=roceP2p1s0f0:1",)
