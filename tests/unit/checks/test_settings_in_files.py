"""What an nccl.conf sets counts as much as the environment: checks that a variable silences are silenced by a file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.model.fabric import ConfFile, Fabric
from tests.fabrics.altering import changed
from tests.fabrics.ill.every import ILL
from tests.fabrics.ill.gids import second
from tests.fabrics.spark import spark_one_cable

pytestmark = pytest.mark.unit

SILENCED = {
    "vf-beside-pf": {"NCCL_IB_HCA": "=mlx5_0,mlx5_1"},
    "mixed-link-layers": {"NCCL_IB_HCA": "=mlx5_0,mlx5_1"},
    "net-plugin-mismatch-between-nodes": {"NCCL_NET_PLUGIN": "none"},
    "gid-choice-zeroconf": {"NCCL_IB_ADDR_RANGE": "192.168.100.0/24"},
}


def in_environment(fabric: Fabric, values: dict[str, str]) -> Fabric:
    return changed(fabric, "*", "host", environment=values)


def in_file(fabric: Fabric, values: dict[str, str]) -> Fabric:
    return changed(fabric, "*", "host", nccl_conf=(ConfFile(path="/etc/nccl.conf", values=values),))


def ids(fabric: Fabric) -> set[str]:
    return {one.id for one in check_fabric(fabric)}


@pytest.mark.parametrize("place", [in_environment, in_file])
@pytest.mark.parametrize("id_", SILENCED)
def test_a_variable_silences_from_wherever_it_is_set(
    id_: str, place: Callable[[Fabric, dict[str, str]], Fabric]
) -> None:
    fabric = ILL[id_].has()
    assert id_ in ids(fabric)
    assert id_ not in ids(place(fabric, SILENCED[id_]))


@pytest.mark.parametrize("place", [in_environment, in_file])
@pytest.mark.parametrize("id_", SILENCED)
def test_one_that_is_set_to_nothing_silences_nothing(
    id_: str, place: Callable[[Fabric, dict[str, str]], Fabric]
) -> None:
    empty = dict.fromkeys(SILENCED[id_], "")
    assert id_ in ids(place(ILL[id_].has(), empty))


@pytest.mark.parametrize(("pin", "told"), [("-1", True), ("3", False), ("5", False)])
def test_minus_one_leaves_the_choice_of_a_gid_to_nccl(pin: str, told: bool) -> None:
    fabric = second("192.168.100.10", first="169.254.10.10")(spark_one_cable())
    assert ("gid-choice-zeroconf" in ids(in_environment(fabric, {"NCCL_IB_GID_INDEX": pin}))) is told
