"""What makes two machines look alike, and settings of a machine that decide where packets go."""

from __future__ import annotations

import dataclasses

import pytest

from tests.labs.lab import RoceLab
from tests.roce.seeing import found, node, told

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]


def test_two_machines_with_one_name(lab: RoceLab) -> None:
    lab.beta.do("echo alpha > /proc/sys/kernel/hostname")
    fabric = lab.scan()
    assert found(fabric, "hostname-shared", "beta").subject == "alpha, beta"
    assert told(fabric) == []


def test_two_machines_cloned_from_one_image(lab: RoceLab) -> None:
    lab.beta.do(f"echo {1:032x} > /etc/machine-id")
    assert found(lab.scan(), "machine-id-shared", "beta").subject == "alpha, beta"


def test_one_host_id_for_two_machines(lab: RoceLab) -> None:
    for guest in lab.guests:
        guest.changed = True
        guest.spec = dataclasses.replace(guest.spec, env={"NCCL_HOSTID": "one"})
    fabric = lab.scan()
    assert node(fabric, "alpha").host.environment == {"NCCL_HOSTID": "one"}
    found(fabric, "host-identity-collision", "beta")


def test_one_machine_under_two_names(lab: RoceLab) -> None:
    lab.beta.changed = True
    spec, lab.beta.spec = lab.beta.spec, dataclasses.replace(lab.alpha.spec, name="beta")
    try:
        assert found(lab.scan(), "same-node-twice", "beta").severity == "warning"
    finally:
        lab.beta.spec = spec
