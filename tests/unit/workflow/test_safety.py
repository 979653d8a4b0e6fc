"""The last look: nothing that corrupts data, that the loaded NCCL refuses, or that sets ranks apart is exported."""

from __future__ import annotations

import pytest

from fabricdoc.errors import InputError
from fabricdoc.model.preset import Preset
from fabricdoc.workflow.safety import refuse_unsafe
from tests.unit.export.presets_made import node, pair, preset, printed

pytestmark = pytest.mark.unit


def _pair(first: dict[str, str], second: dict[str, str] | None = None) -> Preset:
    return preset(node("alpha", first), node("beta", first if second is None else second))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"NCCL_PROTO": "LL128"}, "forces LL128"),
        ({"NCCL_PROTO": "^LL"}, "forces LL128"),
        ({"NCCL_ALGO": "Tree"}, "without an algorithm"),
        ({"NCCL_PROTO": "Simpel"}, "no word of this variable"),
        ({"NCCL_IB_TIMEOUT": "99"}, "NCCL_IB_TIMEOUT"),
    ],
)
def test_what_is_unsafe_is_refused_with_the_reason(values: dict[str, str], word: str) -> None:
    with pytest.raises(InputError, match="can't be exported") as caught:
        refuse_unsafe(_pair(values))
    assert word in caught.value.message
    assert caught.value.id == "unsafe-preset"


def test_safe_forms_pass() -> None:
    refuse_unsafe(_pair({"NCCL_ALGO": "ring;allreduce:tree", "NCCL_PROTO": "LL,Simple", "NCCL_NET": "IB"}))


def test_what_must_agree_may_not_differ_and_what_may_differ_may() -> None:
    with pytest.raises(InputError, match="NCCL_PROTO must be equal on all ranks"):
        refuse_unsafe(_pair({"NCCL_PROTO": "LL"}, {"NCCL_PROTO": "Simple"}))
    with pytest.raises(InputError, match="NCCL_BUFFSIZE must be equal on all ranks"):
        refuse_unsafe(_pair({"NCCL_BUFFSIZE": "4194304"}, {}))
    refuse_unsafe(_pair({"NCCL_IB_HCA": "=mlx5_0"}, {"NCCL_IB_HCA": "=mlx5_1"}))


def test_a_gloo_preset_is_let_pass() -> None:
    refuse_unsafe(_pair({"NCCL_PROTO": "LL128"}).model_copy(update={"backend": "gloo"}))


def test_a_form_that_only_a_later_nccl_refuses_is_judged_by_the_nccl_that_ran() -> None:
    """Functions without a default algorithm fail from 2.31 on, and before 2.24 there were none to name."""
    prints = [printed(name, "p0").model_copy(update={"nccl": "2.31.1"}) for name in ("alpha", "beta")]
    bare = _pair({"NCCL_ALGO": "allreduce:tree"})
    with pytest.raises(InputError, match="functions that are not named have no algorithm"):
        refuse_unsafe(preset(*bare.nodes, prints=prints))
    refuse_unsafe(preset(*_pair({"NCCL_ALGO": "ring;allreduce:tree"}).nodes, prints=prints))
    older = [one.model_copy(update={"nccl": "2.23.4"}) for one in prints]
    with pytest.raises(InputError, match=r"since NCCL 2\.24"):
        refuse_unsafe(preset(*_pair({"NCCL_ALGO": "ring;allreduce:tree"}).nodes, prints=older))


def test_a_preset_that_was_never_measured_is_named_by_its_name() -> None:
    starting = _pair({"NCCL_PROTO": "LL128"}).model_copy(update={"run": "", "name": "starting-gb10"})
    with pytest.raises(InputError, match="preset starting-gb10 can't be exported"):
        refuse_unsafe(starting)
    refuse_unsafe(pair())
