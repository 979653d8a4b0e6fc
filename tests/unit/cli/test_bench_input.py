"""What `bench` is given wrong, as a user meets it: exit status, what is wrong, the line that helps; nothing is started.

The nodes of these commands do not exist: whoever asked one would wait. What needs nodes to be refused is shown where it
is decided: tests/unit/workflow (field, choosing, planning, readiness) and tests/unit/bench.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.bench import Agents
from fabricdoc.cli import main
from fabricdoc.model.fabric import Fabric, FailedNode
from tests.fabrics import crossed_pair
from tests.fabrics.altering import changed
from tests.unit.workflow.asked import Answered

pytestmark = pytest.mark.unit

NODES = ["--nodes", "alpha=nowhere.invalid,beta=nowhere-else.invalid"]
ONE = """
[[candidate]]
name = "{name}"
why = "a test"
source = "this test"
targets = ["none"]
[candidate.variables]
{variable} = "{value}"
"""


def refused(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> tuple[str, str]:
    """What is said, and the fix."""
    assert main(["bench", *NODES, *words, "--json"]) == status
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == status
    return document["message"], " ".join(document["fix"]) if isinstance(document["fix"], list) else document["fix"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sizes", "8,abc"), "not a message size: 'abc'"),
        (("--sizes", "0"), "not a message size: '0'"),
        (("--sizes", "-8"), "not a message size: '-8'"),
        (("--sizes", "2G"), "not a message size: '2G'"),
        (("--sizes", ",".join(str(8 * n) for n in range(1, 67))), "66 message sizes: at most 64"),
        (("--budget", "soon"), "not a duration: 'soon'"),
        (("--effect", "0"), "not a difference: '0'"),
        (("--gemm", "8x8"), "not a matrix product: '8x8'"),
        (("--path", "both", "--backend", "gloo"), "--path both times NCCL's own calls"),
        (("--deadline", "mesure=9"), "not a phase: 'mesure'"),
        (("--deadline", "measure=9,measure=8"), "two deadlines for measure"),
        (("--ops", "all_sum"), "unknown collective: 'all_sum'"),
        (("--dtype", "fp8"), "unknown type: 'fp8'"),
        (("--candidates", "decod", "--backend", "nccl"), "no candidate set is called 'decod'"),
        (("--candidates", "roce", "--backend", "gloo"), "roce holds candidates for nccl"),
        (("--current", "pid:x"), "no process number"),
        (("--profile", "no-such"), "no-such"),
        (("--engine", "tgi"), "no engine is called 'tgi'"),
    ],
)
def test_words_that_mean_nothing_are_usage_and_no_node_is_asked(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    message, fix = refused(capsys, 2, *words)
    assert said in message
    assert fix


@pytest.mark.parametrize(("blocks", "status"), [("0", 2), ("1000", 2), ("six", 2)])
def test_blocks_have_bounds(capsys: pytest.CaptureFixture[str], blocks: str, status: int) -> None:
    assert main(["bench", *NODES, "--blocks", blocks]) == status
    assert "--blocks" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        ([("a", "NCCL_IB_TCC", "1")], "no variable NCCL_IB_TCC is known"),
        ([("a", "NCCL_IB_TC", "1"), ("a", "NCCL_IB_TC", "2")], "the name is used twice"),
        ([("a", "NCCL_PROTO", "LL128")], "LL128"),
    ],
    ids=["unknown-variable", "equal-names", "ll128-forced"],
)
def test_a_file_of_candidates_that_can_not_be_run_is_refused_with_its_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, candidates: list[tuple[str, str, str]], said: str
) -> None:
    text = 'backend = "nccl"\nsummary = "mine"\n'
    text += "".join(ONE.format(name=name, variable=variable, value=value) for name, variable, value in candidates)
    (tmp_path / "mine.toml").write_text(text)
    message, _ = refused(capsys, 2, "--backend", "nccl", "--candidates", str(tmp_path / "mine.toml"))
    assert said in message
    assert "mine.toml line " in message


class Silent(Agents):
    """Agents that have said hello already; nothing is started."""

    told: Answered

    def __init__(self, specs: Any) -> None:
        super().__init__(specs)
        self.hello = self.told.hello

    def restart(self, environment: Any = None) -> dict[str, tuple[int, ...]]:
        return {}


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """`looked_at(fabric, **hello)`: the command finds this fabric, and agents that say this."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def look_at(fabric: Fabric, **hello: Any) -> Answered:
        Silent.told = Answered(**hello)
        monkeypatch.setattr("fabricdoc.workflow.looking.look", lambda specs, progress, **_more: fabric)
        monkeypatch.setattr("fabricdoc.workflow.look", lambda specs, progress, **_more: fabric, raising=False)
        monkeypatch.setattr("fabricdoc.workflow.measuring.Agents", Silent)
        return Silent.told

    return look_at


