"""Listening for LLDP: what each node's probe says becomes its fact, checked; one that fails costs only itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import NodeError
from fabricdoc.fabric import hearing_lldp
from fabricdoc.fabric.hearing_lldp import hear_lldp, with_heard
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import LldpNeighbour, Node
from fabricdoc.transport import NodeSpec
from tests.fabrics import crossed_pair, node

pytestmark = pytest.mark.unit

BETA = {"netdev": "p0", "chassis": "c", "port": "p1", "system": "beta", "port_description": "", "bridge": False}
SPECS = [NodeSpec("alpha", "local"), NodeSpec("beta", "local"), NodeSpec("gone", "local")]


class Pretend:
    """Channels whose probes answer with the given messages, in order."""

    def __init__(self, said: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self.said, self.sent = list(said), dict[str, dict[str, Any]]()
        self.names = ("alpha", "beta")

    def __enter__(self) -> Pretend:
        return self

    def __exit__(self, *_words: object) -> None:
        pass

    def send(self, name: str, message: dict[str, Any]) -> None:
        self.sent[name] = message

    def receive(self, timeout_s: float) -> tuple[str, dict[str, Any]] | None:
        assert timeout_s <= 60
        return self.said.pop(0) if self.said else None


def heard(monkeypatch: pytest.MonkeyPatch, *said: tuple[str, dict[str, Any]]) -> tuple[Pretend, dict[str, Any]]:
    channels = Pretend(said)
    monkeypatch.setattr(hearing_lldp, "open_some", lambda specs, _module: (channels, {}))
    monkeypatch.setattr(hearing_lldp, "ANSWER_S", -30.0)
    fabric = hear_lldp(SPECS, crossed_pair(), lambda _line: None)
    failed = [(one.name, one.id, one.fix) for one in fabric.failed]
    return channels, {one.name: one.lldp for one in fabric.nodes} | {"failed": failed}


def test_every_node_listens_on_its_ports_and_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    channels, told = heard(
        monkeypatch, ("beta", {"event": "result", "lldp": []}), ("alpha", {"event": "result", "lldp": [BETA]})
    )
    assert channels.sent["alpha"] == {"do": "hear", "ports": ["p0", "p1"], "seconds": 30.0}
    assert told == {"alpha": (LldpNeighbour.model_validate(BETA),), "beta": (), "failed": []}


def test_one_that_is_late_or_ends_is_a_failed_node_and_costs_only_its_own_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = ("alpha", {"event": "result", "lldp": [BETA]})
    closed = {"event": "closed", "message": "beta: killed", "id": "probe-failed", "fix": "look"}
    _, told = heard(monkeypatch, answer, ("beta", closed))
    assert told["beta"] == Unknown(unknown="beta: killed")
    assert told["failed"] == [("beta", "probe-failed", "look")]
    _, told = heard(monkeypatch, answer)
    assert told["beta"] == Unknown(unknown="beta: the LLDP probe did not answer in 0 s")
    assert told["failed"] == [("beta", "node-timeout", "run `fabricdoc scan` to see why")]
    assert isinstance(told["alpha"], tuple)


def test_a_node_that_answers_and_then_ends_keeps_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = {"event": "closed", "message": "x", "id": "x", "fix": ""}
    answers = [(name, {"event": "result", "lldp": []}) for name in ("alpha", "beta")]
    _, told = heard(monkeypatch, answers[0], ("alpha", closed), answers[1])
    assert (told["alpha"], told["beta"], told["failed"]) == ((), (), [])


def test_a_probe_that_does_not_start_costs_only_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = NodeError("beta: no python3 there", fix="install it", id="python-missing")
    channels = Pretend([("alpha", {"event": "result", "lldp": [BETA]})])
    channels.names = ("alpha",)
    monkeypatch.setattr(hearing_lldp, "open_some", lambda specs, _module: (channels, {"beta": gone}))
    fabric = hear_lldp(SPECS, crossed_pair(), lambda _line: None)
    assert [one.lldp for one in fabric.nodes] == [
        (LldpNeighbour.model_validate(BETA),),
        Unknown(unknown="beta: no python3 there"),
    ]
    assert [(one.name, one.fix) for one in fabric.failed] == [("beta", "install it")]


def test_what_lldpd_told_stays_and_wins() -> None:
    known = LldpNeighbour.model_validate({**BETA, "port_description": "of lldpd"})
    before = node("alpha").model_copy(update={"lldp": (known,)})
    after = with_heard(before, [BETA, {**BETA, "netdev": "p1"}]).lldp
    assert isinstance(after, tuple)
    assert [(one.netdev, one.port_description) for one in after] == [("p0", "of lldpd"), ("p1", "")]
    assert with_heard(before, {"unknown": "no right"}) == before
    assert with_heard(node("alpha"), {"unknown": "no right"}).lldp == Unknown(unknown="no right")
    assert with_heard(before, None) is before


@pytest.mark.parametrize(
    "said",
    [
        3,
        "x",
        [3],
        [{}],
        [{**BETA, "bridge": 1}],
        [{**BETA, "extra": 1}],
        [BETA] * 5000,
        [{**BETA, "system": "x" * 256}],
        {},
    ],
)
def test_an_answer_that_is_none_is_refused_with_a_reason(said: Any) -> None:
    lldp = with_heard(node("alpha"), said).lldp
    assert isinstance(lldp, Unknown)
    assert lldp.unknown.startswith("the LLDP probe's answer is not valid: ")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda i: st.lists(i) | st.dictionaries(st.text(), i)
)


@pytest.mark.long
@given(JSON)
def test_any_answer_leaves_a_node(said: Any) -> None:
    assert isinstance(with_heard(node("alpha"), said), Node)
