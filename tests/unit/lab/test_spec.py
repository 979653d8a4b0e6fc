"""The rules of a lab: names, counts, cabling and addresses."""

from __future__ import annotations

import dataclasses
import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.lab.spec import LabSpec, address, check_name, lab_node, port_name, rail_of, rails_of

pytestmark = pytest.mark.unit

HOSTILE = [
    "",
    ".",
    "..",
    "-rf",
    "a-",
    "a/b",
    "../up",
    "a b",
    "a\n",
    "a\0",
    "$(id)",
    "a;b",
    "a.b",
    "a_b",
    "é",
    "a" * 33,
    "\u0661",  # a digit, but not an ASCII one
    None,
    7,
]

specs = st.builds(
    LabSpec,
    nodes=st.integers(2, 32).map(lambda count: tuple(f"n{i}" for i in range(count))),
    rails=st.integers(1, 8),
    cabling=st.sampled_from(["straight", "crossed"]),
)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused_for_nodes_and_labs(name: object) -> None:
    with pytest.raises(UsageError, match="node name"):
        LabSpec(nodes=("alpha", name))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="lab name"):
        check_name(name, "lab name")


@pytest.mark.parametrize("name", ["a", "0", "Alpha", "node-1", "a" * 32])
def test_host_names_are_taken(name: str) -> None:
    assert check_name(name, "node name") == name


@given(st.text(max_size=40))
def test_a_taken_name_is_safe_as_host_name_file_name_and_word(name: str) -> None:
    try:
        check_name(name, "node name")
    except UsageError:
        return
    assert name.isascii()
    assert name.replace("-", "").isalnum()
    assert not name.startswith("-")
    assert 1 <= len(name) <= 32


@pytest.mark.parametrize(
    "values",
    [
        {"nodes": ("alone",)},
        {"nodes": ("twin", "twin")},
        {"nodes": tuple(f"n{i}" for i in range(33))},
        {"rails": 0},
        {"rails": 9},
        {"rails": True},
        {"rails": "2"},
        {"cabling": "loose"},
        {"mtu": 575},
        {"mtu": 65536},
        {"rate_mbit": 0},
        {"rate_mbit": 34001},
        {"rate_mbit": 1.5},
    ],
)
def test_what_cannot_be_built_is_a_usage_error(values: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        LabSpec(**values)  # type: ignore[arg-type]


def test_the_default_is_two_nodes_two_crossed_rails() -> None:
    spec = LabSpec()
    assert (spec.nodes, spec.rails, spec.cabling, spec.rate_mbit, spec.mtu) == (
        ("alpha", "beta"),
        2,
        "crossed",
        None,
        9000,
    )
    assert [rail_of(spec, 0, port) for port in (0, 1)] == [0, 1]
    assert [rail_of(spec, 1, port) for port in (0, 1)] == [1, 0]


def test_a_spec_survives_json_lists() -> None:
    spec = LabSpec(nodes=["a", "b"])  # type: ignore[arg-type]
    assert spec == LabSpec(nodes=("a", "b"))
    assert LabSpec(**dataclasses.asdict(spec)) == spec
    assert hash(spec)


@given(specs)
def test_every_node_has_each_rail_once_and_the_wiring_is_its_own_inverse(spec: LabSpec) -> None:
    for node in range(len(spec.nodes)):
        rails = [rail_of(spec, node, port) for port in range(spec.rails)]
        assert sorted(rails) == list(range(spec.rails))
        assert [rail_of(spec, node, rail) for rail in rails] == list(range(spec.rails))
        if spec.cabling == "straight" or node % 2 == 0:
            assert rails == list(range(spec.rails))
        else:
            assert rails == list(range(spec.rails))[::-1]


@given(specs)
def test_addresses_are_unique_and_each_rail_is_one_subnet(spec: LabSpec) -> None:
    nodes = [lab_node(spec, index, 100 + index) for index in range(len(spec.nodes))]
    every = [ipaddress.ip_address(text) for node in nodes for text in node.addresses]
    assert len(set(every)) == len(every)
    for index, node in enumerate(nodes):
        for port, text in enumerate(node.addresses):
            rail = rail_of(spec, index, port)
            assert ipaddress.ip_address(text) in ipaddress.ip_network(f"10.77.{rail}.0/24")
            assert text == address(rail, index)


def test_in_a_ring_port_0_of_each_node_meets_port_1_of_the_next() -> None:
    spec = LabSpec(nodes=("a", "b", "c"), cabling="ring")
    assert rails_of(spec) == [[(0, 0), (1, 1)], [(1, 0), (2, 1)], [(0, 1), (2, 0)]]
    assert lab_node(spec, 0, 7).addresses == ("10.77.0.1", "10.77.2.1")


@pytest.mark.parametrize("values", [{}, {"nodes": ("a", "b", "c"), "rails": 3}, {"nodes": ("a", "b", "c"), "rails": 1}])
def test_a_ring_takes_three_nodes_and_two_ports_each(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="a ring joins"):
        LabSpec(cabling="ring", **values)


@given(specs)
def test_every_port_is_on_one_rail_and_every_rail_has_one_port_of_each_node(spec: LabSpec) -> None:
    rails = rails_of(spec)
    assert len(rails) == spec.rails
    assert sorted(place for places in rails for place in places) == [
        (node, port) for node in range(len(spec.nodes)) for port in range(spec.rails)
    ]
    assert all([node for node, _port in places] == list(range(len(spec.nodes))) for places in rails)


def test_a_node_names_its_target_and_its_ports_in_order() -> None:
    node = lab_node(LabSpec(rails=3), 1, 4711, ("a note",))
    assert (node.name, node.pid, node.target, node.notes) == ("beta", 4711, "netns:4711", ("a note",))
    assert node.ports == ("enp1s0f0np0", "enp1s0f1np1", "enp1s0f2np2")
    assert node.addresses == ("10.77.2.2", "10.77.1.2", "10.77.0.2")


@given(st.integers(0, 7))
def test_a_port_name_is_one_the_kernel_takes(port: int) -> None:
    assert len(port_name(port)) <= 15
