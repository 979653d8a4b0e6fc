"""Which checks are run: all that could say something, and nothing that could not is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fabricdoc.checks import check_fabric, judging
from fabricdoc.checks.judging import between_checks, checks_for, one_node_checks
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.oddities import ODDITIES
from tests.fabrics.recorded import RECORDED

pytestmark = pytest.mark.unit

ALL = {**RECORDED, **ODDITIES}
TREE = Path(__file__).resolve().parents[3]


def without_hcas(fabric: Fabric) -> Fabric:
    return fabric.model_copy(update={"nodes": tuple(n.model_copy(update={"hcas": ()}) for n in fabric.nodes)})


def alone(fabric: Fabric) -> list[Fabric]:
    return [fabric.model_copy(update={"nodes": (node,), "links": ()}) for node in fabric.nodes]


def as_words(findings: object) -> list[str]:
    return sorted(map(repr, findings))  # type: ignore[call-overload]


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_what_is_left_out_had_nothing_to_say(name: str) -> None:
    fabric = ALL[name]()
    for one in (fabric, without_hcas(fabric), *alone(fabric)[:2]):
        everything = [finding for check in (*one_node_checks(), *between_checks()) for finding in check(one)]
        assert as_words(check_fabric(one)) == as_words(everything)


def test_every_module_with_a_check_is_in_one_list() -> None:
    folder = TREE / "fabricdoc" / "checks"
    modules = {path.stem for path in folder.glob("*.py") if f"def check_{path.stem}(" in path.read_text()}
    listed = [
        *judging.WITH_HCAS, *judging.ALWAYS, *judging.WITH_COUNTERS, *judging.WITH_IMAGES, *judging.BETWEEN,
    ]  # fmt: skip
    between = {check.__name__.removeprefix("check_") for check in between_checks()} - set(judging.BETWEEN)
    assert len(listed) == len(set(listed))
    assert set(listed) | between == modules
    assert not set(listed) & between


@pytest.mark.long
def test_one_machine_without_hcas_loads_few_checks() -> None:
    fabric = ALL["laptop"]()
    assert set(checks_for(fabric)) < set(one_node_checks())
    program = (
        "import sys\n"
        "from tests.fabrics.recorded import RECORDED\n"
        "fabric = RECORDED['laptop']()\n"
        "before = set(sys.modules)\n"
        "from fabricdoc.checks import check_fabric\n"
        "check_fabric(fabric)\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=TREE, capture_output=True, text=True, timeout=60, check=True
    )
    loaded = done.stdout.split()
    assert "fabricdoc.checks.environment" in loaded
    assert not {"fabricdoc.checks.between", "fabricdoc.checks.links", "fabricdoc.checks.counters"} & set(loaded)


def test_checks_between_nodes_are_asked_only_where_there_are_several() -> None:
    names = {check.__name__ for check in between_checks()}
    assert not names & {check.__name__ for check in checks_for(alone(ALL["servers"]())[0])}
    assert names <= {check.__name__ for check in checks_for(ALL["servers"]())}


def test_counters_are_asked_only_where_some_were_read() -> None:
    fabric = ALL["servers"]()
    bare = fabric.model_copy(update={"nodes": tuple(n.model_copy(update={"counters": ()}) for n in fabric.nodes)})
    asked = [{check.__name__ for check in checks_for(one)} for one in (fabric, bare)]
    assert asked[0] - asked[1] == {"check_counters"}


def test_findings_come_in_one_order_whatever_the_order_of_the_nodes() -> None:
    fabric = ALL["servers-bad-rail"]()
    turned = fabric.model_copy(update={"nodes": fabric.nodes[::-1]})
    order = [(one.severity, one.id, one.subject) for one in check_fabric(fabric)]
    assert order == [(one.severity, one.id, one.subject) for one in check_fabric(turned)]
    ranks = [judging.ORDER.index(severity) for severity, _id, _subject in order]
    assert ranks == sorted(ranks)


def test_an_empty_fabric_asks_only_what_is_always_asked() -> None:
    assert {check.__name__ for check in checks_for(Fabric())} == {f"check_{name}" for name in judging.ALWAYS}


def test_judging_again_keeps_what_only_the_wire_told_and_makes_the_rest_anew() -> None:
    fabric = ALL["servers-bad-rail"]()
    first, *_others = check_fabric(fabric)
    wired = first.model_copy(update={"id": "link-one-way", "subject": "told by beacons"})
    stale = first.model_copy(update={"id": "half-duplex", "subject": "no longer so"})
    again = judging.judged(fabric.model_copy(update={"findings": (wired, stale)}))
    assert again.findings == (*check_fabric(fabric), wired)
    assert judging.judged(again) == again


def test_images_are_asked_about_only_where_one_is_named() -> None:
    fabric = ALL["spark-one-cable"]()
    named = changed(fabric, "spark-a", "node", image=Unknown(unknown="docker knows no such image: x"))
    asked = [{check.__name__ for check in checks_for(one)} for one in (fabric, named)]
    assert asked[1] - asked[0] == {"check_images"}
