"""Whose values are written when nobody, or somebody wrong, was named."""

from __future__ import annotations

import pytest

from fabricdoc.errors import ExitStatus, UsageError
from fabricdoc.export import choose_node
from fabricdoc.export.content import settings
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.preset import Fingerprint, Line, NodePreset, NodePrint, Preset

pytestmark = pytest.mark.unit

NO = Unknown(unknown="not looked at")


def node(name: str, hca: str, target: str = "") -> NodePreset:
    line = Line(name="NCCL_IB_HCA", value=hca, kind="placed", evidence="proof")
    return NodePreset(name=name, target=target or name, lines=(line,))


def printed(name: str, hostname: Fact[str]) -> NodePrint:
    return NodePrint(name=name, hostname=hostname, kernel=NO, torch=NO, nccl=NO, nvidia_driver=NO)


def preset(*nodes: NodePreset, prints: tuple[NodePrint, ...] = ()) -> Preset:
    return Preset(
        name="pair",
        run="r1",
        backend="nccl",
        objective="decode",
        profile="tiny",
        choice="base",
        reason="",
        exercised="",
        nodes=nodes,
        fingerprint=Fingerprint(nodes=prints),
    )


ALPHA, BETA = node("alpha", "=a0"), node("beta", "=b0")


def test_the_named_node() -> None:
    assert choose_node(preset(ALPHA, BETA), "beta", "elsewhere") is BETA


def test_a_wrong_name_shows_the_names_and_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        choose_node(preset(ALPHA, BETA), "betta", "x")
    assert "did you mean beta?" in caught.value.fix
    assert "alpha, beta" in caught.value.fix
    with pytest.raises(UsageError) as caught:
        choose_node(preset(ALPHA, BETA), "zzzz", "x")
    assert "did you mean" not in caught.value.fix


def test_this_machine_by_recorded_hostname() -> None:
    prints = (printed("alpha", "spark-1"), printed("beta", "spark-2"))
    assert choose_node(preset(ALPHA, BETA, prints=prints), None, "spark-2") is BETA


def test_a_recorded_hostname_beats_the_target_local() -> None:
    """A preset made on alpha and copied to beta must not give beta alpha's HCA list."""
    here = node("alpha", "=a0", target="local")
    prints = (printed("alpha", "spark-1"), printed("beta", "spark-2"))
    assert choose_node(preset(here, BETA, prints=prints), None, "spark-2") is BETA
    with pytest.raises(UsageError):
        choose_node(preset(here, BETA, prints=prints), None, "spark-9")


def test_local_and_the_name_count_where_no_hostname_is_known() -> None:
    here = node("alpha", "=a0", target="local")
    assert choose_node(preset(here, BETA), None, "anything") is here
    assert choose_node(preset(ALPHA, BETA, prints=(printed("beta", NO),)), None, "beta") is BETA


def test_a_shared_hostname_decides_nothing_unless_one_is_local() -> None:
    prints = (printed("alpha", "box"), printed("beta", "box"))
    with pytest.raises(UsageError):
        choose_node(preset(ALPHA, BETA, prints=prints), None, "box")
    here = node("alpha", "=a0", target="local")
    assert choose_node(preset(here, BETA, prints=prints), None, "box") is here


def test_equal_values_need_no_name() -> None:
    twin = node("beta", "=a0")
    assert settings(choose_node(preset(ALPHA, twin), None, "elsewhere")) == [("NCCL_IB_HCA", "=a0")]


def test_differing_values_end_with_commands_to_paste() -> None:
    spaced = node("node two", "=c0")
    with pytest.raises(UsageError) as caught:
        choose_node(preset(ALPHA, spaced), None, "elsewhere", "fabricdoc export-env pair.toml")
    assert caught.value.status is ExitStatus.USAGE
    assert "fabricdoc export-env pair.toml --node alpha" in caught.value.fix
    assert "fabricdoc export-env pair.toml --node 'node two'" in caught.value.fix
    assert "elsewhere" in caught.value.message
    with pytest.raises(UsageError) as caught:
        choose_node(preset(ALPHA, spaced), None, "elsewhere")
    assert caught.value.fix == "add --node alpha  or  --node 'node two'", "the user's own words are his to keep"


def test_a_preset_without_nodes() -> None:
    with pytest.raises(UsageError, match="no node"):
        choose_node(preset(), None, "x")


def test_head_is_the_first_node_and_worker_the_others() -> None:
    both = preset(ALPHA, BETA)
    assert choose_node(both, "head", "x") is ALPHA
    assert choose_node(both, "worker", "x") is BETA
    assert choose_node(preset(ALPHA), "head", "x") is ALPHA


def test_a_node_that_is_called_so_beats_the_role() -> None:
    swapped = preset(node("worker", "=w"), node("head", "=h"))
    assert choose_node(swapped, "head", "x").name == "head"


def test_workers_that_differ_are_named() -> None:
    ring = preset(ALPHA, BETA, node("gamma", "=g"))
    with pytest.raises(UsageError, match="workers of preset pair differ") as caught:
        choose_node(ring, "worker", "x")
    assert "beta, gamma" in caught.value.fix
    assert choose_node(preset(ALPHA, BETA, node("gamma", "=b0")), "worker", "x") is BETA


def test_a_single_node_has_no_worker() -> None:
    with pytest.raises(UsageError, match="no worker"):
        choose_node(preset(ALPHA), "worker", "x")
