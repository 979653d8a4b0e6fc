"""Every kind of document: renders, fits 80 columns with long names, and can do nothing to a terminal."""

from __future__ import annotations

import shlex
from typing import Any, ClassVar

import pytest
from rich.cells import cell_len

from fabricdoc.errors import UsageError
from fabricdoc.model.documents import Document, Unknown
from fabricdoc.report.kinds import next_command, render

pytestmark = pytest.mark.unit

KEEP = frozenset({"schema_", "created", "fabricdoc", "kind"})


def test_every_kind_renders(samples: Any, shown: Any) -> None:
    for document in samples.all():
        assert shown(render(document)).strip()


@pytest.mark.long
@pytest.mark.parametrize("width", [80, 100])
def test_everything_fits(samples: Any, shown: Any, width: int) -> None:
    for document in (*samples.all(), *samples.all_long()):
        for row in shown(render(document), width).splitlines():
            assert cell_len(row) <= width, (document.kind, row)


def test_a_narrow_screen_is_no_error(samples: Any, shown: Any) -> None:
    for document in (*samples.all(), *samples.all_long()):
        assert shown(render(document), 40)


def test_hostile_text_in_every_field_is_harmless(samples: Any, shown: Any) -> None:
    for document in samples.all():
        hostile = samples.with_every_text(document, samples.hostile, KEEP)
        text = shown(render(hostile))
        assert "\\x1b" in text, document.kind
        left = {letter for letter in text if not letter.isprintable() and letter != "\n"}
        assert left == set(), (document.kind, left)
        assert all(cell_len(row) <= 80 for row in text.splitlines() if " " in row.strip())


def test_a_kind_without_renderer_is_an_error_that_says_so() -> None:
    class Odd(Document):
        kind: ClassVar[str] = "odd"

    with pytest.raises(UsageError, match="odd"):
        render(Odd())


def test_after_a_scan_of_one_node_comes_a_scan_of_two(samples: Any) -> None:
    fabric = samples.fabric().model_copy(update={"failed": (), "findings": (), "links": ()})
    one = fabric.model_copy(update={"nodes": fabric.nodes[:1]})
    after = next_command(one)
    assert after is not None
    assert after[0] == "fabricdoc scan --nodes alpha=netns:4711,OTHER_HOST"


def test_after_proven_cables_comes_the_bench(samples: Any) -> None:
    fabric = samples.fabric().model_copy(update={"failed": (), "findings": ()})
    after = next_command(fabric)
    assert after is not None
    assert after[0] == "fabricdoc bench --nodes alpha=netns:4711,beta=netns:4711"
    ends = [link.a.model_copy(update={"hca": None}) for link in fabric.links]
    bare = fabric.model_copy(update={"links": (fabric.links[0].model_copy(update={"a": ends[0]}),)})
    after = next_command(bare)
    assert after is not None
    assert after[0].endswith(" --ports enp1s0f0np0")
    odd = fabric.model_copy(update={"nodes": (fabric.nodes[0].model_copy(update={"target": "a;b c"}), fabric.nodes[1])})
    after = next_command(odd)
    assert after is not None
    assert shlex.split(after[0])[3] == "alpha=a;b c,beta=netns:4711"


def test_nothing_is_suggested_where_something_is_wrong(samples: Any) -> None:
    fabric = samples.fabric()
    assert next_command(fabric) is None
    assert next_command(fabric.model_copy(update={"failed": ()})) is None
    healthy = fabric.model_copy(update={"failed": (), "findings": ()})
    assert next_command(healthy.model_copy(update={"links": Unknown(unknown="x")})) is None
    unnamed = Unknown(unknown="no port is listed; name the ports: `--ports eth1,eth2`")
    nodes = ",".join(node.name if node.name == node.target else f"{node.name}={node.target}" for node in healthy.nodes)
    assert next_command(healthy.model_copy(update={"links": unnamed})) == (
        f"fabricdoc cables --nodes {nodes} --ports eth1,eth2",
        "prove the cables of these ports",
    )
    assert next_command(samples.verdict().model_copy(update={"conclusive": False})) is None
    assert next_command(samples.gate()) is None


def test_after_a_run_and_a_verdict(samples: Any) -> None:
    run, verdict = next_command(samples.run()), next_command(samples.verdict())
    assert run is not None
    assert verdict is not None
    assert run[0] == "fabricdoc recommend 20260101-000000-ab12"
    assert verdict[0] == "fabricdoc export-env -o ."
    assert next_command(samples.run().model_copy(update={"launches": ()})) is None
