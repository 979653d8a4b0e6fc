"""Harmless lines, and when something failed: each kind once, nothing of it for a status."""

from __future__ import annotations

import csv

import pytest

from fabricdoc.explain.harmless import harmless, rows
from fabricdoc.explain.undecided import MOST_COLLECT, failures, undecided
from tests.excerpts import bare, case, completion, links, log, told, using, version, warn
from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

LINES = {
    "net-plugin-not-found": "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
    "other-plugin-not-found": "TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin.",
    "optional-symbol-missing": "dlvsym failed on mlx5dv_reg_dmabuf_mr - undefined symbol: mlx5dv_reg_dmabuf_mr",
    "gpudirect-off": "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
    "peermem-absent-on-gb10": "NET/IB : GPU Direct RDMA disabled for HCA 0 'mlx5_0' (no module)",
    "p2p-off-between-hosts": "P2P is disabled between connected GPUs 1 and 0. You can repair this",
    "interface-speed-unknown": "Could not get speed from /sys/class/net/va0/speed. Defaulting to 10 Gbps.",
    "waiting-for-peer": "connect returned Connection refused, retrying (1/34) after sleep for 100 msec",
    "affinity-empty": "Affinity for GPU 0 is empty, ignoring",
}


@pytest.mark.parametrize(("id", "line"), LINES.items(), ids=list(LINES))
def test_a_harmless_line_is_explained_and_no_alarm(id: str, line: str) -> None:
    document = told({"a.log": log("alpha", line, using("mlx5_0"), "Using network IB")})
    assert document.verdict == "none"
    assert (id, "info") in [(one.id, one.severity) for one in document.findings]
    assert document.findings[0].cause.startswith("Harmless: ")


def test_every_remark_is_in_the_list_of_findings() -> None:
    listed = {row["id"] for row in csv.DictReader((TREE / "presets" / "findings.csv").read_text().splitlines())}
    assert {row.id for row in rows()} <= listed


def test_a_healthy_line_is_no_remark() -> None:
    assert harmless(case({"a.log": log("alpha", version("2.28.9"), using("mlx5_0"), "Using network IB")})) == []


def test_what_nccl_tells_as_info_it_went_on_after() -> None:
    assert failures(case({"a.log": log("alpha", "NET/IB : No device found.", "Using network Socket")})) == []


def test_a_warning_of_unknown_meaning_is_a_failure() -> None:
    assert len(failures(case({"a.log": log("alpha", warn("x.cc:1", "never seen"))}))) == 1


def test_an_engines_hang_is_a_failure() -> None:
    line = bare("(EngineCore) No available shared memory broadcast block found in 60 seconds.")
    assert failures(case({"a.log": log("alpha", line)}))


def test_nothing_failed_is_none() -> None:
    assert undecided(case({"rdma_link.txt": links(("mlx5_0", "ACTIVE"))}), []) is None


def test_what_to_collect_is_bounded() -> None:
    from fabricdoc.explain.causes import causes

    left = undecided(case({"a.log": log("alpha", completion(5, 249))}), list(causes().values()))
    assert left is not None
    assert len(left.collect) == MOST_COLLECT
