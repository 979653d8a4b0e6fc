"""The preset exports exactly what was measured, with the evidence of every line and what was not tried."""

from __future__ import annotations

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Candidate, Proof
from fabricdoc.tuning import build_preset, judge

pytestmark = pytest.mark.unit

BASE = Candidate(
    name="base", role="base", why="the rails that were proven", variables={"NCCL_NET": "IB"},
    node_variables={"alpha": {"NCCL_SOCKET_IFNAME": "=eth0", "NCCL_IB_HCA": "=mlx5_0:1"},
                    "beta": {"NCCL_SOCKET_IFNAME": "=eth1"}},
)  # fmt: skip


def _preset(synthetic, profile, *, effect: float = 1.3, objective: str = "mix", **fields) -> Preset:
    one = Candidate(name="one", **({"variables": {"NCCL_ALGO": "ring"}} | fields))
    run = synthetic(effects={"one": {None: effect}}, candidates=(one,), noise=0.01).run()
    plan = run.plan.model_copy(update={"candidates": (BASE, one)})
    run = run.model_copy(update={"plan": plan})
    return build_preset(run, judge(run, profile, objective), None)


def _values(preset: Preset, node: int) -> dict[str, str]:
    return {line.name: line.value for line in preset.nodes[node].lines}


def test_placed_lines_come_first_and_differ_per_node(synthetic, profile) -> None:
    preset = _preset(synthetic, profile)
    assert list(_values(preset, 0).items()) == [
        ("NCCL_NET", "IB"), ("NCCL_SOCKET_IFNAME", "=eth0"), ("NCCL_IB_HCA", "=mlx5_0:1"), ("NCCL_ALGO", "ring"),
    ]  # fmt: skip
    assert _values(preset, 1) == {"NCCL_NET": "IB", "NCCL_SOCKET_IFNAME": "=eth1", "NCCL_ALGO": "ring"}
    assert [line.kind for line in preset.nodes[0].lines] == ["placed"] * 3 + ["measured"]


def test_a_placed_selector_names_the_proof_of_its_link(synthetic, profile) -> None:
    net, ifname, hca, _ = _preset(synthetic, profile).nodes[0].lines
    met = "eth0 meets beta/eth1 (cable, proven by beacon at 2026-11-29T09:59:00Z, 3 and 3 frames)"
    assert net.evidence.startswith("the rails that were proven; a lost HCA then ends the start with an error")
    assert ifname.evidence.startswith(f"the rails that were proven; {met}; where ranks meet; exact (=)")
    assert hca.evidence.startswith(f"the rails that were proven; {met}; exact (=), and of this node alone")


def test_a_measured_line_names_effect_blocks_sizes_and_run(synthetic, profile) -> None:
    line = _preset(synthetic, profile).nodes[0].lines[-1]
    assert "% faster (95 % interval" in line.evidence
    assert "8 blocks) per decode step; again in fresh blocks:" in line.evidence
    assert line.evidence.endswith("Measured from 8 B to 2.5 MiB. Run run-1.")
    assert line.effect is not None
    assert (line.effect.blocks, line.launches) == (8, 16)
    assert line.effect.low < 1.3 < line.effect.high
    assert {(one.effect, one.launches) for one in _preset(synthetic, profile).nodes[0].lines[:3]} == {(None, 0)}


def test_keeping_base_exports_the_placed_lines_alone(synthetic, profile) -> None:
    preset = _preset(synthetic, profile, effect=1.0)
    assert (preset.choice, "NCCL_ALGO" in _values(preset, 0)) == ("base", False)
    assert {line.kind for node in preset.nodes for line in node.lines} == {"placed"}


def test_a_candidates_value_per_node_wins(synthetic, profile) -> None:
    preset = _preset(synthetic, profile, node_variables={"beta": {"NCCL_ALGO": "tree"}})
    assert (_values(preset, 0)["NCCL_ALGO"], _values(preset, 1)["NCCL_ALGO"]) == ("ring", "tree")


def test_a_candidate_that_changes_a_placed_value_says_in_whose_place(synthetic, profile) -> None:
    preset = _preset(synthetic, profile, variables={"NCCL_SOCKET_IFNAME": "=eth0,eth1"})
    line = next(line for line in preset.nodes[0].lines if line.name == "NCCL_SOCKET_IFNAME")
    assert (line.value, line.kind) == ("=eth0,eth1", "measured")
    assert "In place of base's '=eth0'." in line.evidence
    assert len(_values(preset, 0)) == len(preset.nodes[0].lines)


def test_a_set_that_stands_alone_brings_no_placed_lines(synthetic, profile) -> None:
    assert _values(_preset(synthetic, profile, on_base=False), 0) == {"NCCL_ALGO": "ring"}