@pytest.mark.parametrize(
    ("words", "hello", "status", "said"),
    [
        (("--budget", "3s"), {}, 2, "a budget of 3s fits 0 blocks"),
        (("--effect", "0.1%", "--candidates", "decode"), {}, 2, "is not to be seen in 999 blocks"),
        (("--backend", "nccl"), {"backends": ["gloo"]}, 4, "no NCCL on alpha, beta"),
        (("--path", "direct"), {"gpus": 0}, 2, "--path direct times NCCL's own calls"),
        (("--ranks-per-node", "2"), {}, 4, "2 ranks per node need as many GPUs: alpha has 1, beta has 1"),
    ],
)
def test_what_only_the_nodes_can_tell_is_refused_before_a_launch(
    capsys: pytest.CaptureFixture[str],
    looked_at: Any,
    words: tuple[str, ...],
    hello: dict[str, Any],
    status: int,
    said: str,
) -> None:
    looked_at(crossed_pair(), **hello)
    message, fix = refused(capsys, status, *words)
    assert said in message
    assert fix


def test_mixed_builds_are_named_by_node(capsys: pytest.CaptureFixture[str], looked_at: Any) -> None:
    looked_at(crossed_pair()).hello["beta"]["nccl"] = "2.27.3"
    message, fix = refused(capsys, 4)
    assert "2.28.9 on alpha, 2.27.3 on beta" in message
    assert "same torch" in fix


def test_memory_below_the_need_is_told_with_figures(capsys: pytest.CaptureFixture[str], looked_at: Any) -> None:
    looked_at(changed(crossed_pair(), "beta", "host", memory_available=2 << 30))
    message, _ = refused(capsys, 4)
    assert message.startswith("beta: 2.0 GiB of memory are free; a launch needs ")


def test_one_node_alone_is_told_what_to_add(capsys: pytest.CaptureFixture[str], looked_at: Any) -> None:
    fabric = crossed_pair()
    looked_at(fabric.model_copy(update={"nodes": fabric.nodes[:1]}))
    message, fix = refused(capsys, 2)
    assert "nothing between nodes to measure" in message
    assert "--nodes" in fix


def test_a_node_that_is_gone_is_named_with_its_own_fix(capsys: pytest.CaptureFixture[str], looked_at: Any) -> None:

    gone = FailedNode(name="beta", target="b", id="node-unreachable", message="beta: no route", fix="switch it on")
    looked_at(crossed_pair().model_copy(update={"failed": (gone,)}))
    assert refused(capsys, 4) == ("beta: no route", "switch it on")


def test_settings_that_must_agree_and_differ_are_not_run_and_the_plan_says_so(
    capsys: pytest.CaptureFixture[str], looked_at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at(crossed_pair())
    values = {"alpha": {"NCCL_PROTO": "LL"}, "beta": {"NCCL_PROTO": "Simple"}}
    monkeypatch.setattr("fabricdoc.workflow.choosing.read_on_nodes", lambda source, specs: values)
    assert main(["bench", *NODES, "--current", "pid:7", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert "current" not in {one["role"] for one in plan["candidates"]}
    (left,) = [one for one in plan["not_offered"] if one["name"] == "current"]
    assert "NCCL_PROTO" in left["reason"]


def test_a_dry_run_shows_the_arms_and_starts_nothing(capsys: pytest.CaptureFixture[str], looked_at: Any) -> None:
    looked_at(crossed_pair())
    words = ["--skew", "--gemm", "8x64x64", "--path", "both", "--deadline", "measure=2m", "--effect", "5%"]
    assert main(["bench", *NODES, *words, "--dry-run"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "path both; arrival skew by gates; a product 8x64x64 before each timed call; deadlines measure 120 s" in said
