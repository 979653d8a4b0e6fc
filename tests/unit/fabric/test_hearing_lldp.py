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
    monkeypatch.setattr(hearing_lldp, "open_channels", lambda specs, _module: channels)
    fabric = hear_lldp(SPECS, crossed_pair(), lambda _line: None)
    return channels, {one.name: one.lldp for one in fabric.nodes}


def test_every_node_listens_on_its_ports_and_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    channels, told = heard(monkeypatch, ("beta", {"lldp": []}), ("alpha", {"lldp": [BETA]}))
    assert channels.sent["alpha"] == {"do": "hear", "ports": ["p0", "p1"], "seconds": 30.0}
    assert told == {"alpha": (LldpNeighbour.model_validate(BETA),), "beta": ()}


def test_one_that_is_late_or_ends_costs_only_its_own_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    _, told = heard(monkeypatch, ("alpha", {"lldp": [BETA]}), ("beta", {"event": "closed", "message": "beta: killed"}))
    assert told["beta"] == Unknown(unknown="beta: killed")
    _, told = heard(monkeypatch, ("alpha", {"lldp": [BETA]}))
    assert told["beta"] == Unknown(unknown="the LLDP probe did not answer within 50 s")
    assert isinstance(told["alpha"], tuple)


def test_a_node_that_answers_and_then_ends_keeps_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = {"event": "closed", "message": "x"}
    _, told = heard(monkeypatch, ("alpha", {"lldp": [BETA]}), ("alpha", closed), ("beta", {"lldp": []}))
    assert isinstance(told["alpha"], tuple)


def test_no_probe_at_all_is_unknown_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_words: object) -> None:
        raise NodeError("no python3 on beta")

    monkeypatch.setattr(hearing_lldp, "open_channels", fails)
    fabric = hear_lldp(SPECS, crossed_pair(), lambda _line: None)
    assert {one.lldp for one in fabric.nodes} == {Unknown(unknown="no python3 on beta")}


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


@given(JSON)
def test_any_answer_leaves_a_node(said: Any) -> None:
    assert isinstance(with_heard(node("alpha"), said), Node)
