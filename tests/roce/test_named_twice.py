"""One machine under two names, with no port up: what is said of a node named twice, and of one without ports."""

from __future__ import annotations

import dataclasses

import pytest

from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab
from tests.labs.seed import HCAS, PORTS
from tests.roce.seeing import found, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def fabric(scene: RoceLab) -> Fabric:
    scene.alpha.do("\n".join(f"ip link set dev {port} down" for port in PORTS))
    spec, scene.beta.spec = scene.beta.spec, dataclasses.replace(scene.alpha.spec, name="beta")
    try:
        return scene.scan()
    finally:
        scene.beta.spec = spec


def test_one_machine_under_two_names(fabric: Fabric) -> None:
    assert found(fabric, "same-node-twice", "beta").severity == "warning"


def test_a_node_with_no_port_up(fabric: Fabric) -> None:
    for name in ("alpha", "beta"):
        assert found(fabric, "no-active-port", name, HCAS[1]).severity == "warning"


def test_nothing_else_is_found(fabric: Fabric) -> None:
    assert wrong(fabric) == {
        ("same-node-twice", "alpha, beta"),
        ("no-active-port", "alpha"),
        ("no-active-port", "beta"),
    }
