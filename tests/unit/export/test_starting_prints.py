"""The fingerprint of nodes that were only seen."""

from __future__ import annotations

import pytest

from fabricdoc.export.starting_prints import NOT_RUN, prints_of
from fabricdoc.fabric import selected, traced
from fabricdoc.model.documents import Unknown
from tests.fabrics.recorded import RECORDED

pytestmark = pytest.mark.unit
FABRIC = selected(traced(RECORDED["spark-straight"]()))


def test_the_named_ports_alone_with_what_the_gate_compares() -> None:
    node = FABRIC.nodes[0]
    printed = prints_of(FABRIC, {node.name: ("enp1s0f0np0",)}).nodes[0]
    (port,) = printed.ports
    assert (port.netdev, port.hca) == ("enp1s0f0np0", "rocep1s0f0")
    assert isinstance(port.mtu, int)
    assert port.peer.startswith(f"{FABRIC.nodes[1].name}/")
    assert not [one for one in port.addresses if one.startswith("fe80")]
    assert (printed.hostname, printed.kernel) == (node.host.hostname, node.host.kernel)
    assert printed.nccl == NOT_RUN


def test_a_port_that_is_not_there_is_unknown() -> None:
    (port,) = prints_of(FABRIC, {FABRIC.nodes[0].name: ("gone0",)}).nodes[0].ports
    assert isinstance(port.mac, Unknown)
    assert port.peer == ""


def test_gpus_by_uuid_else_by_name_else_none() -> None:
    node = FABRIC.nodes[0]
    assert isinstance(node.gpus, tuple)
    gpu = node.gpus[0]
    for given, told in (
        (gpu.model_copy(update={"uuid": "GPU-1"}), ("GPU-1",)),
        (gpu.model_copy(update={"uuid": Unknown(unknown="x"), "name": "NVIDIA GB10"}), ("NVIDIA GB10",)),
    ):
        one = FABRIC.model_copy(update={"nodes": (node.model_copy(update={"gpus": (given,)}),)})
        assert prints_of(one, {}).nodes[0].gpus == told
    blind = FABRIC.model_copy(update={"nodes": (node.model_copy(update={"gpus": Unknown(unknown="x")}),)})
    assert prints_of(blind, {}).nodes[0].gpus == ()
