"""What containers hide."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.containers import check_containers
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.others import container_node
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

# The probe's words for a slot that another namespace owns.
EINVAL = Unknown(unknown="the kernel does not say (EINVAL: as for a netdev in another network namespace)")


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_fabrics_are_silent(name: str) -> None:
    assert ids(check_containers, RECORDED[name]()) == []


def test_a_bridged_container_can_not_use_its_hcas() -> None:
    found = only(check_containers, container_node(device_files=True), "container-network-private")
    assert (found.severity, found.subject) == ("error", "container")
    assert texts(found)[0] == "container: docker, not in the host's network namespace"
    assert "--network host" in found.fix[0]


def test_with_the_hosts_network_it_can() -> None:
    assert ids(check_containers, container_node(host_network=True)) == []


@pytest.mark.parametrize(
    ("part", "facts"),
    [
        ("container", {"kind": "none"}),  # a lab: a namespace without a container
        ("container", {"kind": Unknown(unknown="x")}),
        ("host", {"host_network": True}),
        ("host", {"host_network": Unknown(unknown="x")}),
        ("node", {"hcas": ()}),
        ("node", {"hcas": Unknown(unknown="x")}),
    ],
)
def test_what_is_nearly_so(part: Any, facts: dict[str, Any]) -> None:
    assert ids(check_containers, changed(container_node(), "container", part, **facts)) == []


def test_hcas_that_are_all_down_lose_nothing() -> None:
    assert ids(check_containers, changed(container_node(), "container", "port", "*", state="DOWN")) == []


def test_a_container_with_an_hca_interface_of_its_own_is_well() -> None:
    fabric = changed(container_node(host_network=True), "container", "host", host_network=False)
    assert ids(check_containers, fabric) == []


def with_unread(*indices: int, reason: Unknown = EINVAL) -> Fabric:
    fabric = container_node(host_network=True)
    hcas = fabric.nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    gids = next(hca for hca in hcas if hca.name == "rocep1s0f0").ports[0].gids
    assert not isinstance(gids, Unknown)
    table = tuple(gid.model_copy(update={"type": reason}) if gid.index in indices else gid for gid in gids)
    return changed(fabric, "container", "port", "rocep1s0f0", gids=table)


def test_slots_of_other_namespaces_stop_old_nccl() -> None:
    found = only(check_containers, with_unread(0, 1), "gid-scan-einval-container")
    assert (found.severity, found.subject) == ("warning", "container/rocep1s0f0")
    assert texts(found)[-1] == "readable RoCE v2 IPv4 GIDs: 3"
    assert found.fix[1] == "or set NCCL_IB_GID_INDEX=3 for ranks in this container"


def test_another_reason_a_host_or_no_good_gid_is_another_matter() -> None:
    assert ids(check_containers, with_unread(0, reason=Unknown(unknown="Permission denied"))) == []
    assert ids(check_containers, changed(with_unread(0), "container", "container", kind="none")) == []
    assert ids(check_containers, with_unread(0, 1, 2, 3)) == []
