"""Driver, kernel, system, BIOS, governor and peer-memory module held against one another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.host_facts import HOST_FACTS, check_host_facts
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gpu, Host, Node
from tests.unit.checks.between import ids, nodes_with, of_host, with_host

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")


@pytest.mark.parametrize(
    ("field", "usual", "other", "id", "severity"),
    [
        ("nvidia_driver", "580.173.02", "590.48", "driver-differs-between-nodes", "warning"),
        ("kernel", "6.17.0-1031", "6.17.0-1021", "kernel-differs-between-nodes", "warning"),
        ("os", "DGX OS 7.5.0", "DGX OS 7.4.0", "os-differs-between-nodes", "info"),
        ("governor", "performance", "powersave", "governor-differs-between-nodes", "info"),
    ],
)
def test_the_odd_node_is_named_and_its_twin_fabric_is_silent(
    field: str, usual: str, other: str, id: str, severity: str
) -> None:
    (found,) = check_host_facts(of_host(field, usual, other, usual, HIDDEN))
    assert ids([found]) == [(id, severity, "beta")]
    assert usual in found.evidence[0].text
    assert found.evidence[0].text.endswith("as on 2 of 3")
    assert other in found.evidence[1].text
    assert any("beta" in line for line in found.fix)
    assert any(usual in line for line in found.fix)
    assert check_host_facts(of_host(field, usual, usual, HIDDEN, usual)) == ()
    assert ids(check_host_facts(of_host(field, usual, other))) == [(id, severity, "alpha, beta")]


def test_a_governor_is_changed_by_a_line_to_paste() -> None:
    (found,) = check_host_facts(of_host("governor", "performance", "powersave", "performance"))
    assert found.fix == ("on beta:", "sudo cpupower frequency-set -g performance")


def test_kernels_of_two_architectures_are_not_compared() -> None:
    pair = nodes_with(
        [("x86_64", "6.8.0"), ("aarch64", "6.17.0")],
        lambda name, facts: with_host(name, arch=facts[0], kernel=facts[1]),
    )
    assert check_host_facts(pair) == ()


def test_bios_is_compared_within_one_product() -> None:
    def made(name: str, facts: tuple[Any, str]) -> Node:
        return with_host(name, product=facts[0], bios=facts[1])

    spark, asus = "NVIDIA DGX Spark", "ASUS Ascent GX10"
    assert check_host_facts(nodes_with([(spark, "5.36"), (asus, "0105")], made)) == ()
    assert check_host_facts(nodes_with([(HIDDEN, "5.36"), (HIDDEN, "0105")], made)) == ()
    found = check_host_facts(nodes_with([(asus, "0102"), (spark, "5.36"), (asus, "0105")], made))
    assert ids(found) == [("bios-differs-between-nodes", "info", "alpha, gamma")]


def gpu(**facts: Any) -> Gpu:
    made = dict.fromkeys(("name", "uuid", "pci", "compute_capability", "memory_bytes", "processes"), HIDDEN)
    return Gpu(index=0, **{**made, **facts})


def modules(*loaded: Any, **facts: Any) -> Fabric:
    fabric = of_host("modules", *loaded)
    return Fabric(nodes=tuple(one.model_copy(update={"gpus": (gpu(**facts),)}) for one in fabric.nodes))


WITH, WITHOUT = ("ib_core", "nvidia_peermem"), ("ib_core",)


def test_a_node_without_the_peer_memory_module_is_named() -> None:
    (found,) = check_host_facts(modules(WITH, WITHOUT, WITH))
    assert ids([found]) == [("peermem-differs-between-nodes", "warning", "beta")]
    assert found.fix == ("on beta:", "sudo modprobe nvidia-peermem")


@pytest.mark.parametrize(
    "fabric",
    [
        modules(WITH, WITHOUT, WITH, integrated=True),
        modules(WITH, WITHOUT, WITH, dma_buf=True),
        modules(WITH, HIDDEN, WITH),
        of_host("modules", WITH, WITHOUT, WITH),
    ],
)
def test_where_the_module_is_not_needed_or_not_known_nothing_is_said(fabric: Fabric) -> None:
    assert check_host_facts(fabric) == ()


@pytest.mark.long
def test_a_thousand_odd_nodes_make_a_finding_one_can_read() -> None:
    (found,) = check_host_facts(of_host("kernel", *["6.8"] * 1101, *[f"6.9.{k}" for k in range(1000)]))
    assert found.subject.endswith("and 996 more")
    assert len(found.evidence) <= 12
    assert len(found.fix) <= 12
    (split,) = check_host_facts(of_host("kernel", *[f"6.9.{k}" for k in range(1000)]))
    assert len(split.evidence) <= 12
    assert split.evidence[-1].text == "the last of 992 more"


def test_without_a_gpu_no_module_is_missed() -> None:
    fabric = of_host("modules", WITH, WITHOUT, WITH)
    bare = Fabric(nodes=tuple(one.model_copy(update={"gpus": HIDDEN}) for one in fabric.nodes))
    assert check_host_facts(bare) == ()


def test_one_gpu_with_dma_buf_is_enough_to_need_no_module() -> None:
    fabric = modules(WITH, WITHOUT, WITH)
    mixed = tuple(one.model_copy(update={"gpus": (gpu(dma_buf=False), gpu(dma_buf=True))}) for one in fabric.nodes)
    assert check_host_facts(Fabric(nodes=mixed)) == ()
    false = tuple(one.model_copy(update={"gpus": (gpu(dma_buf=False, integrated=False),)}) for one in fabric.nodes)
    assert [one.id for one in check_host_facts(Fabric(nodes=false))] == ["peermem-differs-between-nodes"]


def test_where_most_have_no_module_the_odd_one_takes_it_out() -> None:
    (found,) = check_host_facts(modules(WITHOUT, WITH, WITHOUT))
    assert found.fix == ("on beta:", "sudo modprobe -r nvidia-peermem")
    assert found.confidence == "likely"


def test_architectures_are_judged_apart_and_each_by_its_own_majority() -> None:
    kernels = [("x86_64", "6.8"), ("aarch64", "6.17"), ("x86_64", "6.9"), ("x86_64", "6.8"), ("aarch64", "6.17")]
    fabric = nodes_with(kernels, lambda name, facts: with_host(name, arch=facts[0], kernel=facts[1]))
    (found,) = check_host_facts(fabric)
    assert (found.subject, found.evidence[0].text) == ("gamma", "kernel (uname -r): 6.8, as on 2 of 3")
    unknown = nodes_with(kernels, lambda name, facts: with_host(name, arch=HIDDEN, kernel=facts[1]))
    assert check_host_facts(unknown) == ()


def test_every_fact_is_held_against_the_fields_of_a_host() -> None:
    for fact in HOST_FACTS:
        assert fact.field in Host.model_fields and (not fact.group or fact.group in Host.model_fields), fact.field
    assert len({fact.told.id for fact in HOST_FACTS}) == len(HOST_FACTS)


@given(st.lists(st.sampled_from(["6.8", "6.9", None]), min_size=1, max_size=7))
def test_a_finding_is_there_where_two_known_values_are(kernels: list[str | None]) -> None:
    found = check_host_facts(of_host("kernel", *(HIDDEN if one is None else one for one in kernels)))
    assert bool(found) is (len({one for one in kernels if one}) > 1)
