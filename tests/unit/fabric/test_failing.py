"""Nodes that fail on the way: each once in the document, by its first error, and asked no more."""

from __future__ import annotations

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.fabric.failing import standing, with_failed
from fabricdoc.model.fabric import FailedNode
from fabricdoc.transport import NodeSpec
from tests.fabrics import crossed_pair

pytestmark = pytest.mark.unit

SPECS = [NodeSpec(name, "local") for name in ("beta", "alpha", "gone")]


def test_a_node_that_fails_is_named_with_its_target_its_reason_and_what_to_do() -> None:
    fabric = with_failed(crossed_pair(), {"beta": NodeError("beta: it fell", fix="look", id="probe-failed")})
    assert fabric.failed == (
        FailedNode(name="beta", target=fabric.nodes[1].target, id="probe-failed", message="beta: it fell", fix="look"),
    )
    assert fabric.nodes == crossed_pair().nodes


def test_the_first_error_of_a_node_stands_and_strangers_are_passed_over() -> None:
    once = with_failed(crossed_pair(), {"beta": NodeError("first"), "stranger": NodeError("x")})
    again = with_failed(once, {"beta": NodeError("second"), "alpha": NodeError("now alpha")})
    assert [(one.name, one.message) for one in again.failed] == [("beta", "first"), ("alpha", "now alpha")]


def test_without_failures_the_fabric_is_the_same() -> None:
    fabric = crossed_pair()
    assert with_failed(fabric, {}) is fabric


def test_those_that_were_read_and_have_not_failed_are_asked_on_in_their_order() -> None:
    assert [spec.name for spec in standing(SPECS, crossed_pair())] == ["beta", "alpha"]
    fallen = with_failed(crossed_pair(), {"beta": NodeError("it fell")})
    assert [spec.name for spec in standing(SPECS, fallen)] == ["alpha"]
