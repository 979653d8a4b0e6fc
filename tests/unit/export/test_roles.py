"""Leader and worker where one template serves all workers."""

from __future__ import annotations

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export.content import Content
from fabricdoc.export.roles import by_role, role_of
from tests.unit.export.presets_made import HEAD, WORKER, node, pair, preset

pytestmark = pytest.mark.unit


def test_a_pair_has_both() -> None:
    both = pair()
    content = Content(both, both.nodes)
    assert by_role(content, "it") == [("leader", both.nodes[0]), ("worker", both.nodes[1])]
    assert role_of(content, both.nodes[1]) == "worker"


def test_one_node_alone_keeps_its_role() -> None:
    both = pair()
    assert by_role(Content(both, both.nodes[1:]), "it") == [("worker", both.nodes[1])]


def test_workers_that_are_alike_share_a_template_and_others_do_not() -> None:
    alike = preset(node("a", HEAD), node("b", WORKER), node("c", WORKER))
    assert [role for role, _ in by_role(Content(alike, alike.nodes), "it")] == ["leader", "worker"]
    mixed = preset(node("a", WORKER), node("b", WORKER), node("c", HEAD))
    with pytest.raises(UsageError, match="b and c differ") as caught:
        by_role(Content(mixed, mixed.nodes), "it")
    assert "--node b" in caught.value.fix
