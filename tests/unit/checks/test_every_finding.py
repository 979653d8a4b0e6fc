"""Every finding that a scan can decide is told of the fabric that has it and not of the one that nearly has it.

The pairs are in tests/fabrics/ill. An id that a check names and that has no pair there fails here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import fabricdoc
from fabricdoc.checks import check_fabric, load_catalogue
from fabricdoc.checks.judging import between_checks
from fabricdoc.model.documents import NOT_READ
from fabricdoc.model.fabric import Fabric, NodeReport
from tests.fabrics.ill.every import FAMILIES, ILL
from tests.unit.checks.judged import whole

pytestmark = pytest.mark.unit

ROOT = Path(fabricdoc.__file__).parent
NO_FINDING = {"none", "unknown"}  # words of the list that are no cause; checks use them in other senses
EVERY = pytest.mark.parametrize("id_", sorted(ILL))
MOST_FACTS = 24
"""A pair differs in no more leaves of its document than this: an 8-rail server's dma_buf and modules are the most."""


def named_by_checks() -> set[str]:
    """Ids of the list that checks name: as text of their own, in their tables, or made of a kind (pcie-aer-fatal)."""
    presets = (ROOT / "presets" / room for room in ("checks", "signatures"))
    code = "".join(path.read_text() for path in (ROOT / "checks").glob("*.py"))
    tables = "".join(path.read_text() for room in presets for path in room.glob("*.toml"))
    found = set(re.findall(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"', code))
    found |= set(re.findall(r'^finding = "([^"]+)"', tables, re.MULTILINE))
    kinds = tuple(re.findall(r'f"([a-z0-9-]+-)\{', code))
    return {id_ for id_ in load_catalogue() if id_ in found or id_.startswith(kinds)} - NO_FINDING


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every single value of a document with where it stands."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, _key(inner, at)))
    else:
        yield path, value


def _key(member: Any, at: int) -> str | int:
    """What a member of a list is called by, so that those behind one that is gone are still the same."""
    names = [str(member[key]) for key in ("name", "address", "index") if isinstance(member, dict) and key in member]
    return names[0] if names else at


def told_by_nodes(fabric: Fabric) -> set[str]:
    """What the nodes report and which links there are, as single facts; what follows from them is left out."""
    told: dict[str, Any] = {
        node.name: node.model_dump(
            mode="json", include={*NodeReport.model_fields, "clock_offset_s", "gpu_paths", "image"}
        )
        for node in fabric.nodes
    }
    links = fabric.model_dump(mode="json")["links"]
    return {repr(one) for one in leaves(told)} | {f"link {one}" for one in (links if isinstance(links, list) else ())}


@cache
def has(id_: str) -> Fabric:
    return ILL[id_].has()


def ids(fabric: Fabric) -> set[str]:
    """The ids of what is found; every finding is whole, its evidence is of a node and it names one it has."""
    names = {node.name for node in fabric.nodes}
    found = [whole(one) for one in check_fabric(fabric)]
    assert all(piece.file in names for one in found for piece in one.evidence)
    return {one.id for one in found}


def test_every_id_that_a_check_names_has_its_pair_and_no_other_has_one() -> None:
    without = named_by_checks() - set(ILL)
    assert not without, "give each a fabric that has it and one that nearly has it, in tests/fabrics/ill"
    assert set(ILL) <= named_by_checks(), "no check names these any more"
    assert len(ILL) == sum(len(family.ILL) for family in FAMILIES), "an id is in two families"


@pytest.mark.long
@EVERY
def test_the_fabric_that_has_it_is_told_and_the_one_that_nearly_has_it_is_not(id_: str) -> None:
    assert id_ in ids(has(id_))
    assert id_ not in ids(ILL[id_].nearly())


@EVERY
def test_the_two_differ_in_little(id_: str) -> None:
    one, other = told_by_nodes(has(id_)), told_by_nodes(ILL[id_].nearly())
    assert 0 < len(one - other) + len(other - one) <= 2 * MOST_FACTS


@pytest.mark.long
@EVERY
def test_a_saved_document_is_judged_alike(id_: str) -> None:
    again = Fabric.model_validate_json(has(id_).model_dump_json())
    assert check_fabric(again) == check_fabric(has(id_))


@EVERY
def test_the_finding_leaves_when_its_fact_becomes_unknown_with_the_node(id_: str) -> None:
    """A node of which nothing was read is judged of nothing: what is told of the others does not come from it."""
    fabric = has(id_)
    hidden = {"unknown": "time limit"}
    nodes = [node.model_dump(mode="json") for node in fabric.nodes]
    for node in nodes:
        node |= dict.fromkeys(("hcas", "netdevs", "routes", "gpus", "rules", "neighbours", "pcie", "counters"), hidden)
        node |= {"clock_offset_s": hidden, "cages": [], "nccl_gids": [], "gpu_paths": [], "image": NOT_READ}
        node["host"] = {key: hidden if key != "environment" else {} for key in node["host"]}
    bare = Fabric.model_validate({**fabric.model_dump(mode="json"), "nodes": nodes, "findings": []})
    assert ids(bare) == set()


@EVERY
def test_what_needs_several_nodes_has_nothing_to_say_of_one(id_: str) -> None:
    """A check that has is to be asked about single nodes too: one server, or one dump, is scanned as well."""
    for node in has(id_).nodes:
        alone = has(id_).model_copy(update={"nodes": (node,), "links": ()})
        assert [one.id for check in between_checks() for one in check(alone)] == []
