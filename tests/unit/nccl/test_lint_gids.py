"""A pinned GID index on every node it is for: right, empty, link-local, old, or right on one node only."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Gid, Node
from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint_gids import pinned, right_indices
from fabricdoc.nccl.versions import Release
from tests.fabrics import hca, node

pytestmark = pytest.mark.unit

V2, V1, LINK = ("RoCE v2", "10.0.0.1"), ("IB/RoCE v1", "10.0.0.1"), ("RoCE v2", "")


def with_gids(name: str, *hcas: dict[int, tuple[str, str]], state: object = "ACTIVE") -> Node:
    """A node of HCAs r0, r1, ... with these entries: type and IPv4 address, "" for fe80."""
    made = []
    for number, entries in enumerate(hcas):
        gids = tuple(
            Gid(
                index=index,
                gid=f"::ffff:{ip}" if ip else "fe80::1",
                type=kind,
                netdev="e",
                ipv4=ip or None,
                link_local=not ip,
            )
            for index, (kind, ip) in entries.items()
        )
        one = hca(f"r{number}", f"e{number}")
        port = one.ports[0].model_copy(update={"gids": gids, "state": state})
        made.append(one.model_copy(update={"ports": (port,)}))
    return node(name, hcas=made)


USUAL = {0: ("IB/RoCE v1", ""), 1: LINK, 2: V1, 3: V2}


def judged(nodes: Sequence[Node], release: Release | None = None, **values: str) -> list[Complaint]:
    return [one for _, one in pinned([(tuple(nodes), {"NCCL_IB_GID_INDEX": "3"} | values)], release)]


def ids(*nodes: Node, **values: str) -> list[str]:
    return [one.id for one in judged(nodes, **values)]


def test_one_index_that_is_right_everywhere_is_not_told() -> None:
    assert ids(with_gids("a", USUAL, USUAL), with_gids("b", USUAL)) == []


@pytest.mark.parametrize(
    ("index", "expected", "severity"),
    [
        ("0", "gid-index-link-local", "error"),
        ("1", "gid-index-link-local", "error"),
        ("2", "wrong-gid-index", "warning"),
        ("7", "gid-index-drifted", "error"),
    ],
)
def test_what_an_index_may_mean(index: str, expected: str, severity: str) -> None:
    (one,) = judged([with_gids("a", USUAL)], NCCL_IB_GID_INDEX=index)
    assert (one.id, one.severity) == (expected, severity)
    assert "a/r0" in one.message and "right there is 3" in one.message and "leave NCCL_IB_GID_INDEX out" in one.fix


def test_the_right_index_of_each_node_is_named() -> None:
    moved = {0: USUAL[0], 1: LINK, 2: V1, 3: ("RoCE v2", "169.254.1.1"), 4: V2}
    (one,) = judged([with_gids("head", moved), with_gids("worker", USUAL)])
    assert one.id == "gid-index-differs-between-nodes"
    assert "169.254.1.1 on head/r0: right there is 4" in one.message and "right on worker/r0" in one.message


def test_hcas_of_one_node_may_want_different_ones() -> None:
    assert ids(with_gids("a", USUAL, {0: USUAL[0], 4: V2})) == ["gid-index-differs-between-hcas"]


def test_an_old_nccl_needs_the_index_of_each_node() -> None:
    moved = {3: ("RoCE v2", "169.254.1.1"), 4: V2}
    (one,) = judged([with_gids("head", moved), with_gids("worker", USUAL)], (2, 18, 5))
    assert one.fix == "set it per node: NCCL_IB_GID_INDEX=4 for head/r0; NCCL_IB_GID_INDEX=3 for worker/r0"


def test_only_ports_that_may_be_taken_count() -> None:
    nodes = [with_gids("a", USUAL, {4: V2})]
    assert ids(*nodes, NCCL_IB_HCA="=r0") == []
    assert ids(*nodes, NCCL_IB_HCA="^=r1") == []
    assert ids(*nodes, NCCL_IB_HCA="=r1") == ["gid-index-drifted"]
    assert ids(with_gids("a", {4: V2}, state="DOWN")) == []
    assert ids(with_gids("a", {4: V2}, state=Unknown(unknown="show_gids tells none"))) == ["gid-index-drifted"]


def test_what_is_not_pinned_or_not_known_is_not_judged() -> None:
    bad = with_gids("a", {4: V2})
    assert ids(bad, NCCL_IB_GID_INDEX="-1") == ids(bad, NCCL_IB_GID_INDEX="") == []
    assert ids(with_gids("a", {})) == [], "a table that holds nothing was not read"
    unknown = bad.model_copy(update={"hcas": Unknown(unknown="x")})
    assert ids(unknown) == []


def test_several_processes_each_get_their_answer() -> None:
    head, worker = with_gids("head", {4: V2}), with_gids("worker", USUAL)
    meant = [((head,), {"NCCL_IB_GID_INDEX": "4"}), ((worker,), {"NCCL_IB_GID_INDEX": "4"})]
    assert [(number, one.id) for number, one in pinned(meant, None)] == [(1, "gid-index-differs-between-nodes")]
    meant[1] = ((worker,), {"NCCL_IB_GID_INDEX": "3"})
    assert list(pinned(meant, None)) == [], "each node has its own right one"


def test_link_local_addresses_count_where_there_is_nothing_else() -> None:
    port = with_gids("a", {3: ("RoCE v2", "169.254.1.1")}).hcas[0].ports[0]  # type: ignore[index]
    assert right_indices(port) == (3,)