def test_settings_that_are_never_chosen_are_never_exported(synthetic, profile) -> None:
    preset = _preset(synthetic, profile, role="current", on_base=False)
    assert (preset.choice, "NCCL_ALGO" in _values(preset, 0)) == ("base", False)


def test_the_head_says_what_under_what_and_from_which_run(synthetic, profile) -> None:
    preset = _preset(synthetic, profile, objective="decode")
    assert (preset.name, preset.run, preset.backend, preset.objective, preset.profile, preset.choice) == (
        "dense-small-tp2-decode", "run-1", "gloo", "decode", "dense-small-tp2", "one",
    )  # fmt: skip
    assert preset.reason.startswith("Use one: ")
    assert [node.target for node in preset.nodes] == ["netns:alpha", "netns:beta"]
    assert [node.name for node in preset.fingerprint.nodes] == ["alpha", "beta"]


def test_a_gloo_run_says_that_no_nccl_variable_could_be_exercised(synthetic, profile) -> None:
    preset = _preset(synthetic, profile)
    assert (
        preset.exercised == "gloo under torch 2.13.0, 2 ranks on alpha, beta, 48 launches (fresh starts of all ranks)."
    )
    assert any("No NCCL variable could be exercised" in text for text in preset.not_exercised)


@pytest.mark.parametrize(
    ("facts", "gaps"),
    [
        (None, ["No launch proved what NCCL really used"]),
        (
            {"network": "Socket", "gpu_direct": False},
            ["RDMA: NCCL ran over sockets", "GPU Direct RDMA: it was not seen"],
        ),
        ({"network": "IB", "gpu_direct": True}, []),
        ({"network": "IB", "gpu_direct": {"unknown": "no line"}}, ["GPU Direct RDMA: it was not seen"]),
        ({"network": {"unknown": "no line"}, "gpu_direct": True}, ["Which network NCCL used was not seen"]),
    ],
)
def test_an_nccl_run_says_what_it_did_not_exercise(synthetic, profile, facts, gaps: list[str]) -> None:
    proofs = {} if facts is None else {"base": Proof(grade="seen", version="2.28.9", **facts)}
    run = synthetic(backend="nccl", proofs=proofs).run()
    preset = build_preset(run, judge(run, profile), None)
    *told, server = preset.not_exercised
    assert len(told) == len(gaps) and all(text.startswith(gap) for text, gap in zip(told, gaps, strict=True))
    assert "timed alone" in server
    assert ("network IB" in preset.exercised) == (facts is not None and facts["network"] == "IB")


def test_without_link_proofs_the_reason_of_base_stands_alone(synthetic, profile) -> None:
    run = synthetic().run().model_copy(update={"links": Unknown(unknown="no permission")})
    preset = build_preset(run, judge(run, profile), None)
    (line,) = preset.nodes[0].lines
    assert line.evidence.startswith("the only rail; the engine's own CPU groups take it")
    assert "meets" not in line.evidence


def test_a_name_that_only_begins_like_a_port_is_no_proof(synthetic, profile) -> None:
    run = synthetic().run()
    base = BASE.model_copy(update={"node_variables": {"alpha": {"NCCL_SOCKET_IFNAME": "=eth01"}}})
    run = run.model_copy(update={"plan": run.plan.model_copy(update={"candidates": (base, *run.plan.candidates[1:])})})
    line = build_preset(run, judge(run, profile), None).nodes[0].lines[-1]
    assert "meets" not in line.evidence


def test_what_ranks_inherited_is_kept_beside_the_lines(synthetic, profile) -> None:
    run = synthetic(effects={}, candidates=(Candidate(name="one", variables={"NCCL_ALGO": "ring"}),)).run()
    around = {"NCCL_NVLS_ENABLE": "0", "CUDA_VISIBLE_DEVICES": "0", "NCCL_IB_HCA": "x", "NCCL_A B": "1"}
    nodes = (run.nodes[0].model_copy(update={"environment": around}), *run.nodes[1:])
    run = run.model_copy(update={"nodes": nodes, "plan": run.plan.model_copy(update={"backend": "nccl"})})
    preset = build_preset(run, judge(run, profile, "mix"), None)
    own = {line.name for line in preset.nodes[0].lines}
    assert preset.nodes[0].inherited == {
        name: value for name, value in around.items() if name in ("NCCL_IB_HCA", "NCCL_NVLS_ENABLE") and name not in own
    }
    assert "NCCL_NVLS_ENABLE" in preset.nodes[0].inherited
    assert all(not node.inherited for node in preset.nodes[1:]), "not read there"
