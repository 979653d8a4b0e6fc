"""Policy on top of speed: reasons, what stays unset, what a platform ignores, and the time a preset holds."""

from __future__ import annotations

import pytest

from fabricdoc.files import shipped
from fabricdoc.model.policy import Policy
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Candidate, Run
from fabricdoc.nccl import catalogue
from fabricdoc.tuning import build_preset, judge
from fabricdoc.tuning.policy import expiry, ignored_on, reason_of

pytestmark = pytest.mark.unit


def _run(synthetic, gpus: tuple[str, ...] = ("NVIDIA H200",), **variables: str) -> Run:
    base = Candidate(name="base", role="base", variables={"NCCL_NET": "IB", "NCCL_BUFFSIZE": "4194304"}, why="rails")
    one = Candidate(name="one", variables=variables or {"NCCL_ALGO": "ring"})
    run = synthetic(effects={"one": {None: 1.3}}, candidates=(one,), noise=0.01, backend="nccl").run()
    plan = run.plan.model_copy(update={"candidates": (base, one)})
    nodes = tuple(node.model_copy(update={"nccl": "2.28.9", "gpus": gpus}) for node in run.nodes)
    return run.model_copy(update={"plan": plan, "nodes": nodes})


def _preset(run: Run, profile, **more: int) -> Preset:
    return build_preset(run, judge(run, profile), None, **more)


def test_every_placed_network_line_carries_its_reason(synthetic, profile) -> None:
    line = _preset(_run(synthetic), profile).nodes[0].lines[0]
    assert (line.name, line.value, line.kind) == ("NCCL_NET", "IB", "placed")
    assert "a lost HCA then ends the start with an error" in line.evidence
    assert reason_of("NCCL_NET", "Socket") == ""
    assert reason_of("NCCL_IB_HCA", "=mlx5_0") != ""
    assert reason_of("NCCL_IB_HCA", "mlx5_0") == ""  # not exact, so nothing is claimed of it
    assert reason_of("NCCL_ALGO", "ring") == ""


def test_what_stays_unset_on_purpose_is_said_and_what_is_set_is_not(synthetic, profile) -> None:
    told = _preset(_run(synthetic), profile).left_unset
    assert any(text.startswith("NCCL_IB_GID_INDEX is left alone (NCCL >=2.21)") for text in told)
    assert any(text.startswith("LL128") and "never forced" in text for text in told)
    pinned = _preset(_run(synthetic, NCCL_IB_GID_INDEX="3"), profile).left_unset
    assert not any(text.startswith("NCCL_IB_GID_INDEX is left alone") for text in pinned)
    gloo = synthetic().run()
    assert build_preset(gloo, judge(gloo, profile), None).left_unset == ()


def test_nothing_that_the_platform_ignores_is_written(synthetic, profile) -> None:
    variables = {"NCCL_NET_GDR_LEVEL": "SYS", "NCCL_ALGO": "ring"}
    gb10 = _preset(_run(synthetic, gpus=("NVIDIA GB10",), **variables), profile)
    assert gb10.choice == "one"
    assert "NCCL_NET_GDR_LEVEL" not in {line.name for line in gb10.nodes[0].lines}
    assert any(text.startswith("NCCL_NET_GDR_LEVEL of one is left out: GPUDirect RDMA") for text in gb10.left_unset)
    server = _preset(_run(synthetic, **variables), profile)
    assert "NCCL_NET_GDR_LEVEL" in {line.name for line in server.nodes[0].lines}


def test_mixed_or_unknown_gpus_ignore_nothing(synthetic) -> None:
    gb10, other, unknown = (_run(synthetic, gpus=gpus).nodes[0] for gpus in (("NVIDIA GB10",), ("NVIDIA H200",), ()))
    assert ignored_on((gb10, gb10), "NCCL_NET_GDR_LEVEL")
    for nodes in ((gb10, other), (gb10, unknown), ()):
        assert ignored_on(nodes, "NCCL_NET_GDR_LEVEL") == ""
    assert ignored_on((gb10,), "NCCL_ALGO") == ""


def test_a_line_that_is_bases_anyway_stays_placed(synthetic, profile) -> None:
    preset = _preset(_run(synthetic, NCCL_NET="IB", NCCL_BUFFSIZE="8388608"), profile)
    assert [(line.name, line.kind) for line in preset.nodes[0].lines] == [
        ("NCCL_NET", "placed"), ("NCCL_BUFFSIZE", "measured"),
    ]  # fmt: skip
    assert "In place of base's '4194304'." in preset.nodes[0].lines[1].evidence


def test_a_preset_ends_so_many_days_after_its_last_launch(synthetic, profile) -> None:
    run = _run(synthetic)  # launched 2026-11-29T10:00:00Z
    assert shipped(Policy).valid_days == 90
    assert _preset(run, profile).expires == "2027-02-27T10:00:00Z"
    assert _preset(run, profile, valid_days=1).expires == "2026-11-30T10:00:00Z"
    assert _preset(run, profile, valid_days=0).expires == ""
    bare = run.model_copy(update={"launches": tuple(x.model_copy(update={"started": "?"}) for x in run.launches[:2])})
    assert expiry(bare, 10) > "2026-"  # no readable time: from now on


def test_every_entry_of_the_policy_has_its_source_and_names_a_known_variable() -> None:
    known = set(catalogue())
    policy = shipped(Policy)
    for group in (policy.reason, policy.unset, policy.ignored, policy.first_launch):
        assert group
        for one in group:
            assert one.why
            assert one.source
            assert one.name.split(" ")[0] in known or one.name.startswith(("LL128", "VLLM_")), one.name


def test_the_drop_one_check_stands_in_the_file(synthetic, profile) -> None:
    run = _run(synthetic, NCCL_ALGO="ring", NCCL_BUFFSIZE="8388608")
    line = _preset(run, profile).nodes[0].lines[-1]
    assert "This line: not checked alone: 0 of 6 blocks were launched without it." in line.evidence
